//! The colours of every picture, from the crate `colorous`.
//!
//! - [`diverging`]: values around a middle that means something, such as sines and cosines
//! - [`sequential`]: an order, such as positions
//! - [`score`]: scores from 0 to 1 with a number written on top
//! - [`distinct`]: lines that have no order
//!
//! Lightness alone says which of two values is larger in the first three, so a reader who sees no
//! colours loses nothing.

use colorous::{BLUES, DARK2, Gradient, RED_BLUE, VIRIDIS};

/// A colour: red, green, blue, in sRGB.
pub type Rgb = [u8; 3];

/// The colour of a value that is not a number: a grey that no colour map contains.
pub const MISSING: Rgb = [150, 150, 150];

/// Black.
pub const BLACK: Rgb = [0, 0, 0];
/// White.
pub const WHITE: Rgb = [255, 255, 255];
/// The colour of a reference line, such as the floor of a task.
pub const REFERENCE: Rgb = [90, 90, 90];
/// The colour of a shaded area behind lines.
pub const SHADE: Rgb = [228, 228, 228];

/// How many lines of one picture can be told apart by colour. The palette has an eighth colour, a
/// grey like [`REFERENCE`], which is left out.
pub const MAX_DISTINCT: usize = DARK2.len() - 1;

/// The colour of a value in \[−1, 1\]: blue below 0, nearly white at 0, red above (ColorBrewer's
/// RdBu). Values outside get the colour of the nearer end.
pub fn diverging(t: f64) -> Rgb {
    along(RED_BLUE, (1.0 - t) / 2.0)
}

/// The colour of a value in \[0, 1\], from dark to light (viridis). Values outside get the colour of
/// the nearer end.
pub fn sequential(t: f64) -> Rgb {
    along(VIRIDIS, t)
}

/// The colour of a score in \[0, 1\], from nearly white to dark blue (ColorBrewer's Blues). Scores
/// outside get the colour of the nearer end.
pub fn score(t: f64) -> Rgb {
    along(BLUES, t)
}

/// The colour of line number `index` (ColorBrewer's Dark2). From [`MAX_DISTINCT`] on they repeat.
pub fn distinct(index: usize) -> Rgb {
    rgb(DARK2[index % MAX_DISTINCT])
}

/// Black or white, whichever is easier to read on a colour.
pub fn ink_on(ground: Rgb) -> Rgb {
    // The luminance l at which both have the same contrast: (1 + 0.05) / (l + 0.05) = (l + 0.05) / 0.05.
    if luminance(ground) > 0.1791 {
        BLACK
    } else {
        WHITE
    }
}

/// The relative luminance of a colour, as the Web Content Accessibility Guidelines 2.1 define it.
fn luminance(colour: Rgb) -> f64 {
    let linear = |value: u8| {
        let value = f64::from(value) / 255.0;
        if value <= 0.04045 {
            value / 12.92
        } else {
            ((value + 0.055) / 1.055).powf(2.4)
        }
    };
    let [red, green, blue] = colour.map(linear);
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

fn along(map: Gradient, t: f64) -> Rgb {
    match t.is_nan() {
        true => MISSING,
        false => rgb(map.eval_continuous(t.clamp(0.0, 1.0))),
    }
}

fn rgb(colour: colorous::Color) -> Rgb {
    [colour.r, colour.g, colour.b]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_have_their_known_ends_and_stop_there() {
        assert_eq!(diverging(-1.0), [4, 47, 96]);
        assert_eq!(diverging(0.0), [241, 239, 237]);
        assert_eq!(diverging(1.0), [103, 0, 31]);
        assert_eq!(diverging(7.0), diverging(1.0));
        assert_eq!(diverging(-7.0), diverging(-1.0));
        assert_eq!(sequential(0.0), [68, 1, 84]);
        assert_eq!(sequential(0.5), [32, 144, 140]);
        assert_eq!(sequential(-1.0), [68, 1, 84]);
        assert_eq!(sequential(1.0), [253, 231, 37]);
        assert_eq!(score(1.0), [8, 48, 107]);
        assert_eq!(diverging(f64::NAN), MISSING);
    }

    #[test]
    fn lightness_says_how_large_a_value_is() {
        for step in 0..100 {
            let (t, next) = (f64::from(step) / 100.0, f64::from(step + 1) / 100.0);
            assert!(luminance(sequential(t)) < luminance(sequential(next)));
        }
        // Close to its middle the map is almost flat, and rounding to 8 bits shows in finer steps.
        for step in 0..20 {
            let (t, next) = (f64::from(step) / 20.0, f64::from(step + 1) / 20.0);
            assert!(luminance(diverging(t)) > luminance(diverging(next)));
            assert!(luminance(diverging(-t)) > luminance(diverging(-next)));
        }
    }

    #[test]
    fn numbers_can_be_read_on_every_score() {
        let mut before = f64::MAX;
        for step in 0..=100 {
            let t = f64::from(step) / 100.0;
            let ground = luminance(score(t));
            let ink = luminance(ink_on(score(t)));
            let (light, dark) = (ground.max(ink), ground.min(ink));
            let contrast = (light + 0.05) / (dark + 0.05);
            assert!(contrast >= 4.5, "{contrast:.2} at {t}");
            assert!(ground < before, "darker with every step");
            before = ground;
        }
        assert_eq!(score(-0.3), score(0.0));
        assert_eq!(score(7.0), score(1.0));
    }
}
