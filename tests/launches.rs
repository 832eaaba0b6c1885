//! How many kernels a graphics card is asked to launch. Counted where Burn issues them, so that a card is
//! not needed. A process of its own: the observer sees the launches of all threads.
#![recursion_limit = "256"]

use std::sync::{Arc, Mutex};

use burn::backend::ops::AttentionModuleOptions;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Backend, Dispatch, backend_extension};
use burn::grad_clipping::GradientClippingConfig;
use burn::nn::EmbeddingConfig;
use burn::nn::transformer::{TransformerEncoderConfig, TransformerEncoderInput};
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::{DType, Device, Distribution, FloatDType, Int, Tensor};
use burn_cubecl::CubeBackend;
use burn_cubecl::cubecl::logging::{LaunchObservation, LaunchObserver};
use burn_cubecl::kernel::attention::{AttentionStrategy, attention};
use pe_burn::{
    AlibiConfig, Bias, Embed, Layout, LearnedPositionalEmbeddingConfig, PositionalConfig,
    Positions, RotaryPositionalEncodingConfig, Rotate, SinusoidalPositionalEncodingConfig,
};
use pe_encoder::{Adam, EncoderConfig, Kernels, ModuleAdam};

#[derive(Default)]
struct Launches(Mutex<Vec<&'static str>>);

impl LaunchObserver for Launches {
    fn launched(&self, kernel: &'static str) {
        self.0.lock().unwrap().push(kernel);
    }
}

/// The kernels that `work` launches, and by how many bytes the memory in use grows meanwhile.
fn launches<T>(device: &Device, work: impl FnOnce() -> T) -> (Vec<&'static str>, i64) {
    let in_use = || {
        device.sync().unwrap();
        device.memory_pool_usage().unwrap().bytes_in_use as i64
    };
    let before = in_use();
    let seen = Arc::new(Launches::default());
    let watching = LaunchObservation::new(seen.clone());
    let held = work();
    let grown = in_use() - before;
    drop(watching);
    drop(held);
    let seen = seen.0.lock().unwrap().clone();
    (seen, grown)
}

/// Queries and keys together take one launch and no new memory, each of their gradients one more.
fn rotation(device: &Device) {
    let autodiff = device.clone().autodiff();
    for dtype in [FloatDType::F32, FloatDType::F16] {
        if !device.supports_dtype(dtype) {
            continue;
        }
        for layout in [Layout::Interleaved, Layout::Halves] {
            for width in [64, 16] {
                let config = RotaryPositionalEncodingConfig::new(64)
                    .with_rotary_dim(width)
                    .with_layout(layout);
                let random = |heads, device: &Device| {
                    let shape = [2, heads, 32, 64];
                    let x = Tensor::<4>::random(shape, Distribution::Default, device).cast(dtype);
                    device.sync().unwrap();
                    x
                };
                let rope = config.init(device);
                let at = Positions::from(5);
                drop(rope.rotate(random(4, device), random(2, device), &at));
                let (q, k) = (random(4, device), random(2, device));
                let (seen, grown) = launches(device, || rope.rotate(q, k, &at));
                assert_eq!(seen.len(), 1, "{device:?} {dtype:?} {layout:?}: {seen:?}");
                assert!(seen[0].contains("turn_both"), "{seen:?}");
                assert_eq!(grown, 0, "{device:?} {dtype:?} {layout:?}");

                let qkv = |device: &Device| random(8, device).reshape([2, 32, 8 * 64]);
                drop(rope.rotate_packed(qkv(device), [4, 2], &at));
                let projection = qkv(device);
                device.sync().unwrap();
                let (seen, grown) =
                    launches(device, || rope.rotate_packed(projection, [4, 2], &at));
                assert_eq!(seen.len(), 1, "{device:?} {dtype:?} {layout:?}: {seen:?}");
                assert_eq!(grown, 0, "{device:?} {dtype:?} {layout:?}");

                let rope = config.init(&autodiff);
                let q = random(4, &autodiff).require_grad();
                let k = random(2, &autodiff).require_grad();
                let (turned_q, turned_k) = rope.rotate(q.clone(), k.clone(), &at);
                device.sync().unwrap();
                let (seen, _) = launches(device, || {
                    let of_q = turned_q.backward();
                    let of_k = turned_k.backward();
                    (q.grad(&of_q), k.grad(&of_k))
                });
                let turns = seen.iter().filter(|name| name.contains("turn_one"));
                assert_eq!(
                    turns.count(),
                    2,
                    "{device:?} {dtype:?} {layout:?}: {seen:?}"
                );
            }
        }
    }
}

/// Rows with starts of their own, and documents packed into one row, read their angles from the buffer: one launch too, and one
/// for each gradient.
fn rows_by_id(device: &Device) {
    let autodiff = device.clone().autodiff();
    let segments = Tensor::<2, Int>::from_ints([[0, 0, 0, 1, 1, 2], [0, 1, 1, 1, 1, 1]], device);
    let random = |heads, device: &Device| {
        let x = Tensor::<4>::random([2, heads, 6, 64], Distribution::Default, device);
        device.sync().unwrap();
        x
    };
    let config = RotaryPositionalEncodingConfig::new(64);
    let rope = config.init(device);
    let tracked = config.init(&autodiff);
    for at in [
        Positions::from_starts([3, 40]),
        Positions::from_segment_ids(segments),
    ] {
        drop(rope.rotate(random(4, device), random(2, device), &at));
        let (q, k) = (random(4, device), random(2, device));
        let (seen, _) = launches(device, || rope.rotate(q, k, &at));
        assert_eq!(seen.len(), 1, "{device:?} {at:?}: {seen:?}");
        assert!(seen[0].contains("turn_both"), "{seen:?}");

        let projection = || random(8, device).reshape([2, 6, 8 * 64]);
        drop(rope.rotate_packed(projection(), [4, 2], &at));
        let qkv = projection();
        let (seen, _) = launches(device, || rope.rotate_packed(qkv, [4, 2], &at));
        assert_eq!(seen.len(), 1, "{device:?} {at:?}: {seen:?}");

        let q = random(4, &autodiff).require_grad();
        let turned = tracked.rotate_queries(q.clone(), &at);
        device.sync().unwrap();
        let (seen, _) = launches(device, || q.grad(&turned.backward()));
        let turns = seen.iter().filter(|name| name.contains("turn_one"));
        assert_eq!(turns.count(), 1, "{device:?} {at:?}: {seen:?}");
        assert!(!seen.iter().any(|name| name.contains("gather")), "{seen:?}");
    }
}

/// What a rotation moves: queries and keys in and out, and the rows of the positions in. It is one launch without new
/// memory, so these are all the buffers that it has. Each is measured as what the memory in use grows by when it is made.
fn bytes_of_a_rotation(device: &Device) {
    let (batch, seq, d_head) = (4, 128, 64);
    for dtype in [FloatDType::F32, FloatDType::F16] {
        if !device.supports_dtype(dtype) {
            continue;
        }
        let random = |heads| {
            let shape = [batch, heads, seq, d_head];
            Tensor::<4>::random(shape, Distribution::Default, device).cast(dtype)
        };
        let at = Positions::default();
        let config = RotaryPositionalEncodingConfig::new(d_head).with_max_len(seq);
        let (mut rope, mut both) = (None, None);
        let (_, rows) = launches(device, || {
            let new = config.init(device);
            drop(new.rotate(random(8), random(2), &at));
            rope = Some(new);
        });
        let (_, inputs) = launches(device, || both = Some((random(8), random(2))));
        let (rope, (q, k)) = (rope.unwrap(), both.unwrap());
        let (seen, grown) = launches(device, || rope.rotate(q, k, &at));
        assert_eq!(
            (seen.len(), grown),
            (1, 0),
            "{device:?} {dtype:?}: {seen:?}"
        );
        // Memory is handed out in blocks.
        let exact = (batch * (8 + 2) * seq * d_head * DType::from(dtype).size()) as i64;
        assert!(
            (exact..exact + 1_024).contains(&inputs),
            "{device:?} {dtype:?}: {inputs} bytes"
        );
        assert!(
            rows >= (4 * seq * d_head) as i64,
            "{device:?}: {rows} bytes"
        );
        let times = (2 * inputs + rows) as f64 / (2 * inputs) as f64;
        println!("{device:?} {dtype:?}: a rotation moves {times:.3} times its queries and keys");
        assert!(times <= 1.1, "{device:?} {dtype:?}: {times}");
    }
}

/// The launches of a training step that has been made before: forward, backward, clipping and Adam.
fn of_a_step(device: &Device, mut step: impl FnMut()) -> usize {
    for _ in 0..2 {
        step();
    }
    device.sync().unwrap();
    launches(device, step).0.len()
}

/// A training step of the encoder takes less than a fifth of the launches of Burn's modules, which rotate nothing. A card that takes more
/// than 15 tensors in a launch, as most do, needs one or two fewer.
fn training(device: &Device) {
    let device = device.clone().autodiff();
    let x = Tensor::<3>::random([8, 32, 64], Distribution::Default, &device);
    let (d_model, d_ff, heads, layers) = (64, 256, 4, 2);

    let config = TransformerEncoderConfig::new(d_model, d_ff, heads, layers);
    let config = config.with_dropout(0.0).with_norm_first(true);
    let mut model = config.init(&device);
    let clipping = GradientClippingConfig::Norm(1.0);
    let adam = AdamConfig::new().with_grad_clipping(Some(clipping));
    let mut optimizer = adam.init();
    let burns = of_a_step(&device, || {
        let y = model.forward(TransformerEncoderInput::new(x.clone()));
        let gradients = y.powi_scalar(2).mean().backward();
        let gradients = GradientsParams::from_grads(gradients, &model);
        model = optimizer.step(1e-3, model.clone(), gradients);
    });

    let rotary = RotaryPositionalEncodingConfig::new(d_model / heads);
    for (name, config, most) in [
        ("no positions", PositionalConfig::None {}, 64),
        ("rotary positions", PositionalConfig::Rotary(rotary), 68),
    ] {
        let scheme = config.init(&device);
        let mut model = Some(EncoderConfig::new(d_model, d_ff, heads, layers).init(&device));
        let mut optimizer = ModuleAdam::new(Adam {
            beta_1: 0.9,
            beta_2: 0.999,
            epsilon: 1e-5,
            clip_norm: Some(1.0),
            weight_decay: 0.0,
            kernels: Kernels::Auto,
        });
        let ours = of_a_step(&device, || {
            let old = model.take().unwrap();
            let y = old.forward(x.clone(), None, &scheme, &Positions::default());
            let gradients = y.powi_scalar(2).mean().backward();
            let gradients = GradientsParams::from_grads(gradients, &old);
            model = Some(optimizer.step(1e-3, old, gradients));
        });
        println!("{device:?}, {name}: {ours} launches, {burns} of Burn's modules");
        assert!(ours <= most, "{name}: {ours} launches");
        assert!(
            5 * ours <= burns,
            "{name}: {ours} launches, {burns} of Burn's modules"
        );
    }
}

/// The launches of a token that is decoded after others.
fn decoding(device: &Device) {
    let (d_model, d_ff, heads, layers) = (64, 256, 4, 2);
    let rotary = RotaryPositionalEncodingConfig::new(d_model / heads);
    let scheme = PositionalConfig::Rotary(rotary).init(device);
    let encoder = EncoderConfig::new(d_model, d_ff, heads, layers).with_causal(true);
    let encoder = encoder.init(device);
    let mut caches = encoder.caches();
    let random = |seq| Tensor::<3>::random([8, seq, 64], Distribution::Default, device);
    encoder.forward_cached(random(20), &scheme, &mut caches);
    for _ in 0..2 {
        encoder.forward_cached(random(1), &scheme, &mut caches);
    }
    let x = random(1);
    device.sync().unwrap();
    let (seen, _) = launches(device, || encoder.forward_cached(x, &scheme, &mut caches));
    println!(
        "{device:?}: a token after 22 others in {} launches",
        seen.len()
    );
    assert!(seen.len() <= 35, "{device:?}: {seen:#?}");
}

/// A bias of distances is written in one launch, after up to three for its values by distance.
fn bias(device: &Device) {
    let alibi = AlibiConfig::new(4).init(device);
    let at = Positions::default();
    let of = || alibi.bias((&at, 30), (&at, 50));
    drop(of());
    device.sync().unwrap();
    let (seen, _) = launches(device, of);
    let spread = seen
        .iter()
        .filter(|name| name.contains("spread_over_pairs"));
    assert_eq!(spread.count(), 1, "{seen:?}");
    assert!(seen.len() <= 4, "{seen:?}");
}

/// Burn's flash attention. Burn chooses it by itself where its autotune is on, and finds it faster.
#[backend_extension(Cube, Fusion)]
trait Flash: Backend {
    #[fusion(dtype = v, shape = v)]
    fn flash(q: FloatTensor<Self>, k: FloatTensor<Self>, v: FloatTensor<Self>)
    -> FloatTensor<Self>;
}

impl Flash for CubeBackend {
    fn flash(
        q: FloatTensor<Self>,
        k: FloatTensor<Self>,
        v: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        let causal = AttentionModuleOptions {
            is_causal: true,
            ..Default::default()
        };
        attention(q, k, v, None, None, causal, AttentionStrategy::FlashUnit).unwrap()
    }
}

/// ALiBi in the columns of queries and keys: one launch of flash attention, with the result of a bias.
fn flash(device: &Device) {
    let alibi = AlibiConfig::new(4).init(device);
    let [q, k, v] =
        [(); 3].map(|()| Tensor::<4>::random([2, 4, 64, 48], Distribution::Default, device));
    let at = Positions::from(7);
    let bias = alibi.bias((&at, 64), (&at, 64));
    let causal = AttentionModuleOptions {
        is_causal: true,
        ..Default::default()
    };
    let expected =
        burn::tensor::module::attention(q.clone(), k.clone(), v.clone(), None, Some(bias), causal);
    let (q, k) = alibi.augment((q, &at), (k, &at)).unwrap();
    device.sync().unwrap();
    let mut found = None;
    let (seen, _) = launches(device, || {
        let [q, k, v] = [q, k, v].map(Tensor::into_dispatch);
        found = Some(Tensor::<4>::from_dispatch(Dispatch::flash(q, k, v)));
    });
    assert_eq!(seen.len(), 1, "{seen:?}");
    let apart = (found.unwrap() - expected).abs().max().into_scalar::<f32>();
    assert!(apart < 1e-5, "{apart}");
}

/// Token embeddings with their positions and dropout, by operations that Burn fuses: the lookup, the sum, and with dropout the
/// random numbers, after which sum and dropout are one.
fn embedded(device: &Device) {
    let tokens = Tensor::<2, Int>::from_ints([[1, 2, 3, 4], [5, 6, 7, 0]], device);
    let at = Positions::from(3);
    for (dropout, expected) in [(0.0, 2), (0.1, 3)] {
        let autodiff = device.clone().autodiff();
        let device = if dropout > 0.0 { &autodiff } else { device };
        let tokens = Tensor::from_data(tokens.to_data(), device);
        let table = EmbeddingConfig::new(8, 64).init(device);
        let sinusoidal = SinusoidalPositionalEncodingConfig::new(64).with_dropout(dropout);
        let learned = LearnedPositionalEmbeddingConfig::new(64, 16).with_dropout(dropout);
        let (sinusoidal, learned) = (sinusoidal.init(device), learned.init(device));
        let schemes: [&dyn Fn(Tensor<3>) -> Tensor<3>; 2] =
            [&|x| sinusoidal.embed(x, &at), &|x| learned.embed(x, &at)];
        for scheme in schemes {
            let embed = || scheme(table.forward(tokens.clone()));
            drop(embed());
            device.sync().unwrap();
            let (seen, _) = launches(device, embed);
            assert!(
                seen.len() <= expected,
                "{device:?}, dropout {dropout}: {seen:?}"
            );
        }
    }
}

/// One test at a time: the observer sees the launches of all threads.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn on_cards(test: impl Fn(&Device)) {
    let _alone = ONE_AT_A_TIME.lock();
    let mut cards = pe_tests::devices();
    cards.retain(pe_tests::is_card);
    assert!(
        !cards.is_empty(),
        "no device in this build is a graphics card"
    );
    cards.iter().for_each(test);
}

#[test]
fn queries_and_keys_are_rotated_in_one_launch() {
    on_cards(rotation);
}

#[test]
fn rows_with_own_starts_are_rotated_in_one_launch() {
    on_cards(rows_by_id);
}

#[test]
fn a_rotation_moves_little_but_queries_and_keys() {
    on_cards(bytes_of_a_rotation);
}

#[test]
fn a_training_step_takes_a_fifth_of_the_launches_of_burns_modules() {
    on_cards(training);
}

#[test]
fn a_token_is_decoded() {
    on_cards(decoding);
}

#[test]
fn flash_attention_takes_alibi_in_one_launch() {
    on_cards(flash);
}

#[test]
fn a_bias_is_spread_in_one_launch() {
    on_cards(bias);
}

#[test]
fn embeddings_positions_and_dropout() {
    on_cards(embedded);
}
