//! How fast each pair of columns turns, for several bases.

use std::f64::consts::TAU;

use pe_burn::Spectrum;

use super::encoding::spectrum;
use super::text::{check_list, number, wavelength};
use crate::draw::colour::{MAX_DISTINCT, distinct};
use crate::draw::{Axis, Curve, Lines, Rect, Side, Stroke, page};
use crate::error::LabError;
use crate::grouped::grouped;

const WIDTH: i32 = 660;
const HEIGHT: i32 = 440;
/// The most powers of ten that are labelled.
const LABELS: i32 = 9;
/// A line of up to this many pairs has a dot on each.
const DOTS: usize = 64;

/// Draws ω_i = base^(−2i/d_model) over the pair index i. The left axis shows frequencies, the right one
/// the wavelengths 2π/ω_i; both are logarithmic.
///
/// # Errors
///
/// [`LabError::Position`] when `d_model` or a base is out of range; [`LabError::Usage`] when there are no
/// bases, more than [`MAX_DISTINCT`], or one twice.
pub fn svg(d_model: usize, bases: &[f64]) -> Result<String, LabError> {
    check_list("--bases", bases, MAX_DISTINCT)?;
    let pairs = d_model.div_ceil(2);
    let mut curves = Vec::new();
    for (index, base) in bases.iter().enumerate() {
        let spectrum = spectrum(d_model, *base)?;
        curves.push(Curve {
            stroke: Stroke::solid(distinct(index)),
            name: Some(named(*base, &spectrum)),
            points: points(&spectrum.frequencies()),
            dots: pairs <= DOTS,
        });
    }
    let lowest = curves.iter().flat_map(|of| &of.points).map(|at| at.1);
    let decades = (-lowest.fold(0.0, f64::min)).ceil().max(1.0) as i32;
    let (left, right) = (frequencies(decades), wavelengths(decades));
    let end = pairs.saturating_sub(1).max(1) as f64;
    let pairs_axis = Axis::counted("pair index i (columns 2i and 2i + 1)", (0, pairs), end, 0.0);
    let pairs_axis = pairs_axis.horizontal(WIDTH);
    let subtitle = [format!("d_model {d_model}, ω = base^(−2i / d_model)")];
    let rect = Rect::beside(&left, subtitle.len(), (WIDTH, HEIGHT));
    let size = (
        rect.left + WIDTH + right.margin() + 20,
        rect.top + HEIGHT + 60,
    );
    page(
        size,
        "Frequencies of the sinusoidal positional encoding",
        &subtitle,
        |page| {
            page.chart(
                rect,
                &Axis::bare(0.0, end),
                (&right, Side::Right),
                Lines::None,
            )?;
            let mut chart = page.chart(rect, &pairs_axis, (&left, Side::Left), Lines::Both)?;
            curves.iter().try_for_each(|curve| curve.draw(&mut chart))?;
            // The lower left corner is free: every line falls from the upper left to the right.
            let up = 20 * (curves.len() as i32 - 1) + 22;
            let legend = Curve::legend(&curves);
            page.legend((rect.left + 18, rect.top + HEIGHT - up), &legend)
        },
    )
}

/// `base 500: wavelengths 6.28 to 3,100 tokens`.
fn named(base: f64, spectrum: &Spectrum) -> String {
    let wavelengths = spectrum.wavelengths();
    let shortest = wavelengths.iter().copied().fold(f64::MAX, f64::min);
    let longest = wavelengths.into_iter().fold(0.0, f64::max);
    format!(
        "base {}: wavelengths {} to {} tokens",
        number(base),
        wavelength(shortest),
        wavelength(longest)
    )
}

/// The axis on the left, from 1 down to so many powers of ten below it.
fn frequencies(decades: i32) -> Axis {
    Axis {
        name: "angular frequency (radians per token)".into(),
        from: -f64::from(decades) - 0.15,
        to: 0.15,
        ticks: powers((-decades..=0).rev(), f64::from, power_of_ten),
    }
}

/// The axis on the right, with the wavelengths of the same frequencies.
fn wavelengths(decades: i32) -> Axis {
    let left = frequencies(decades);
    let mut ticks = powers(
        1..=decades + 1,
        |power| TAU.log10() - f64::from(power),
        |power| match usize::try_from(power) {
            Ok(power @ ..=6) => grouped(10_usize.pow(power as u32), ','),
            _ => power_of_ten(power),
        },
    );
    ticks.retain(|tick| tick.0 >= left.from);
    Axis {
        name: "wavelength (tokens)".into(),
        ticks,
        ..left
    }
}

/// The points (i, log₁₀ ω_i). They lie on a straight line, so its two ends are enough if no dots are
/// drawn.
fn points(frequencies: &[f64]) -> Vec<(f64, f64)> {
    let all = frequencies.iter().enumerate();
    let all = all.map(|(pair, omega)| (pair as f64, omega.log10()));
    let every = match frequencies.len() {
        0..=DOTS => 1,
        more => more - 1,
    };
    all.step_by(every).collect()
}

/// Labels for powers of ten, at most [`LABELS`] of them.
fn powers(
    powers: impl Iterator<Item = i32>,
    place: impl Fn(i32) -> f64,
    label: impl Fn(i32) -> String,
) -> Vec<(f64, String)> {
    let powers: Vec<i32> = powers.collect();
    let every = (powers.len() as i32 + LABELS - 1) / LABELS;
    let kept = powers.into_iter().step_by(every.max(1) as usize);
    kept.map(|power| (place(power), label(power))).collect()
}

/// For example "10⁻³".
fn power_of_ten(power: i32) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    match power {
        0 => "1".into(),
        _ => {
            let exponent = power.to_string();
            let digits = exponent.chars().map(|digit| match digit.to_digit(10) {
                Some(digit) => DIGITS[digit as usize],
                None => '⁻',
            });
            "10".chars().chain(digits).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies_are_a_straight_line_of_logarithms() {
        let spectrum = spectrum(8, 10_000.0).unwrap();
        let points = points(&spectrum.frequencies());
        for ((pair, power), expected) in points.iter().zip([0.0, 1.0, 2.0, 3.0]) {
            assert!((pair - expected).abs() + (power + expected).abs() < 1e-14);
        }
    }

    #[test]
    fn a_long_line_is_drawn_by_its_ends() {
        let spectrum = spectrum(512, 10_000.0).unwrap();
        let points = points(&spectrum.frequencies());
        assert_eq!(points.len(), 2);
        assert_eq!(points[1].0, 255.0);
        assert!((points[1].1 + 4.0 * 255.0 / 256.0).abs() < 1e-12);
    }

    #[test]
    fn powers_are_labelled_and_thinned() {
        assert_eq!(power_of_ten(-12), "10⁻¹²");
        assert_eq!(power_of_ten(0), "1");
        let ticks = powers(0..=30, f64::from, power_of_ten);
        assert_eq!(ticks.len(), 8);
        assert_eq!(ticks[1], (4.0, "10⁴".into()));
    }

    #[test]
    fn any_base_and_width_can_be_drawn() {
        for d_model in [1, 2, 3, 512, 32_768] {
            for base in [1.0001, 10_000.0, 1e300] {
                let svg = svg(d_model, &[base]).unwrap();
                assert!(svg.contains("wavelength (tokens)"));
            }
        }
    }
}
