//! The configuration of a scheme, whatever its type.

use std::any::Any;
use std::fmt::Debug;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use burn::config::Config;
use burn::module::Module;
use burn::tensor::Device;
use pe_burn::{Axes, NoPositions, PositionError, Positional, RopeScaling};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use super::sizes::Sizes;
use crate::erased::Erased;
use crate::error::LabError;

/// A configuration that makes a positional scheme, as data: `#[derive(Config)]` provides everything but this trait.
///
/// Only [`init`](Self::init) has to be written. The other methods say what the laboratory cannot see from the module.
///
/// ```
/// use burn::config::Config;
/// use burn::module::Module;
/// use burn::tensor::{Device, FloatDType, Tensor};
/// use pe_burn::{Embed, Positional, PositionError, Positions};
/// use pe_lab::SchemeConfig;
///
/// /// Adds `height` times a ramp over the sequence.
/// #[derive(Config, Debug)]
/// pub struct RampConfig {
///     #[config(default = 1.0)]
///     height: f64,
/// }
///
/// #[derive(Module, Debug)]
/// pub struct Ramp {
///     height: f64,
/// }
///
/// impl SchemeConfig for RampConfig {
///     type Scheme = Ramp;
///
///     fn init(&self, _: &Device) -> Result<Ramp, PositionError> {
///         Ok(Ramp { height: self.height })
///     }
/// }
///
/// impl Embed for Ramp {
///     fn try_embed(&self, x: Tensor<3>, positions: &Positions) -> Result<Tensor<3>, PositionError> {
///         let [_, seq, _] = x.dims();
///         let at = positions.to_tensor(seq, &x.device())?; // [1 or batch, seq]
///         let ramp = at.unsqueeze_dim(2) * (self.height / 100.0);
///         Ok(x.clone() + ramp.cast(FloatDType::from(x.dtype())))
///     }
/// }
///
/// impl Positional for Ramp {
///     fn as_embed(&self) -> Option<&dyn Embed> {
///         Some(self)
///     }
/// }
///
/// let lab = pe_lab::Lab::built_in().scheme("ramp", "a ramp over the sequence, added", |_| Ok(RampConfig::new()));
/// # let _ = lab;
/// ```
pub trait SchemeConfig: Config + Clone + Send + Sync + 'static {
    /// The module.
    type Scheme: Positional + Module + 'static;

    /// Builds the module on `device`.
    ///
    /// # Errors
    ///
    /// What is wrong with the configuration; [`PositionError::Config`] takes any message.
    fn init(&self, device: &Device) -> Result<Self::Scheme, PositionError>;

    /// The settings that may stand behind the name of the scheme, as in `mine(alpha=0.5)`, in the order in which they are
    /// written: every number of the configuration, but for the sizes of the model (`d_model`, `d_head`, `heads`, `layers`,
    /// `max_len`).
    fn settings(&self) -> Vec<String> {
        let fields = fields_of(self).into_iter();
        let numbers =
            fields.filter(|(name, value)| value.is_number() && !SIZES.contains(&&name[..]));
        numbers.map(|(name, _)| name).collect()
    }

    /// This configuration with another value of one of the [`settings`](Self::settings).
    ///
    /// # Errors
    ///
    /// Which values it takes, as in "a number above 1".
    fn with_setting(&self, name: &str, value: f64) -> Result<Self, String> {
        let mut fields = fields_of(self);
        let is_whole = fields.get(name).is_some_and(|old| !old.is_f64());
        let value = match is_whole {
            true if value.fract() != 0.0 || value.abs() > 1e15 => {
                return Err("a whole number".into());
            }
            true => Value::from(value as i64),
            false => Value::from(value),
        };
        fields.insert(name.to_string(), value);
        serde_json::from_value(Value::Object(fields))
            .map_err(|error| format!("what its type allows: {error}"))
    }

    /// This configuration with a setting that is a word, as in `rotary(scaling=yarn)`, in a model of these sizes.
    ///
    /// # Errors
    ///
    /// Which values it takes.
    fn with_word(&self, name: &str, word: &str, sizes: &Sizes) -> Result<Self, String> {
        let _ = (name, word, sizes);
        Err("a number".into())
    }

    /// Whether the encoding of a token changes when the input becomes longer, so that keys cannot be kept in a cache.
    fn follows_length(&self) -> bool {
        false
    }

    /// The axes that its positions need, such as rows and columns; `None` for positions on a line.
    fn axes(&self) -> Option<Axes> {
        None
    }

    /// Whether its positions may be real numbers, such as times.
    fn takes_times(&self) -> bool {
        false
    }

    /// The most tokens of an input, if the scheme has a last position.
    fn longest(&self) -> Option<usize> {
        None
    }

    /// The position of each token, for a scheme whose positions follow from the tokens themselves, such as the index of a
    /// digit within its number (Abacus; McLeish et al. 2024). `None`: 0, 1, 2, …
    ///
    /// `draw` is a random number for each sequence of a training, for positions that begin anywhere. In a test it is 0.
    fn token_positions(&self, tokens: &[usize], draw: u64) -> Option<Vec<usize>> {
        let _ = (tokens, draw);
        None
    }

    /// This scheme with a scaling of RoPE, for language models that are tested with scalings they were not trained with.
    /// `None` for a scheme that takes no scaling.
    fn with_scaling(&self, scaling: RopeScaling) -> Option<Self> {
        let _ = scaling;
        None
    }
}

/// The fields that the sizes of the model determine. The name of a scheme does not set them.
const SIZES: [&str; 5] = ["d_model", "d_head", "heads", "layers", "max_len"];

fn fields_of(config: &impl Config) -> Map<String, Value> {
    match serde_json::to_value(config) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

/// The configuration of a scheme without its type. Two are equal if they are the same data.
#[derive(Clone, Debug)]
pub struct Encoding(Arc<dyn AnyConfig>);

impl Encoding {
    /// Hides the type of a configuration.
    pub fn new(config: impl SchemeConfig) -> Self {
        Self(Arc::new(config))
    }

    /// Reads the data of a configuration of the type `C`.
    pub(super) fn read<C: SchemeConfig>(data: Value) -> Result<Self, LabError> {
        let config: C =
            serde_json::from_value(data).map_err(|error| LabError::Usage(error.to_string()))?;
        Ok(Self::new(config))
    }

    /// The data of a scheme that this program does not have.
    pub(super) fn unknown(data: Value) -> Self {
        Self::new(Unknown(data))
    }

    /// The configuration, if it is of this type.
    pub fn downcast<C: 'static>(&self) -> Option<&C> {
        self.0.as_any().downcast_ref()
    }

    /// The module with its initial weights.
    ///
    /// # Errors
    ///
    /// [`LabError::Position`] when the configuration is wrong, [`LabError::Usage`] when the code of the scheme panics.
    pub fn init(&self, device: &Device) -> Result<Erased<dyn Positional>, LabError> {
        guarded("its init", || Ok(self.0.init(device)?))
    }

    /// Whether the scheme acts in the layers of a model, so that single layers can be without it. Other schemes are added
    /// to the token embeddings once, or do nothing.
    pub fn acts_in_layers(&self) -> bool {
        self.init(&Device::flex())
            .is_ok_and(|scheme| scheme.acts_in_layers())
    }

    /// Whether the scheme is added to the token embeddings.
    pub fn acts_on_embeddings(&self) -> bool {
        let scheme = self.init(&Device::flex());
        scheme.is_ok_and(|scheme| scheme.as_embed().is_some())
    }
}

/// Gives the methods of a [`SchemeConfig`] without its type.
impl Deref for Encoding {
    type Target = dyn AnyConfig;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

/// The data of a scheme that this program does not have, as in a study of another program. It is kept and compared, but no
/// scheme can be built from it.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Unknown(Value);

impl Config for Unknown {}

impl SchemeConfig for Unknown {
    type Scheme = NoPositions;

    fn init(&self, _: &Device) -> Result<NoPositions, PositionError> {
        Err(PositionError::Config {
            reason: "this program does not have the scheme".into(),
        })
    }
}

impl PartialEq for Encoding {
    fn eq(&self, other: &Self) -> bool {
        self.data() == other.data()
    }
}

impl Serialize for Encoding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.data().serialize(serializer)
    }
}

/// Runs code that a user may have written, and turns a panic in it into an error.
pub(super) fn guarded<T>(
    what: &str,
    run: impl FnOnce() -> Result<T, LabError>,
) -> Result<T, LabError> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let words = panic.downcast_ref::<String>().map(String::as_str);
        let words = words.or_else(|| panic.downcast_ref::<&str>().copied());
        let words = words.unwrap_or("without a message");
        Err(LabError::Usage(format!("{what} panicked: {words}")))
    })
}

/// [`SchemeConfig`], without its type.
#[allow(missing_docs, reason = "each method is that of `SchemeConfig`")]
pub trait AnyConfig: Debug + Send + Sync {
    fn as_any(&self) -> &dyn Any;
    fn data(&self) -> Value;
    fn init(&self, device: &Device) -> Result<Erased<dyn Positional>, PositionError>;
    fn settings(&self) -> Vec<String>;
    fn with_setting(&self, name: &str, value: f64) -> Result<Encoding, String>;
    fn with_word(&self, name: &str, word: &str, sizes: &Sizes) -> Result<Encoding, String>;
    fn follows_length(&self) -> bool;
    fn axes(&self) -> Option<Axes>;
    fn takes_times(&self) -> bool;
    fn longest(&self) -> Option<usize>;
    fn token_positions(&self, tokens: &[usize], draw: u64) -> Option<Vec<usize>>;
    fn with_scaling(&self, scaling: RopeScaling) -> Option<Encoding>;
}

impl<C: SchemeConfig> AnyConfig for C {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn data(&self) -> Value {
        // If a configuration cannot be serialized, the error's text is stored in its place, and reading it back fails.
        serde_json::to_value(self).unwrap_or_else(|error| Value::from(error.to_string()))
    }

    fn init(&self, device: &Device) -> Result<Erased<dyn Positional>, PositionError> {
        let module = SchemeConfig::init(self, device)?;
        Ok(Erased::new(module, |module| {
            let module: Option<&C::Scheme> = module.downcast_ref();
            module.expect("a module keeps its type")
        }))
    }

    fn settings(&self) -> Vec<String> {
        SchemeConfig::settings(self)
    }

    fn with_setting(&self, name: &str, value: f64) -> Result<Encoding, String> {
        SchemeConfig::with_setting(self, name, value).map(Encoding::new)
    }

    fn with_word(&self, name: &str, word: &str, sizes: &Sizes) -> Result<Encoding, String> {
        SchemeConfig::with_word(self, name, word, sizes).map(Encoding::new)
    }

    fn follows_length(&self) -> bool {
        SchemeConfig::follows_length(self)
    }

    fn axes(&self) -> Option<Axes> {
        SchemeConfig::axes(self)
    }

    fn takes_times(&self) -> bool {
        SchemeConfig::takes_times(self)
    }

    fn longest(&self) -> Option<usize> {
        SchemeConfig::longest(self)
    }

    fn token_positions(&self, tokens: &[usize], draw: u64) -> Option<Vec<usize>> {
        SchemeConfig::token_positions(self, tokens, draw)
    }

    fn with_scaling(&self, scaling: RopeScaling) -> Option<Encoding> {
        SchemeConfig::with_scaling(self, scaling).map(Encoding::new)
    }
}
