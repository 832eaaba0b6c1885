//! With the same parameters it is Burn's encoder.

use super::*;

/// Burn's modules for the same computation.
struct Burns {
    encoder: TransformerEncoder,
    norm: burn::nn::LayerNorm,
}

impl Burns {
    fn new(config: &EncoderConfig, device: &Device) -> Self {
        device.seed(7);
        let sizes = [config.d_model, config.d_ff, config.heads, config.layers];
        let [d_model, d_ff, heads, layers] = sizes;
        let norm = LayerNormConfig::new(d_model).with_epsilon(config.epsilon);
        Self {
            encoder: TransformerEncoderConfig::new(d_model, d_ff, heads, layers)
                .with_norm_first(config.norm == Norm::Pre)
                .with_activation(match config.activation {
                    Activation::Gelu => ActivationConfig::Gelu,
                    Activation::Relu => ActivationConfig::Relu,
                    Activation::Silu => unreachable!("Burn's network has none"),
                })
                .with_dropout(0.0)
                .with_layer_norm_eps(config.epsilon)
                .init(device),
            norm: norm.init(device),
        }
    }

    /// Our encoder with the same parameters.
    fn ours(&self, config: &EncoderConfig) -> Encoder {
        let norm = |norm: &burn::nn::LayerNorm| LayerNorm {
            gamma: norm.gamma.clone(),
            beta: norm.beta.clone().unwrap(),
            epsilon: config.epsilon,
        };
        let layer = |(nth, layer): (usize, &TransformerEncoderLayer)| {
            let [attention_norm, feed_forward_norm] = norms_of(layer, config.norm);
            let parts = [&layer.mha.query, &layer.mha.key, &layer.mha.value];
            let weights = parts.map(|part| part.weight.val());
            let biases = parts.map(|part| part.bias.as_ref().unwrap().val());
            Layer {
                attention_norm: norm(attention_norm),
                attention: Attention {
                    qkv: Linear {
                        weight: leaf(Tensor::cat(weights.to_vec(), 1)),
                        bias: Some(leaf(Tensor::cat(biases.to_vec(), 0))),
                    },
                    output: layer.mha.output.clone(),
                    dropout: DropoutConfig::new(0.0).init(),
                    heads: config.heads,
                    causal: config.causal,
                    window: None,
                    layer: nth,
                    kernels: config.kernels,
                },
                feed_forward_norm: norm(feed_forward_norm),
                inner: layer.pwff.linear_inner.clone(),
                outer: layer.pwff.linear_outer.clone(),
                positions: true,
            }
        };
        Encoder {
            layers: self.encoder.layers.iter().enumerate().map(layer).collect(),
            norm: (config.norm == Norm::Pre).then(|| norm(&self.norm)),
            d_model: config.d_model,
            activation: config.activation,
            dropout: DropoutConfig::new(config.dropout).init(),
            kernels: config.kernels,
        }
    }
}

/// Burn's normalizations of attention and of the feed-forward network, in this order. That of attention is `norm_2` where
/// layers normalize first, and `norm_1` where they normalize after.
fn norms_of(layer: &TransformerEncoderLayer, norm: Norm) -> [&burn::nn::LayerNorm; 2] {
    match norm {
        Norm::Pre => [&layer.norm_2, &layer.norm_1],
        Norm::Post => [&layer.norm_1, &layer.norm_2],
    }
}

/// The gradients of Burn's three projections as those of one projection: the columns of query,
/// key and value beside each other.
fn side_by_side(parts: [Vec<f32>; 3]) -> Vec<f32> {
    let rows = parts[0].len() / D_MODEL;
    let row = |row: usize| {
        parts
            .each_ref()
            .map(|part| &part[row * D_MODEL..][..D_MODEL])
    };
    (0..rows).flat_map(|i| row(i).concat()).collect()
}

/// Compares the output and the gradients of the input and of every parameter in the layers.
fn compare_with_burn(
    config: &EncoderConfig,
    device: &Device,
    [batch, seq]: [usize; 2],
    padded: bool,
) {
    let burns = Burns::new(config, device);
    let ours = burns.ours(config);
    let x = Tensor::<3>::random([batch, seq, D_MODEL], Distribution::Default, device) - 0.3;
    let weights = Tensor::<3>::random([batch, seq, D_MODEL], Distribution::Default, device);
    let padding = padded.then(|| padding_of_rows([batch, seq], device));
    let (left, right) = (x.clone().require_grad(), x.require_grad());

    let mut input = TransformerEncoderInput::new(left.clone());
    if let Some(padding) = &padding {
        input = input.mask_pad(padding.clone());
    }
    if config.causal {
        input = input.mask_attn(generate_autoregressive_mask(batch, seq, device));
    }
    let theirs = match config.norm {
        Norm::Pre => burns.norm.forward(burns.encoder.forward(input)),
        Norm::Post => burns.encoder.forward(input),
    };
    let (none, positions) = (no_positions(device), Positions::default());
    let mine = ours.forward(right.clone(), padding.as_ref(), &none, &positions);
    let case = format!("{batch} × {seq}, padded {padded}, {config}");
    let apart = difference(&values(theirs.clone()), &values(mine.clone()));
    assert!(apart < 2e-6, "{case}: outputs {apart} apart");

    let theirs = (theirs * weights.clone()).sum().backward();
    let mine = (mine * weights).sum().backward();
    let grad = |x: &Tensor<3>, gradients| values(x.grad(gradients).unwrap());
    let mut pairs = vec![(grad(&left, &theirs), grad(&right, &mine))];
    pairs.extend(gradients_of_parameters(
        &burns,
        &ours,
        config.norm,
        [&theirs, &mine],
    ));
    for (i, (theirs, mine)) in pairs.iter().enumerate() {
        let apart = difference(theirs, mine);
        assert!(apart < 2e-5, "{case}: gradient {i} {apart} apart");
    }
}

/// The gradients of every parameter in the layers, Burn's and ours.
fn gradients_of_parameters(
    burns: &Burns,
    ours: &Encoder,
    norm: Norm,
    [theirs, mine]: [&Gradients; 2],
) -> Vec<(Vec<f32>, Vec<f32>)> {
    let bias = |layer: &Linear, of| gradient(layer.bias.as_ref().unwrap(), of);
    let mut pairs = Vec::new();
    for (burns, ours) in burns.encoder.layers.iter().zip(&ours.layers) {
        let projections = [&burns.mha.query, &burns.mha.key, &burns.mha.value];
        pairs.push((
            side_by_side(projections.map(|part| gradient(&part.weight, theirs))),
            gradient(&ours.attention.qkv.weight, mine),
        ));
        // Together, because the gradient of the keys' bias alone is 0 but for rounding.
        pairs.push((
            side_by_side(projections.map(|part| bias(part, theirs))),
            bias(&ours.attention.qkv, mine),
        ));
        for (a, b) in [
            (&burns.mha.output, &ours.attention.output),
            (&burns.pwff.linear_inner, &ours.inner),
            (&burns.pwff.linear_outer, &ours.outer),
        ] {
            pairs.push((gradient(&a.weight, theirs), gradient(&b.weight, mine)));
            pairs.push((bias(a, theirs), bias(b, mine)));
        }
        let [attention_norm, feed_forward_norm] = norms_of(burns, norm);
        for (a, b) in [
            (feed_forward_norm, &ours.feed_forward_norm),
            (attention_norm, &ours.attention_norm),
        ] {
            pairs.push((gradient(&a.gamma, theirs), gradient(&b.gamma, mine)));
            let beta = a.beta.as_ref().unwrap();
            pairs.push((gradient(beta, theirs), gradient(&b.beta, mine)));
        }
    }
    pairs
}

#[test]
fn with_kernels_it_is_burns_encoder() {
    let device = Device::flex().autodiff();
    // One token; fewer elements than a vector register; odd sizes; more than one block of rows.
    for shape in [[1, 1], [2, 5], [3, 17], [5, 64], [9, 33]] {
        for causal in [false, true] {
            let config = config().with_causal(causal);
            compare_with_burn(&config, &device, shape, false);
            compare_with_burn(&config, &device, shape, true);
        }
    }
}

#[cfg(feature = "tch")]
#[test]
#[allow(deprecated)] // Burn discourages LibTorch; this project still offers it.
fn it_is_burns_encoder_on_libtorch() {
    let device = Device::libtorch().autodiff();
    for shape in [[1, 1], [2, 5], [5, 64]] {
        compare_with_burn(&config(), &device, shape, false);
        compare_with_burn(&config(), &device, shape, true);
    }
}

#[test]
fn without_kernels_it_is_burns_encoder() {
    let device = Device::flex().autodiff();
    let off = config().with_kernels(Kernels::Off);
    for (config, device) in [
        (off, device.clone()),
        (config(), device.gradient_checkpointing()),
    ] {
        compare_with_burn(&config, &device, [3, 17], false);
        compare_with_burn(&config, &device, [3, 17], true);
    }
}

#[test]
fn with_other_norms_and_activations_it_is_burns_encoder() {
    let device = Device::flex().autodiff();
    for (norm, activation) in [
        (Norm::Post, Activation::Gelu),
        (Norm::Pre, Activation::Relu),
        (Norm::Post, Activation::Relu),
    ] {
        for kernels in [Kernels::Auto, Kernels::Off] {
            let config = config()
                .with_norm(norm)
                .with_activation(activation)
                .with_kernels(kernels);
            compare_with_burn(&config, &device, [3, 17], false);
            compare_with_burn(&config.with_causal(true), &device, [3, 17], true);
        }
    }
}

#[test]
fn every_layer_normalization_has_the_configured_epsilon() {
    let device = Device::flex().autodiff();
    for kernels in [Kernels::Auto, Kernels::Off] {
        let config = config().with_kernels(kernels).with_epsilon(0.1);
        compare_with_burn(&config, &device, [3, 17], false);
    }
}
