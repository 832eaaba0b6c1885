//! An older decoder from Hugging Face in Burn: `gpt_decoder [folder]` reads `config.json` and
//! `model.safetensors` and continues a sequence of tokens.
//!
//! GPT-NeoX rotates a part of each head, in halves; GPT-J rotates a part too, in neighbouring columns;
//! BLOOM adds ALiBi's bias to the scores.

use std::fs;
use std::path::Path;

use burn::tensor::activation::{gelu, gelu_approximate, softmax};
use burn::tensor::{Bool, Device, Int, Tensor};
use pe_burn::{Alibi, AlibiConfig, Bias, Positions, RotaryPositionalEncoding, Rotate};
use pe_examples::{
    Cache, Decode, Linear, Norm, Result, Weights, append, embed, print_continuations, unseen, word,
};
use pe_models::HfConfig;
use serde_json::Value;

/// What differs between the models.
struct Kind {
    /// What names of the base class begin with in a file of a whole model.
    prefix: &'static str,
    tokens: &'static str,
    /// The name of layer `i` is this, with `i` for `{}`.
    layer: &'static str,
    /// Queries, keys and values, or all three as one, head by head.
    qkv: &'static [&'static str],
    output: &'static str,
    wide: &'static str,
    narrow: &'static str,
    /// Before attention and before the feed-forward network. GPT-J has one for both.
    norms: [&'static str; 2],
    /// Whether both parts read the same input, or the network that of attention.
    is_parallel: bool,
    /// The name of the activation in `config.json`, and what it is where that has none.
    activation: [&'static str; 2],
    first_norm: Option<&'static str>,
    last_norm: &'static str,
    head: &'static str,
}

const NEOX: Kind = Kind {
    prefix: "gpt_neox.",
    tokens: "embed_in",
    layer: "layers.{}",
    qkv: &["attention.query_key_value"],
    output: "attention.dense",
    wide: "mlp.dense_h_to_4h",
    narrow: "mlp.dense_4h_to_h",
    norms: ["input_layernorm", "post_attention_layernorm"],
    is_parallel: true,
    activation: ["hidden_act", "gelu"],
    first_norm: None,
    last_norm: "final_layer_norm",
    head: "embed_out",
};

const GPT_J: Kind = Kind {
    prefix: "transformer.",
    tokens: "wte",
    layer: "h.{}",
    qkv: &["attn.q_proj", "attn.k_proj", "attn.v_proj"],
    output: "attn.out_proj",
    wide: "mlp.fc_in",
    narrow: "mlp.fc_out",
    norms: ["ln_1", "ln_1"],
    is_parallel: true,
    activation: ["activation_function", "gelu_new"],
    first_norm: None,
    last_norm: "ln_f",
    head: "lm_head",
};

const BLOOM: Kind = Kind {
    prefix: "transformer.",
    tokens: "word_embeddings",
    layer: "h.{}",
    qkv: &["self_attention.query_key_value"],
    output: "self_attention.dense",
    wide: "mlp.dense_h_to_4h",
    narrow: "mlp.dense_4h_to_h",
    norms: ["input_layernorm", "post_attention_layernorm"],
    is_parallel: false,
    activation: ["", "gelu_new"],
    first_norm: Some("word_embeddings_layernorm"),
    last_norm: "ln_f",
    head: "lm_head",
};

struct Layer {
    qkv: Vec<Linear>,
    output: Linear,
    wide: Linear,
    narrow: Linear,
    norms: [Norm; 2],
}

pub struct Decoder {
    is_parallel: bool,
    /// Whether the activation is GELU or its approximation by tanh.
    exact_gelu: bool,
    heads: usize,
    embedding: Tensor<2>,
    /// The same rotation in all layers.
    rope: Option<RotaryPositionalEncoding>,
    alibi: Option<Alibi>,
    first_norm: Option<Norm>,
    layers: Vec<Layer>,
    last_norm: Norm,
    head: Linear,
}

impl Decoder {
    pub fn read(folder: &Path, device: &Device) -> Result<Self> {
        let text = fs::read_to_string(folder.join("config.json"))?;
        let config: Value = serde_json::from_str(&text)?;
        let kind = match config["model_type"].as_str().unwrap_or_default() {
            "gpt_neox" => &NEOX,
            "gptj" => &GPT_J,
            "bloom" => &BLOOM,
            other => return Err(format!("this example does not read {other}").into()),
        };
        let [activation, usual] = kind.activation;
        let known = ["gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh"];
        let exact_gelu = word(&config, activation, usual, &known)? == "gelu";
        let weights = Weights::read(&folder.join("model.safetensors"), kind.prefix, device)?;
        let number = |names: [&str; 2]| {
            let number = names.into_iter().find_map(|name| config[name].as_f64());
            number.ok_or(format!("config.json has no {}", names[0]))
        };
        let heads = number(["num_attention_heads", "n_head"])? as usize;
        let count = number(["num_hidden_layers", "n_layer"])? as usize;
        let epsilon = number(["layer_norm_eps", "layer_norm_epsilon"])?;
        let has_alibi = config["model_type"] == "bloom";
        let rope = match has_alibi {
            true => None,
            false => Some(HfConfig::from_json(&text)?.rotary()?.try_init(device)?),
        };
        let alibi = has_alibi.then(|| AlibiConfig::new(heads).try_init(device));

        let embedding = weights.get(&format!("{}.weight", kind.tokens))?;
        // BLOOM has one table for both ends unless its file says otherwise.
        let head = match config["tie_word_embeddings"].as_bool().unwrap_or(has_alibi) {
            true => Linear {
                weight: embedding.clone().transpose(),
                bias: None,
            },
            false => weights.linear(kind.head)?,
        };
        let norm = |name: &str| weights.layer_norm(name, epsilon);
        let layers = (0..count).map(|i| {
            let layer = kind.layer.replace("{}", &i.to_string());
            let linear = |part: &str| weights.linear(&format!("{layer}.{part}"));
            let norm = |part: &str| norm(&format!("{layer}.{part}"));
            Ok(Layer {
                qkv: kind
                    .qkv
                    .iter()
                    .map(|part| linear(part))
                    .collect::<Result<_>>()?,
                output: linear(kind.output)?,
                wide: linear(kind.wide)?,
                narrow: linear(kind.narrow)?,
                norms: [norm(kind.norms[0])?, norm(kind.norms[1])?],
            })
        });
        Ok(Self {
            // Some models of GPT-NeoX's type add attention before their network reads.
            is_parallel: kind.is_parallel
                && config["use_parallel_residual"].as_bool() != Some(false),
            heads,
            embedding,
            exact_gelu,
            rope,
            alibi: alibi.transpose()?,
            first_norm: kind.first_norm.map(norm).transpose()?,
            layers: layers.collect::<Result<_>>()?,
            last_norm: norm(kind.last_norm)?,
            head,
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
        let seq = tokens.dims()[1];
        let mut x = embed(&self.embedding, tokens);
        if let Some(norm) = &self.first_norm {
            x = norm.forward(x);
        }
        // Keys of the cache are at the positions of their tokens, which do not count padding.
        let keys = (&Positions::from_token_mask(real.clone()), real.dims()[1]);
        let bias = self
            .alibi
            .as_ref()
            .map(|alibi| alibi.bias((positions, seq), keys));
        let unseen = unseen(seq, real, None);
        for (layer, cache) in self.layers.iter().zip(caches) {
            let y = layer.norms[0].forward(x.clone());
            let attended =
                x.clone() + layer.attention(y, &unseen, positions, bias.clone(), cache, self);
            let read = if self.is_parallel {
                x
            } else {
                attended.clone()
            };
            let y = layer.wide.forward(layer.norms[1].forward(read));
            let y = match self.exact_gelu {
                true => gelu(y),
                false => gelu_approximate(y),
            };
            x = attended + layer.narrow.forward(y);
        }
        self.head.forward(self.last_norm.forward(x))
    }
}

impl Layer {
    fn attention(
        &self,
        x: Tensor<3>,
        unseen: &Tensor<4, Bool>,
        positions: &Positions,
        bias: Option<Tensor<4>>,
        cache: &mut Cache,
        model: &Decoder,
    ) -> Tensor<3> {
        let [batch, seq, width] = x.dims();
        let d_head = width / model.heads;
        let [mut q, mut k, v] = match &self.qkv[..] {
            [fused] => {
                let x = fused
                    .forward(x)
                    .reshape([batch, seq, model.heads, 3 * d_head]);
                [0, 1, 2].map(|i| x.clone().narrow(3, i * d_head, d_head).swap_dims(1, 2))
            }
            own => [0, 1, 2].map(|i| {
                let x = own[i].forward(x.clone());
                x.reshape([batch, seq, model.heads, d_head]).swap_dims(1, 2)
            }),
        };
        if let Some(rope) = &model.rope {
            (q, k) = rope.rotate(q, k, positions);
        }
        let [k, v] = append(cache, k, v);

        let mut scores = q.matmul(k.transpose()) / (d_head as f64).sqrt();
        if let Some(bias) = bias {
            scores = scores + bias;
        }
        let unseen = unseen.clone().expand(scores.shape());
        let y = softmax(scores.mask_fill(unseen, f32::MIN), 3).matmul(v);
        self.output
            .forward(y.swap_dims(1, 2).reshape([batch, seq, width]))
    }
}

fn main() -> Result<()> {
    let small = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/peers/decoders/bloom");
    let folder = std::env::args().nth(1).unwrap_or(small.to_string());
    let decoder = Decoder::read(Path::new(&folder), &Device::flex())?;
    print_continuations(&decoder);
    Ok(())
}
