//! The facts about a model as text, within 80 columns.

use std::{fmt, iter};

use pe_burn::axes::PairOrder;
use pe_burn::{Axes, Layout};
use pe_models::AttentionSpan;

use super::{Group, Inspection, Rotation};
use crate::grouped::{capitalized, counted, grouped, ranges};

impl fmt::Display for Inspection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.model_type)?;
        if self.layers > 0 {
            write!(f, ": {}", counted(self.layers, "layer"))?;
        }
        match self.context {
            Some(context) => writeln!(f, ", inputs of up to {} tokens", grouped(context, ','))?,
            None => writeln!(f)?,
        }
        if let Some(schemes) = &self.schemes {
            if schemes.is_empty() {
                writeln!(
                    f,
                    "\n  no positions: this model adds none, and rotates nothing"
                )?;
            }
            for placed in schemes {
                writeln!(f, "\n{}", capitalized(placed.place))?;
                let text = serde_json::to_string(&placed.scheme).unwrap_or_default();
                entries(f, "scheme", &text)?;
            }
        }
        if !self.assumptions.is_empty() {
            writeln!(f, "\nAssumed")?;
            for assumption in &self.assumptions {
                for (i, line) in wrapped(assumption, 76).into_iter().enumerate() {
                    writeln!(f, "{}{}", if i == 0 { "  " } else { "    " }, line.trim())?;
                }
            }
        }
        for group in &self.groups {
            writeln!(f)?;
            group.fmt(f)?;
        }
        for part in &self.parts {
            writeln!(f, "\n== {}", part.name)?;
            match (&part.inspection, &part.not_read) {
                (Some(inspection), _) => inspection.fmt(f)?,
                (None, Some(reason)) => writeln!(f, "not read: {reason}")?,
                (None, None) => {}
            }
        }
        if let Some(weights) = &self.weights {
            writeln!(f, "\nWeights")?;
            for line in &weights.findings {
                writeln!(f, "  {line}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.layers.len() == 1 {
            "Layer"
        } else {
            "Layers"
        };
        writeln!(
            f,
            "{name} {}",
            ranges(self.layers.iter().map(|layer| *layer as u64))
        )?;
        let span = self.positions.span;
        let attention = match span {
            AttentionSpan::None => "none: this layer has no positions".to_string(),
            AttentionSpan::Window => "within a window of the image".to_string(),
            AttentionSpan::Sliding(window) => format!("over a window of {window} keys"),
            AttentionSpan::Around { before, after } if before == after => {
                format!("over {before} keys on each side of a query")
            }
            AttentionSpan::Around { before, after } => {
                format!("over {before} keys before a query and {after} after it")
            }
            AttentionSpan::PromptAndSliding(window) => {
                format!("over the prompt, and a window of {window} keys")
            }
            AttentionSpan::Chunked(length) => format!("within pieces of {length} tokens"),
            _ => self.attention.clone(),
        };
        entry(f, "attention", &attention)?;
        match &self.rotation {
            Some(rotation) => rotation.fmt(f)?,
            None if span == AttentionSpan::None => {}
            None => entry(f, "positions", "none: queries and keys are not rotated")?,
        }
        if let Some(factor) = &self.query_factor {
            let last = factor.at_the_last_position;
            let text = format!("multiplied by 1 at position 0, by {last:.4} at the last one");
            entry(f, "queries", &text)?;
            let shifted = match factor.shift {
                0 => "position".to_string(),
                shift => format!("(position + {shift})"),
            };
            let (beta, length) = (factor.beta, factor.length);
            let formula = format!("1 + {beta} ln(1 + floor({shifted} / {length}))");
            entry(f, "", &formula)?;
        }
        Ok(())
    }
}

/// The coordinates by which patches of images and video are rotated, in words.
fn patches(rotation: &Rotation) -> &'static str {
    let axes = rotation.axes.as_ref().map_or(&[][..], Axes::axes);
    match (rotation.places, axes) {
        ("centre", _) => "row and column of a patch's centre, from -1 to 1, in whole turns",
        (_, [_, _, _]) => "frame, row and column of a patch, a third each",
        (_, [first, _]) if first.coordinate == 1 => "column of a patch, then its row",
        _ => "row of a patch, then its column",
    }
}

/// Which pairs turn by which coordinate.
fn shares(axes: &Axes) -> String {
    let of = |name, i: usize| {
        let columns = axes.axes().get(i).and_then(|axis| axis.columns);
        format!("{name} {}", columns.unwrap_or(0) / 2)
    };
    let order = match axes.order() {
        PairOrder::Row => "in a row",
        PairOrder::Dealt => "in turn",
        PairOrder::Given(_) => "height and width in turn, then time",
    };
    if axes.axes().len() == 2 {
        return format!("pairs of {}, {}: {order}", of("row", 0), of("column", 1));
    }
    if axes.axes().len() > 3 {
        let pairs = axes.axes().iter().map(|axis| axis.columns.unwrap_or(0) / 2);
        let pairs: Vec<String> = pairs.map(|pairs| pairs.to_string()).collect();
        return format!("pairs of {}, a number for each: {order}", pairs.join(", "));
    }
    let [time, height, width] = [of("time", 0), of("height", 1), of("width", 2)];
    format!("pairs of {time}, {height}, {width}: {order}")
}

impl fmt::Display for Rotation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        entry(f, "positions", "RoPE: queries and keys are rotated")?;
        let (first, last) = (self.first_column, self.first_column + self.d_head);
        let mut columns = format!("{first} to {} of a head", last.saturating_sub(1));
        if self.rotary_dim < self.d_head {
            columns += &format!(", of which the first {} rotate", self.rotary_dim);
        } else if first > 0 {
            columns += "; those before have no positions";
        }
        entry(f, "columns", &columns)?;
        let half = self.rotary_dim / 2;
        let layout = match self.layout {
            Layout::Halves => format!("halves: column i makes a pair with column i + {half}"),
            Layout::Interleaved => "interleaved: columns 2i and 2i + 1 make a pair".to_string(),
        };
        entry(f, "layout", &layout)?;
        if self.opposite {
            entry(f, "direction", "opposite: pairs turn by minus the angle")?;
        }
        if self.tiled_angles {
            let angles = "tiled: column i of an axis turns by frequency i,";
            entry(f, "angles", angles)?;
            entry(f, "", "counted from 0 again in the second half")?;
        }
        self.fmt_turns(f)?;
        self.fmt_wavelengths(f)?;
        let Some(trained_on) = self.trained_on else {
            return Ok(());
        };
        let trained_on = grouped(trained_on, ',');
        let text = match self.never_complete.len() {
            0 => format!("every turning pair makes one within the {trained_on} tokens of training"),
            _ => format!(
                "pairs {} make none within the {trained_on} tokens of training",
                ranges(self.never_complete.iter().map(|pair| *pair as u64))
            ),
        };
        entry(f, "full turns", &text)
    }
}

impl Rotation {
    /// By which coordinates pairs are rotated, and how fast.
    fn fmt_turns(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.places != "row" {
            entry(f, "coordinates", patches(self))?;
        } else if let Some(axes) = &self.axes {
            entry(f, "axes", &shares(axes))?;
            entry(f, "", "a token of text has the same number for all of them")?;
        }
        entry(f, "base", &number(self.base))?;
        match &self.scaling {
            None => entry(f, "scaling", "none")?,
            Some(scaling) => {
                let text = serde_json::to_string(scaling).unwrap_or_default();
                entries(f, "scaling", &text)?;
            }
        }
        if self.attention_factor != 1.0 {
            let text = format!(
                "queries and keys are multiplied by {:.6}",
                self.attention_factor
            );
            entry(f, "factor", &text)?;
        }
        Ok(())
    }

    fn fmt_wavelengths(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut name = "wavelengths";
        if let Some(short) = &self.wavelengths_of_short_inputs {
            entry(f, name, &span(short))?;
            let length = grouped(self.length, ',');
            let inputs = format!("in short inputs; in one of {length} tokens:");
            entry(f, "", &inputs)?;
            name = "";
        }
        entry(f, name, &span(&self.wavelengths))?;
        let turning = self.wavelengths.iter().flatten().count();
        let still = self.wavelengths.len() - turning;
        if still > 0 {
            let still = counted(still, "pair");
            entry(f, "", &format!("{still} do not turn at all"))?;
        }
        Ok(())
    }
}

/// From the shortest to the longest wavelength.
fn span(wavelengths: &[Option<f64>]) -> String {
    let turning: Vec<f64> = wavelengths.iter().copied().flatten().collect();
    let shortest = turning.iter().copied().fold(f64::MAX, f64::min);
    let longest = turning.iter().copied().fold(0.0, f64::max);
    match turning.len() {
        0 => "none: no pair turns".into(),
        pairs => format!(
            "{} to {} tokens, {}",
            number(shortest),
            number(longest),
            counted(pairs, "pair")
        ),
    }
}

fn entry(f: &mut fmt::Formatter<'_>, name: &str, text: &str) -> fmt::Result {
    writeln!(f, "  {name:<12} {text}")
}

/// [`entry`] for a long text, in several lines.
fn entries(f: &mut fmt::Formatter<'_>, name: &str, text: &str) -> fmt::Result {
    let names = [name].into_iter().chain(iter::repeat(""));
    let mut lines = names.zip(wrapped(text, 64));
    lines.try_for_each(|(name, line)| entry(f, name, &line))
}

/// A number to three digits, or to a whole number where that is more.
fn number(value: f64) -> String {
    match value {
        value if value < 99.95 => format!("{value:.3}")
            .trim_end_matches('0')
            .trim_end_matches('.')
            .to_string(),
        value if value < 1e15 => grouped(value.round() as usize, ','),
        value => format!("{value:.3e}"),
    }
}

/// Lines of at most this many characters, broken after commas where there are any.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for part in text.split_inclusive(',') {
        let line = lines.last_mut().expect("there is one");
        if !line.is_empty() && line.len() + part.len() > width {
            lines.push(part.to_string());
        } else {
            line.push_str(part);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(number(std::f64::consts::TAU), "6.283");
        assert_eq!(number(10_000.0), "10,000");
        assert_eq!(number(1e18), "1.000e18");
        assert_eq!(wrapped("a,b,c", 3), ["a,", "b,c"]);
    }
}
