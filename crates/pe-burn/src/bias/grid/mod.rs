//! Biases by the rows and the columns between the tokens of a grid.

mod beit;
mod decomposed;
mod levit;
mod resize;
mod swin;
mod swin_v2;
mod table;
mod window;

pub use beit::{BeitRelativeBias, BeitRelativeBiasConfig};
pub use decomposed::{DecomposedRelativeBias, DecomposedRelativeBiasConfig};
pub use levit::{LevitRelativeBias, LevitRelativeBiasConfig};
pub use resize::Resampling;
pub use swin::{SwinRelativeBias, SwinRelativeBiasConfig};
pub use swin_v2::{SwinV2RelativeBias, SwinV2RelativeBiasConfig};
pub use table::TableBias;
