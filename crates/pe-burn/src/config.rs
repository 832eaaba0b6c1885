//! What the configurations of modules share: how one is declared and read from data, and how its module prints itself.

use core::fmt::Debug;

use alloc::format;

use burn::module::{Content, DisplaySettings};
use serde::{Deserialize, Deserializer};

/// Declares a configuration: a struct of public fields that is written and read as data, `new` from the required ones, and
/// a method for each option that sets it.
///
/// ```text
/// config! {
///     /// The configuration of a [`Wave`].
///     pub struct WaveConfig {
///         /// The width.
///         width: usize,
///     }
///
///     /// A wave of this width; every option at its default.
///     new;
///
///     /// The height. Default: 2.
///     height: f64 = 2.0,
///     with_height;
/// }
/// ```
///
/// A setter has the docs of its option, unless it has docs of its own. Where its argument has another type than the
/// option, give the type, as in `with_height: f64;` for an `Option<f64>`: the setter converts it. Leave out a setter that
/// is written by hand. In data an option may be absent; the docs of the struct end with a sentence that names the
/// required fields.
macro_rules! config {
    (@setter [$($docs:tt)*] [] $option:ident: $type:ty) => {};
    (@setter [$($docs:tt)*] [$setter:ident $($given:tt)*] $option:ident: $type:ty) => {
        config! {
            @setter [] [
                #[doc = concat!("Sets [`", stringify!($option), "`](field@Self::", stringify!($option), ").\n")]
                $($docs)*
                $setter $($given)*
            ] $option: $type
        }
    };
    (@setter [$($docs:tt)*] [$(#[$own:meta])+ $setter:ident] $option:ident: $type:ty) => {
        $(#[$own])+
        pub fn $setter(self, $option: $type) -> Self {
            Self { $option, ..self }
        }
    };
    (@setter [$($docs:tt)*] [$(#[$own:meta])+ $setter:ident: $given:ty] $option:ident: $type:ty) => {
        $(#[$own])+
        pub fn $setter(self, $option: $given) -> Self {
            Self { $option: $option.into(), ..self }
        }
    };
    (
        $(#[$of_config:meta])*
        pub struct $config:ident {
            $($(#[$of_field:meta])* $field:ident: $field_type:ty,)*
        }

        $(#[$of_new:meta])*
        new;

        $(
            $(#[$of_option:meta])*
            $option:ident: $type:ty = $default:expr
            $(, $(#[$of_setter:meta])* $setter:ident $(: $given:ty)?)?;
        )*
    ) => {
        $(#[$of_config])*
        ///
        #[doc = concat!("Required as data (JSON, TOML):", $(" `", stringify!($field), "`",)* ". All else may be left out; an unknown field is an error.")]
        #[derive(Clone, Debug, PartialEq, serde::Serialize)]
        pub struct $config {
            $($(#[$of_field])* pub $field: $field_type,)*
            $($(#[$of_option])* pub $option: $type,)*
        }

        impl $config {
            $(#[$of_new])*
            pub fn new($($field: $field_type),*) -> Self {
                Self { $($field,)* $($option: $default,)* }
            }

            $(config! {
                @setter [$(#[$of_option])*] [$($(#[$of_setter])* $setter $(: $given)?)?] $option: $type
            })*
        }

        impl<'de> serde::Deserialize<'de> for $config {
            fn deserialize<D: serde::Deserializer<'de>>(data: D) -> Result<Self, D::Error> {
                #[derive(serde::Deserialize)]
                #[serde(deny_unknown_fields)]
                struct $config {
                    $($field: $field_type,)*
                    $(
                        #[serde(default, deserialize_with = "crate::config::given")]
                        $option: Option<$type>,
                    )*
                }
                let data = $config::deserialize(data)?;
                let usual = Self::new($(data.$field),*);
                Ok(Self { $($option: data.$option.unwrap_or(usual.$option),)* ..usual })
            }
        }
    };
}
pub(crate) use config;

/// The value of an option that is present in the data. Without this, serde would read `null` as absent for every type.
pub(crate) fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    data: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(data).map(Some)
}

/// What every configuration of a module has: `Config`, so that it can be saved and loaded, and the panicking
/// `init`, made from its `try_init`.
///
/// ```text
/// init!(AlibiConfig => Alibi);
/// ```
macro_rules! init {
    ($config:ty => $module:ty) => {
        impl burn::config::Config for $config {}

        impl $config {
            /// Builds the module on `device`.
            ///
            /// # Panics
            ///
            /// Where [`try_init`](Self::try_init) returns an error.
            #[track_caller]
            pub fn init(&self, device: &burn::tensor::Device) -> $module {
                $crate::error::expect(self.try_init(device))
            }
        }
    };
}
pub(crate) use init;

/// [`init!`], for a module that keeps its configuration in a field `config`, together with the method `config()` and a
/// display that shows the listed settings.
///
/// ```text
/// module!(AlibiConfig => Alibi { heads, shape });
/// ```
macro_rules! module {
    ($config:ty => $module:ty { $($setting:ident),* $(,)? }) => {
        $crate::config::init!($config => $module);

        impl $module {
            /// The configuration that this module was made from.
            pub fn config(&self) -> &$config {
                &self.config
            }
        }

        impl burn::module::ModuleDisplay for $module {
            fn custom_settings(&self) -> Option<burn::module::DisplaySettings> {
                $crate::config::one_line()
            }

            fn custom_content(&self, content: burn::module::Content) -> Option<burn::module::Content> {
                $(
                    let name = stringify!($setting);
                    let content = $crate::config::setting(content, name, &self.config.$setting);
                )*
                content.optional()
            }
        }
    };
}
pub(crate) use module;

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
