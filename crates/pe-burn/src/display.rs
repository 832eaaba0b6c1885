//! How the modules of this crate print themselves.

use core::fmt::Debug;

use alloc::format;

use burn::module::{Content, DisplaySettings};

/// All attributes on one line.
pub(crate) fn one_line() -> Option<DisplaySettings> {
    DisplaySettings::new()
        .with_new_line_after_attribute(false)
        .optional()
}

/// Adds a setting. A whole number is shown without decimals, of whichever type it is.
pub(crate) fn setting<T: Debug>(content: Content, name: &str, value: &T) -> Content {
    let text = format!("{value:?}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    content.add_debug_attribute(name, &format_args!("{text}"))
}
