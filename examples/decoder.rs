//! A decoder from Hugging Face in Burn: `decoder [folder]` reads `config.json` and `model.safetensors`
//! and continues a sequence of tokens. They are ids: the crate `tokenizers` makes them from text. A checkpoint of
//! several files is not read.
//!
//! One file reads Llama, Mistral, Qwen 2 and 3, SmolLM3, Gemma 2 and 3 and Phi-3. What differs between
//! their blocks is told by the names of their weights; what differs between their positions (base,
//! layout, scaling, layers without rotation, windows) is in `config.json`, and
//! [`HfConfig`](pe_models::HfConfig) reads it layer by layer.

use std::fs;
use std::path::Path;

use burn::tensor::activation::{gelu_approximate, silu, softmax};
use burn::tensor::module::linear;
use burn::tensor::{Bool, Device, Int, Tensor};
use pe_burn::{Positions, RotaryPositionalEncoding, Rotate};
use pe_examples::{
    Cache, Decode, Linear, Norm, Result, Weights, append, embed, print_continuations, unseen, word,
};
use pe_models::{AttentionSpan, HfConfig, LayerPositions};
use serde_json::Value;

/// The model types that this example reads. Others may have the same names for their weights and compute something else.
const TYPES: [&str; 8] = [
    "gemma2",
    "gemma3_text",
    "llama",
    "mistral",
    "phi3",
    "qwen2",
    "qwen3",
    "smollm3",
];

/// The numbers of `config.json` that are not about positions.
struct Sizes {
    heads: usize,
    key_heads: usize,
    d_head: usize,
    hidden: usize,
    epsilon: f64,
    is_gemma: bool,
    /// What scores are multiplied by.
    score_scale: f64,
    /// Scores and logits are squeezed into ± these.
    score_cap: Option<f64>,
    logit_cap: Option<f64>,
}

impl Sizes {
    fn read(config: &Value) -> Result<Self> {
        let number = |name: &str| config[name].as_f64();
        let size = |name: &str| number(name).ok_or(format!("config.json has no {name}"));
        let (hidden, heads) = (size("hidden_size")?, size("num_attention_heads")?);
        let d_head = number("head_dim").unwrap_or(hidden / heads);
        let name = config["model_type"].as_str().unwrap_or_default();
        let scaled_by = number("query_pre_attn_scalar").unwrap_or(d_head);
        Ok(Self {
            heads: heads as usize,
            key_heads: number("num_key_value_heads").unwrap_or(heads) as usize,
            d_head: d_head as usize,
            hidden: hidden as usize,
            epsilon: size("rms_norm_eps")?,
            is_gemma: name.starts_with("gemma"),
            score_scale: scaled_by.powf(-0.5),
            score_cap: number("attn_logit_softcapping"),
            logit_cap: number("final_logit_softcapping"),
        })
    }

    fn norm(&self, weights: &Weights, name: &str) -> Result<Norm> {
        let weight = weights.get(&format!("{name}.weight"))?;
        // Gemma's weights are differences from 1.
        let weight = if self.is_gemma { weight + 1.0 } else { weight };
        Ok(Norm {
            weight,
            bias: None,
            epsilon: self.epsilon,
            is_centered: false,
        })
    }
}

struct Layer {
    /// Before attention and before the feed-forward network, and in Gemma after each of them.
    before: [Norm; 2],
    after: Option<[Norm; 2]>,
    qkv: Vec<Linear>,
    qk_norms: Option<(Norm, Norm)>,
    output: Linear,
    gate_up: Vec<Linear>,
    down: Linear,
    rope: Option<RotaryPositionalEncoding>,
    window: Option<usize>,
}

pub struct Decoder {
    embedding: Tensor<2>,
    layers: Vec<Layer>,
    norm: Norm,
    head: Tensor<2>,
    sizes: Sizes,
}

impl Decoder {
    pub fn read(folder: &Path, device: &Device) -> Result<Self> {
        let text = fs::read_to_string(folder.join("config.json"))?;
        let config: Value = serde_json::from_str(&text)?;
        word(&config, "model_type", "", &TYPES)?;
        let sizes = Sizes::read(&config)?;
        let weights = Weights::read(&folder.join("model.safetensors"), "", device)?;

        let model = HfConfig::from_json(&text)?;
        let positions = model.layers()?.into_iter().zip(model.init_rotary(device)?);
        let layers = positions.enumerate().map(|(i, (positions, rope))| {
            let name = format!("model.layers.{i}");
            Layer::read(&weights, &name, &sizes, positions, rope)
        });
        let layers = layers.collect::<Result<_>>()?;
        let embedding: Tensor<2> = weights.get("model.embed_tokens.weight")?;
        let head = weights.find("lm_head.weight");
        Ok(Self {
            head: head.unwrap_or(embedding.clone()),
            norm: sizes.norm(&weights, "model.norm")?,
            embedding,
            layers,
            sizes,
        })
    }
}

impl Decode for Decoder {
    fn caches(&self) -> Vec<Cache> {
        vec![None; self.layers.len()]
    }

    fn forward(
        &self,
        tokens: Tensor<2, Int>,
        real: &Tensor<2, Bool>,
        positions: &Positions,
        caches: &mut [Cache],
    ) -> Tensor<3> {
        let mut x = embed(&self.embedding, tokens);
        if self.sizes.is_gemma {
            x = x * (self.sizes.hidden as f64).sqrt();
        }
        for (layer, cache) in self.layers.iter().zip(caches) {
            x = layer.forward(x, real, positions, cache, &self.sizes);
        }
        let logits = linear(self.norm.forward(x), self.head.clone().transpose(), None);
        squeeze(logits, self.sizes.logit_cap)
    }
}

impl Layer {
    fn read(
        weights: &Weights,
        name: &str,
        sizes: &Sizes,
        positions: LayerPositions,
        rope: Option<RotaryPositionalEncoding>,
    ) -> Result<Self> {
        let window = match positions.span {
            AttentionSpan::Full => None,
            AttentionSpan::Sliding(window) => Some(window),
            other => return Err(format!("{name} has {other:?} attention").into()),
        };
        if positions.query_scale.is_some() || positions.columns.start > 0 {
            return Err(format!("{name} scales queries or has latent attention").into());
        }
        let norm = |part: &str| sizes.norm(weights, &format!("{name}.{part}"));
        let attention = |part: &str| format!("{name}.self_attn.{part}");
        let mlp = |part: &str| format!("{name}.mlp.{part}");
        let down = weights.linear(&mlp("down_proj"))?;
        let inner = [down.weight.dims()[0]; 2];
        let qkv = ["q_proj", "k_proj", "v_proj"].map(attention);
        let gate_up = ["gate_proj", "up_proj"].map(mlp);
        let widths = [sizes.heads, sizes.key_heads, sizes.key_heads].map(|n| n * sizes.d_head);
        // The norm of this name comes after attention in Gemma, and before the network elsewhere.
        let other = norm("post_attention_layernorm")?;
        let (second, after) = match norm("pre_feedforward_layernorm") {
            Ok(second) => (second, Some([other, norm("post_feedforward_layernorm")?])),
            Err(_) => (other, None),
        };
        let [q_norm, k_norm] = ["q_norm", "k_norm"].map(|part| norm(&format!("self_attn.{part}")));
        Ok(Self {
            before: [norm("input_layernorm")?, second],
            after,
            qkv: weights.linears(&attention("qkv_proj"), &qkv, &widths)?,
            qk_norms: q_norm.ok().zip(k_norm.ok()),
            output: weights.linear(&attention("o_proj"))?,
            gate_up: weights.linears(&mlp("gate_up_proj"), &gate_up, &inner)?,
            down,
            rope,
            window,
        })
    }

    fn forward(
        &self,
        x: Tensor<3>,
        real: &Tensor<2, Bool>,
        positions: &Positions,
        cache: &mut Cache,
        sizes: &Sizes,
    ) -> Tensor<3> {
        let after = |i: usize, x| match &self.after {
            Some(norms) => norms[i].forward(x),
            None => x,
        };
        let y = self.before[0].forward(x.clone());
        let x = x + after(0, self.attention(y, real, positions, cache, sizes));
        let y = self.before[1].forward(x.clone());
        let gate = self.gate_up[0].forward(y.clone());
        let gate = match sizes.is_gemma {
            true => gelu_approximate(gate),
            false => silu(gate),
        };
        x + after(1, self.down.forward(gate * self.gate_up[1].forward(y)))
    }

    fn attention(
        &self,
        x: Tensor<3>,
        real: &Tensor<2, Bool>,
        positions: &Positions,
        cache: &mut Cache,
        sizes: &Sizes,
    ) -> Tensor<3> {
        let [batch, seq, _] = x.dims();
        let heads = |linear: &Linear, heads: usize| {
            let x = linear.forward(x.clone());
            x.reshape([batch, seq, heads, sizes.d_head]).swap_dims(1, 2)
        };
        let mut q = heads(&self.qkv[0], sizes.heads);
        let mut k = heads(&self.qkv[1], sizes.key_heads);
        let v = heads(&self.qkv[2], sizes.key_heads);
        if let Some((q_norm, k_norm)) = &self.qk_norms {
            (q, k) = (q_norm.forward(q), k_norm.forward(k));
        }
        if let Some(rope) = &self.rope {
            (q, k) = rope.rotate(q, k, positions);
        }
        let [k, v] = append(cache, k, v);

        let keys = k.dims()[2];
        let group = sizes.heads / sizes.key_heads;
        let [k, v] = [k, v].map(|x| {
            let x = x.reshape([batch, sizes.key_heads, 1, keys, sizes.d_head]);
            let x = x.repeat_dim(2, group);
            x.reshape([batch, sizes.heads, keys, sizes.d_head])
        });
        let shape = [batch, sizes.heads, seq, keys];
        let scores = squeeze(q.matmul(k.transpose()) * sizes.score_scale, sizes.score_cap);
        let scores = scores.mask_fill(unseen(seq, real, self.window).expand(shape), f32::MIN);
        let y = softmax(scores, 3).matmul(v).swap_dims(1, 2);
        let y = y.reshape([batch, seq, sizes.heads * sizes.d_head]);
        self.output.forward(y)
    }
}

/// `cap · tanh(x / cap)`.
fn squeeze<const D: usize>(x: Tensor<D>, cap: Option<f64>) -> Tensor<D> {
    cap.map_or(x.clone(), |cap| (x / cap).tanh() * cap)
}

fn main() -> Result<()> {
    let small = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/peers/decoders/qwen3");
    let folder = std::env::args().nth(1).unwrap_or(small.to_string());
    let decoder = Decoder::read(Path::new(&folder), &Device::flex())?;
    print_continuations(&decoder);
    Ok(())
}
