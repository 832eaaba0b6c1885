//! Biases: numbers added to attention scores, by the distance between query and key.
//!
//! | file | |
//! |---|---|
//! | `distances` | how far each key is from each query |
//! | `alibi`, `t5`, `kerple`, `fire` | one scheme each |

mod alibi;
mod distances;
mod fire;
mod kerple;
mod t5;

pub use alibi::{Alibi, AlibiConfig, AlibiShape};
pub use fire::{Fire, FireConfig};
pub use kerple::{Kerple, KerpleConfig, KerpleShape};
pub use t5::{T5RelativeBias, T5RelativeBiasConfig};

pub(crate) use distances::Span;

use distances::Distances;

use crate::error::PositionError;

fn check_heads(heads: usize) -> Result<(), PositionError> {
    match heads {
        0 => Err(PositionError::ZeroHeads),
        _ => Ok(()),
    }
}
