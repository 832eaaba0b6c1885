//! Colours that colour-blind readers can tell apart, computed from a few anchors.
//!
//! A value that is not a number is [`MISSING`], a grey that neither map contains.

/// A colour: red, green, blue, in sRGB.
pub type Rgb = [u8; 3];

/// The colour of what has no value.
pub const MISSING: Rgb = [150, 150, 150];

/// ColorBrewer's RdBu in eleven classes (Harrower and Brewer, 2003), blue first.
const BLUE_WHITE_RED: [Rgb; 11] = [
    [5, 48, 97],
    [33, 102, 172],
    [67, 147, 195],
    [146, 197, 222],
    [209, 229, 240],
    [247, 247, 247],
    [253, 219, 199],
    [244, 165, 130],
    [214, 96, 77],
    [178, 24, 43],
    [103, 0, 31],
];

/// Matplotlib's viridis (van der Walt and Smith, 2015) at every eighth of its length.
const VIRIDIS: [Rgb; 9] = [
    [68, 1, 84],
    [71, 45, 123],
    [59, 82, 139],
    [44, 114, 142],
    [33, 145, 140],
    [40, 174, 128],
    [94, 201, 98],
    [173, 220, 48],
    [253, 231, 37],
];

/// The palette of Okabe and Ito (2008) without its yellow, which is too light for a line.
const DISTINCT: [Rgb; 7] = [
    [0, 114, 178],
    [213, 94, 0],
    [0, 158, 115],
    [204, 121, 167],
    [0, 0, 0],
    [230, 159, 0],
    [86, 180, 233],
];

/// How many lines of one picture can be told apart.
pub const MAX_DISTINCT: usize = DISTINCT.len();

/// The colour of a value in \[−1, 1\] around a middle that means something: blue below 0, white at
/// 0, red above. Values outside take the colour of the nearer end.
pub fn diverging(t: f64) -> Rgb {
    between(&BLUE_WHITE_RED, (t + 1.0) / 2.0)
}

/// The colour of a value in \[0, 1\], dark to light. Values outside take the colour of the nearer
/// end.
pub fn sequential(t: f64) -> Rgb {
    between(&VIRIDIS, t)
}

/// The colour of the `index`-th of a few lines; from [`MAX_DISTINCT`] on they repeat.
pub fn distinct(index: usize) -> Rgb {
    DISTINCT[index % DISTINCT.len()]
}

/// The colour at `t` in \[0, 1\] along a line through the anchors.
fn between(anchors: &[Rgb], t: f64) -> Rgb {
    if t.is_nan() {
        return MISSING;
    }
    let along = t.clamp(0.0, 1.0) * (anchors.len() - 1) as f64;
    let low = (along as usize).min(anchors.len() - 2);
    let share = along - low as f64;
    std::array::from_fn(|channel| {
        let (a, b) = (anchors[low][channel], anchors[low + 1][channel]);
        (f64::from(a) + share * (f64::from(b) - f64::from(a))).round() as u8
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_go_through_their_anchors_and_stop_at_their_ends() {
        assert_eq!(diverging(0.0), [247, 247, 247]);
        assert_eq!(diverging(-1.0), [5, 48, 97]);
        assert_eq!(diverging(1.0), [103, 0, 31]);
        assert_eq!(diverging(0.2), [253, 219, 199]);
        assert_eq!(diverging(0.1), [250, 233, 223]); // halfway from white to the next
        assert_eq!(diverging(7.0), diverging(1.0));
        assert_eq!(sequential(0.5), [33, 145, 140]);
        assert_eq!(sequential(-1.0), [68, 1, 84]);
        assert_eq!(sequential(1.0), [253, 231, 37]);
        assert_eq!(diverging(f64::NAN), MISSING);
    }

    #[test]
    fn lightness_says_how_large_a_value_is() {
        // CIE luminance: what remains of a colour for a reader who sees none.
        let luminance = |rgb: Rgb| {
            let linear = rgb.map(|c| (f64::from(c) / 255.0).powf(2.2));
            0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
        };
        for step in 0..100 {
            let (t, next) = (f64::from(step) / 100.0, f64::from(step + 1) / 100.0);
            assert!(luminance(sequential(t)) < luminance(sequential(next)));
            assert!(luminance(diverging(t)) > luminance(diverging(next)));
            assert!(luminance(diverging(-t)) > luminance(diverging(-next)));
        }
    }
}
