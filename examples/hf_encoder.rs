//! An encoder from Hugging Face in Burn: `hf_encoder [folder]` reads `config.json` and
//! `model.safetensors` and prints the states of a few tokens.
//!
//! One file reads models whose positions enter at three different places: BERT and RoBERTa add a learned
//! table to the embeddings, ModernBERT rotates queries and keys, with another base where attention is
//! over a window, T5 adds a bias to the scores, and DeBERTa-v2 (and v3) what its queries and keys make of
//! relative positions. Padding on the left changes nothing.

use std::fs;
use std::path::Path;

use burn::module::Param;
use burn::tensor::activation::{gelu, relu, softmax};
use burn::tensor::{Bool, Device, Int, Tensor};
use pe_burn::content::DebertaConfig;
use pe_burn::{
    Bias, Embed, LearnedPositionalEmbedding, LearnedPositionalEmbeddingConfig, PositionError,
    Positions, RotaryPositionalEncoding, Rotate, T5RelativeBias, T5RelativeBiasConfig,
};
use pe_examples::{Linear, Norm, Result, Weights, embed, size, word};
use pe_models::{AttentionSpan, HfConfig};
use serde_json::Value;

/// What differs between the models.
struct Kind {
    /// The name of layer `i` is this, with `i` for `{}`.
    layer: &'static str,
    /// Queries, keys and values, or all three as one.
    qkv: &'static [&'static str],
    output: &'static str,
    wide: &'static str,
    narrow: &'static str,
    /// Of attention and of the feed-forward network.
    norms: [&'static str; 2],
    /// Whether these come before their part, or after its sum with the input.
    norm_first: bool,
    /// The norms of the embeddings and of the result.
    first_norm: &'static str,
    last_norm: &'static str,
    tokens: &'static str,
    /// The name of the activation in `config.json`, and the one that this example has.
    activation: [&'static str; 2],
}

const BERT: Kind = Kind {
    layer: "encoder.layer.{}",
    qkv: &[
        "attention.self.query",
        "attention.self.key",
        "attention.self.value",
    ],
    output: "attention.output.dense",
    wide: "intermediate.dense",
    narrow: "output.dense",
    norms: ["attention.output.LayerNorm", "output.LayerNorm"],
    norm_first: false,
    first_norm: "embeddings.LayerNorm",
    last_norm: "",
    tokens: "embeddings.word_embeddings",
    activation: ["hidden_act", "gelu"],
};

const DEBERTA: Kind = Kind {
    qkv: &[
        "attention.self.query_proj",
        "attention.self.key_proj",
        "attention.self.value_proj",
    ],
    ..BERT
};

const MODERNBERT: Kind = Kind {
    layer: "layers.{}",
    qkv: &["attn.Wqkv"],
    output: "attn.Wo",
    wide: "mlp.Wi",
    narrow: "mlp.Wo",
    norms: ["attn_norm", "mlp_norm"],
    norm_first: true,
    first_norm: "embeddings.norm",
    last_norm: "final_norm",
    tokens: "embeddings.tok_embeddings",
    activation: ["hidden_activation", "gelu"],
};

const T5: Kind = Kind {
    layer: "encoder.block.{}",
    qkv: &[
        "layer.0.SelfAttention.q",
        "layer.0.SelfAttention.k",
        "layer.0.SelfAttention.v",
    ],
    output: "layer.0.SelfAttention.o",
    wide: "layer.1.DenseReluDense.wi",
    narrow: "layer.1.DenseReluDense.wo",
    norms: ["layer.0.layer_norm", "layer.1.layer_norm"],
    norm_first: true,
    first_norm: "",
    last_norm: "encoder.final_layer_norm",
    tokens: "shared",
    activation: ["feed_forward_proj", "relu"],
};

struct Layer {
    qkv: Vec<Linear>,
    output: Linear,
    wide: Linear,
    narrow: Linear,
    /// Before attention, or after it; then the same of the network.
    norms: (Option<Norm>, Norm),
    rope: Option<RotaryPositionalEncoding>,
    /// How far a query sees to each side.
    window: Option<usize>,
}

pub struct Encoder {
    kind: &'static Kind,
    /// The token that fills up shorter rows.
    padding: usize,
    heads: usize,
    /// 1 / √d_head, or 1 in T5.
    scale: f64,
    embedding: Tensor<2>,
    /// The embedding of the first type of token, in BERT.
    token_type: Option<Tensor<1>>,
    table: Option<LearnedPositionalEmbedding>,
    bias: Option<T5RelativeBias>,
    /// DeBERTa's relative positions, which go through the projections of each layer.
    relative: Option<(DebertaConfig, Tensor<3>)>,
    first_norm: Option<Norm>,
    layers: Vec<Layer>,
    last_norm: Option<Norm>,
}

impl Encoder {
    pub fn read(folder: &Path, device: &Device) -> Result<Self> {
        let text = fs::read_to_string(folder.join("config.json"))?;
        let config: Value = serde_json::from_str(&text)?;
        let name = config["model_type"].as_str().unwrap_or_default();
        let size = |name: &str| size(&config, name);
        let kind = match name {
            "bert" | "roberta" => &BERT,
            "deberta-v2" => &DEBERTA,
            "modernbert" => &MODERNBERT,
            "t5" => &T5,
            other => {
                return Err(format!("this example does not read the model type {other}").into());
            }
        };
        let [activation, usual] = kind.activation;
        word(&config, activation, usual, &[usual])?;
        // Files of ModernBERT have the field too, and it says nothing there.
        if matches!(name, "bert" | "roberta") {
            word(
                &config,
                "position_embedding_type",
                "absolute",
                &["absolute"],
            )?;
        }
        // A file of a whole model has names that begin with that of its base class.
        let prefix = match name {
            "modernbert" => "model.",
            "deberta-v2" => "deberta.",
            "roberta" => "roberta.",
            _ => "bert.",
        };
        let weights = Weights::read(&folder.join("model.safetensors"), prefix, device)?;
        let is_t5 = name == "t5";
        let [heads, count] = match is_t5 {
            true => ["num_heads", "num_layers"],
            false => ["num_attention_heads", "num_hidden_layers"],
        };
        let (heads, count) = (size(heads)?, size(count)?);
        let embedding: Tensor<2> = weights.get(&format!("{}.weight", kind.tokens))?;
        let width = embedding.dims()[1];

        // First hook: a table of positions. RoBERTa's has a row for padding before that of position 0.
        let table = "embeddings.position_embeddings.weight";
        let table = match (name, weights.find::<2>(table)) {
            ("roberta", Some(rows)) => {
                let padding = size("pad_token_id")?;
                let max_len = rows.dims()[0] - padding - 1;
                let table_config = LearnedPositionalEmbeddingConfig::new(width, max_len);
                Some((table_config.with_padding_index(padding), rows))
            }
            (_, Some(rows)) => {
                let table_config = LearnedPositionalEmbeddingConfig::new(width, rows.dims()[0]);
                Some((table_config, rows))
            }
            ("bert" | "roberta", None) => return Err(format!("there is no weight {table}").into()),
            (_, None) => None,
        };
        let table = table.map(|(config, rows)| {
            let mut table = config.try_init(device)?;
            table.weight = Param::from_tensor(rows);
            Ok::<_, PositionError>(table)
        });
        // Second hook: rotations, which may differ from layer to layer.
        let mut spans = vec![AttentionSpan::Full; count];
        let mut ropes = vec![None; count];
        let is_modernbert = name == "modernbert";
        if is_modernbert {
            let model = HfConfig::from_json(&text)?;
            spans = model.layers()?.iter().map(|layer| layer.span).collect();
            ropes = model.init_rotary(device)?;
        }
        // Third hook: a bias of the scores, the same in all layers.
        let bias = match is_t5 {
            false => None,
            true => {
                let bias = T5RelativeBiasConfig::new(heads)
                    .with_buckets(size("relative_attention_num_buckets")?)
                    .with_max_distance(size("relative_attention_max_distance").unwrap_or(128))
                    .with_bidirectional(true);
                let mut bias = bias.try_init(device)?;
                let name = "layer.0.SelfAttention.relative_attention_bias.weight";
                bias.weight = Param::from_tensor(weights.get(&format!("encoder.block.0.{name}"))?);
                Some(bias)
            }
        };

        let number = |name: &str| config[name].as_f64();
        let epsilon = ["layer_norm_eps", "norm_eps", "layer_norm_epsilon"];
        let epsilon = epsilon.into_iter().find_map(number).unwrap_or(1e-12);
        let norm = |name: &str| -> Result<Norm> {
            let bias = format!("{name}.bias");
            Ok(Norm {
                weight: weights.get(&format!("{name}.weight"))?,
                bias: match is_t5 || is_modernbert {
                    true => weights.find(&bias),
                    false => Some(weights.get(&bias)?),
                },
                epsilon,
                is_centered: !is_t5,
            })
        };
        let if_any = |name: &str| match name {
            "" => Ok(None),
            name => norm(name).map(Some),
        };
        // The same hook with a look at queries and keys: embeddings of relative positions.
        let relative = match name {
            "deberta-v2" => {
                let own = ["pos_key_proj", "pos_query_proj"]
                    .map(|part| format!("encoder.layer.0.attention.self.{part}.bias"));
                let unread = [&own[0], &own[1], "encoder.conv.conv.bias"];
                if unread.iter().any(|name| weights.find::<1>(name).is_some()) {
                    return Err(
                        format!("this example reads no DeBERTa with any of {unread:?}").into(),
                    );
                }
                let terms = config["pos_att_type"].to_string();
                let reach = size("max_relative_positions").or(size("max_position_embeddings"))?;
                let relative = DebertaConfig::new(width, heads)
                    .with_buckets(size("position_buckets").ok().filter(|buckets| *buckets > 0))
                    .with_max_distance(reach)
                    .with_content_to_position(terms.contains("c2p"))
                    .with_position_to_content(terms.contains("p2c"));
                let rows = weights.get::<2>("encoder.rel_embeddings.weight")?;
                let has_norm = weights.find::<1>("encoder.LayerNorm.weight").is_some();
                let rows = match has_norm {
                    true => norm("encoder.LayerNorm")?.forward(rows),
                    false => rows,
                };
                Some((relative, rows.unsqueeze()))
            }
            _ => None,
        };
        if let (true, Ok(d_kv)) = (is_t5, size("d_kv"))
            && d_kv * heads != width
        {
            return Err(format!("this example reads no T5 whose {heads} heads of {d_kv} are not as wide as the model, {width}").into());
        }
        let layers = spans
            .into_iter()
            .zip(ropes)
            .enumerate()
            .map(|(i, (span, rope))| {
                let layer = kind.layer.replace("{}", &i.to_string());
                let name = |part: &str| format!("{layer}.{part}");
                let linear = |part: &str| weights.linear(&name(part));
                let own = kind.qkv.iter().map(|part| name(part)).collect::<Vec<_>>();
                let [first, second] = kind.norms.map(|part| norm(&name(part)));
                // The first layer of ModernBERT reads embeddings, which are normalized already.
                let first = match is_modernbert && i == 0 {
                    true => first.ok(),
                    false => Some(first?),
                };
                Ok(Layer {
                    qkv: match &own[..] {
                        [fused] => weights.linears(fused, &[], &[width; 3])?,
                        own => own
                            .iter()
                            .map(|name| weights.linear(name))
                            .collect::<Result<_>>()?,
                    },
                    output: linear(kind.output)?,
                    wide: linear(kind.wide)?,
                    narrow: linear(kind.narrow)?,
                    norms: (first, second?),
                    rope,
                    window: match span {
                        AttentionSpan::Around { before, .. } => Some(before),
                        _ => None,
                    },
                })
            });
        Ok(Self {
            padding: size("pad_token_id").unwrap_or(0),
            heads,
            scale: match is_t5 {
                true => 1.0,
                false => (width as f64 / heads as f64).powf(-0.5),
            },
            token_type: weights
                .find::<2>("embeddings.token_type_embeddings.weight")
                .map(|types| types.narrow(0, 0, 1).flatten(0, 1)),
            table: table.transpose()?,
            bias,
            relative,
            first_norm: if_any(kind.first_norm)?,
            layers: layers.collect::<Result<_>>()?,
            last_norm: if_any(kind.last_norm)?,
            embedding,
            kind,
        })
    }

    /// The states of tokens, `[batch, seq]` to `[batch, seq, d_model]`. `real` is false for padding, which
    /// may be on either side.
    pub fn forward(&self, tokens: Tensor<2, Int>, real: &Tensor<2, Bool>) -> Tensor<3> {
        let seq = tokens.dims()[1];
        let positions = Positions::from_token_mask(real.clone());
        let mut x = embed(&self.embedding, tokens);
        if let Some(token_type) = &self.token_type {
            x = x + token_type.clone().unsqueeze();
        }
        if let Some(table) = &self.table {
            x = table.embed(x, &positions);
        }
        let here = (&positions, seq);
        let bias = self.bias.as_ref().map(|bias| bias.bias(here, here));
        let normed = |norm: &Option<Norm>, x| match norm {
            Some(norm) => norm.forward(x),
            None => x,
        };
        x = normed(&self.first_norm, x);
        for layer in &self.layers {
            let attention = |x| layer.attention(x, real, &positions, bias.clone(), self);
            let (norm, other) = &layer.norms;
            x = match self.kind.norm_first {
                true => {
                    let x = x.clone() + attention(normed(norm, x));
                    x.clone() + layer.network(other.forward(x), self)
                }
                false => {
                    let x = normed(norm, x.clone() + attention(x));
                    other.forward(x.clone() + layer.network(x, self))
                }
            };
        }
        normed(&self.last_norm, x)
    }
}

impl Layer {
    fn attention(
        &self,
        x: Tensor<3>,
        real: &Tensor<2, Bool>,
        positions: &Positions,
        bias: Option<Tensor<4>>,
        model: &Encoder,
    ) -> Tensor<3> {
        let [batch, seq, width] = x.dims();
        let heads = |i: usize, x: &Tensor<3>| {
            let y = self.qkv[i].forward(x.clone());
            let shape = [x.dims()[0], x.dims()[1], model.heads, width / model.heads];
            y.reshape(shape).swap_dims(1, 2)
        };
        let (mut q, mut k, v) = (heads(0, &x), heads(1, &x), heads(2, &x));
        if let Some(rope) = &self.rope {
            (q, k) = rope.rotate(q, k, positions);
        }
        let bias = match &model.relative {
            Some((config, rows)) => {
                let table = |i: usize| heads(i, rows).squeeze_dim::<3>(0);
                let keys = config.content_to_position.then(|| table(1));
                let queries = config.position_to_content.then(|| table(0));
                let bias = config.score_bias_with(keys, queries, (&q, positions), (&k, positions));
                Some(bias.expect("the tables have the rows that the config says"))
            }
            None => bias,
        };
        let mut scores = q.matmul(k.transpose()) * model.scale;
        if let Some(bias) = bias {
            scores = scores + bias;
        }
        let shape = [batch, model.heads, seq, seq];
        let padding = real
            .clone()
            .bool_not()
            .reshape([batch, 1, 1, seq])
            .expand(shape);
        scores = scores.mask_fill(padding, f32::MIN);
        if let Some(window) = self.window {
            let at = Tensor::<1, Int>::arange(0..seq as i64, &x.device());
            let apart = at.clone().reshape([seq, 1]) - at.reshape([1, seq]);
            let far = apart.abs().greater_elem(window as i64);
            scores = scores.mask_fill(far.reshape([1, 1, seq, seq]).expand(shape), f32::MIN);
        }
        let y = softmax(scores, 3).matmul(v).swap_dims(1, 2);
        self.output.forward(y.reshape([batch, seq, width]))
    }

    fn network(&self, x: Tensor<3>, model: &Encoder) -> Tensor<3> {
        let y = self.wide.forward(x);
        let inner = self.narrow.weight.dims()[0];
        let y = match (&model.bias, y.dims()[2] / inner) {
            (Some(_), _) => relu(y),
            (None, 1) => gelu(y),
            // ModernBERT multiplies by a gate.
            (None, _) => {
                let [y, gate] = [0, 1].map(|i| y.clone().narrow(2, i * inner, inner));
                gelu(y) * gate
            }
        };
        self.narrow.forward(y)
    }
}

fn main() -> Result<()> {
    let small = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../tests/peers/encoders/modernbert"
    );
    let folder = std::env::args().nth(1).unwrap_or(small.to_string());
    let device = Device::flex();
    let encoder = Encoder::read(Path::new(&folder), &device)?;
    let tokens = Tensor::<2, Int>::from_data([[1, 1, 3, 14, 15], [9, 2, 6, 5, 3]], &device);
    let real = tokens.clone().not_equal_elem(encoder.padding as i64);
    println!("{}", encoder.forward(tokens, &real));
    Ok(())
}
