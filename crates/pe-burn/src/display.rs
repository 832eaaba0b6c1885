//! How the modules of this crate print themselves.

use burn::module::DisplaySettings;

/// All attributes on one line.
pub(crate) fn one_line() -> Option<DisplaySettings> {
    DisplaySettings::new()
        .with_new_line_after_attribute(false)
        .optional()
}
