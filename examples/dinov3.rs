//! A DINOv3 from Hugging Face, read from the folder of its `config.json` and `model.safetensors`:
//!
//! ```sh
//! cargo run --release -p pe-examples --example dinov3 [folder]
//! ```
//!
//! Patches are turned by where their centres are in the picture, from −1 to 1, so that a picture of any size
//! and shape has coordinates of the same range. The class token and the registers are not turned.

use std::fs;
use std::path::Path;

use burn::tensor::activation::{gelu, sigmoid, softmax};
use burn::tensor::{Device, Tensor};
use pe_burn::axes::Axis;
use pe_burn::coordinates::Normalization;
use pe_burn::{
    Axes, Coordinates, Grid, Layout, Positions, RotaryPositionalEncoding,
    RotaryPositionalEncodingConfig, Rotate,
};
use pe_examples::{Linear, Norm, Result, Weights, size};
use serde_json::Value;

struct Layer {
    norms: [Norm; 2],
    q: Linear,
    k: Linear,
    v: Linear,
    output: Linear,
    /// The factors of what attention and the network add.
    scales: [Tensor<1>; 2],
    gate: Option<Linear>,
    up: Linear,
    down: Linear,
}

pub struct DinoV3 {
    heads: usize,
    patch: usize,
    /// `[channels · patch · patch, width]`: a patch is a row of its pixels.
    patches: Linear,
    /// The class token and the registers, `[1, tokens, width]`.
    prefix: Tensor<3>,
    rope: RotaryPositionalEncoding,
    layers: Vec<Layer>,
    norm: Norm,
}

impl DinoV3 {
    pub fn read(folder: &Path, device: &Device) -> Result<Self> {
        let config: Value = serde_json::from_str(&fs::read_to_string(folder.join("config.json"))?)?;
        let weights = Weights::read(&folder.join("model.safetensors"), "", device)?;
        if config["model_type"] != "dinov3_vit" {
            return Err(format!("this is a {}, not a dinov3_vit", config["model_type"]).into());
        }
        let size = |name: &str| size(&config, name);
        let number = |name: &str| {
            config[name]
                .as_f64()
                .ok_or(format!("config.json has no {name}"))
        };
        let (width, heads) = (size("hidden_size")?, size("num_attention_heads")?);
        let epsilon = number("layer_norm_eps")?;
        let norm = |name: &str| weights.layer_norm(name, epsilon);
        let layer = |i: usize| -> Result<Layer> {
            let linear = |name: &str| weights.linear(&format!("layer.{i}.{name}"));
            let scale = |n: usize| weights.get(&format!("layer.{i}.layer_scale{n}.lambda1"));
            Ok(Layer {
                norms: [
                    norm(&format!("layer.{i}.norm1"))?,
                    norm(&format!("layer.{i}.norm2"))?,
                ],
                q: linear("attention.q_proj")?,
                k: linear("attention.k_proj")?,
                v: linear("attention.v_proj")?,
                output: linear("attention.o_proj")?,
                scales: [scale(1)?, scale(2)?],
                gate: linear("mlp.gate_proj").ok(),
                up: linear("mlp.up_proj")?,
                down: linear("mlp.down_proj")?,
            })
        };
        // Rows, then columns. From the centre to the edge of the image the fastest pair makes one turn.
        let turns = std::f64::consts::TAU;
        let axes = Axes::new([0, 1].map(|axis| Axis::new(axis).with_scale(turns)));
        let rope = RotaryPositionalEncodingConfig::new(width / heads)
            .with_base(number("rope_theta")?)
            .with_layout(Layout::Halves)
            .with_axes(axes)
            .try_init(device)?;
        let kernel = weights.get::<4>("embeddings.patch_embeddings.weight")?;
        let [_, channels, patch, _] = kernel.dims();
        let class = weights.get("embeddings.cls_token")?;
        let registers = weights.get("embeddings.register_tokens")?;
        Ok(Self {
            heads,
            patch,
            patches: Linear {
                weight: kernel
                    .reshape([width, channels * patch * patch])
                    .transpose(),
                bias: weights.find("embeddings.patch_embeddings.bias"),
            },
            prefix: Tensor::cat(vec![class, registers], 1),
            rope,
            layers: (0..size("num_hidden_layers")?)
                .map(layer)
                .collect::<Result<_>>()?,
            norm: norm("norm")?,
        })
    }

    /// The states of the class token, the registers and the patches.
    ///
    /// - `pixels`: `[batch, channels, height, width]`, both multiples of the patch
    /// - output: `[batch, 1 + registers + patches, hidden_size]`
    pub fn forward(&self, pixels: Tensor<4>) -> Result<Tensor<3>> {
        let [batch, channels, height, width] = pixels.dims();
        let side = self.patch;
        let grid = Grid::image(height / side, width / side);
        let patches = pixels
            .reshape([batch, channels, grid.height(), side, grid.width(), side])
            .permute([0, 2, 4, 1, 3, 5])
            .reshape([batch, grid.tokens(), channels * side * side]);
        let [_, prefix, d_model] = self.prefix.dims();
        let tokens = self.prefix.clone().expand([batch, prefix, d_model]);
        let mut x = Tensor::cat(vec![tokens, self.patches.forward(patches)], 1);

        let centres = Coordinates::normalized(grid, Normalization::Separate)?;
        let positions = Positions::from(Coordinates::at([0.0, 0.0], prefix).then(&centres)?);
        for layer in &self.layers {
            let y = self.attend(layer, layer.norms[0].forward(x.clone()), &positions);
            x = x + y * layer.scales[0].clone().unsqueeze();
            let y = layer.norms[1].forward(x.clone());
            let y = match &layer.gate {
                Some(gate) => {
                    let gate = gate.forward(y.clone());
                    gate.clone() * sigmoid(gate) * layer.up.forward(y)
                }
                None => gelu(layer.up.forward(y)),
            };
            x = x + layer.down.forward(y) * layer.scales[1].clone().unsqueeze();
        }
        Ok(self.norm.forward(x))
    }

    fn attend(&self, layer: &Layer, x: Tensor<3>, positions: &Positions) -> Tensor<3> {
        let [batch, seq, width] = x.dims();
        let d_head = width / self.heads;
        let heads = |linear: &Linear| {
            let y = linear.forward(x.clone());
            y.reshape([batch, seq, self.heads, d_head]).swap_dims(1, 2)
        };
        let (q, k) = self
            .rope
            .rotate(heads(&layer.q), heads(&layer.k), positions);
        let scores = q.matmul(k.transpose()) / (d_head as f64).sqrt();
        let y = softmax(scores, 3).matmul(heads(&layer.v)).swap_dims(1, 2);
        layer.output.forward(y.reshape([batch, seq, width]))
    }
}

fn main() -> Result<()> {
    let small = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../tests/peers/encoders/dinov3"
    );
    let folder = std::env::args().nth(1).unwrap_or(small.to_string());
    let device = Device::flex();
    let model = DinoV3::read(Path::new(&folder), &device)?;
    let pixels = Tensor::<4>::ones([1, 3, 4 * model.patch, 6 * model.patch], &device);
    println!("{}", model.forward(pixels)?);
    Ok(())
}
