//! What a graphics card is asked to do in a forward pass: one kernel, and no copy of the table.
//! A process of its own: the memory in use belongs to the device, and is counted.
#![recursion_limit = "256"]

use burn::tensor::{DType, Device, Distribution, Tensor};
use burn_fusion::inspect::matchers::{is_add_float, is_mul_scalar_float};
use burn_fusion::inspect::{FusionBlock, FusionInspector};
use burn_fusion::stream::StreamId;
use burn_ir::{BaseOperationIr, OperationIr};
use pe_burn::embedding::InputScale;
use pe_burn::{
    Embed, LearnedPositionalEmbeddingConfig, Positions, SinusoidalPositionalEncodingConfig,
};

const SEQ: usize = 32;

/// The devices whose operations Burn fuses into kernels.
fn cards() -> Vec<Device> {
    let mut devices = pe_tests::devices();
    devices.retain(pe_tests::is_card);
    devices
}

fn in_use(device: &Device) -> i64 {
    device.sync().unwrap();
    device.memory_pool_usage().unwrap().bytes_in_use as i64
}

/// Runs `forward` on an input that is not shared: the blocks of operations that were executed, and
/// by how many bytes the memory in use has grown.
fn executed(device: &Device, forward: impl Fn(Tensor<3>) -> Tensor<3>) -> (Vec<FusionBlock>, i64) {
    let x = Tensor::<3>::random([4, SEQ, 64], Distribution::Default, device);
    let before = in_use(device);
    let inspector = FusionInspector::install(StreamId::current());
    let _y = forward(x);
    let grown = in_use(device) - before;
    let reports = inspector.drain().into_iter();
    (reports.flat_map(|report| report.blocks).collect(), grown)
}

/// Fails unless one kernel multiplies and adds, in the memory of the input, and the rest is views.
fn assert_one_kernel(device: &Device, forward: impl Fn(Tensor<3>) -> Tensor<3>) {
    // The first call writes what a kernel needs to know of its shapes, which is kept.
    executed(device, &forward);
    let (blocks, grown) = executed(device, &forward);
    assert_eq!(grown, 0, "{device:?}");
    let (kernels, others): (Vec<_>, Vec<_>) = blocks
        .into_iter()
        .partition(|block| block.fuser_name().is_some());
    let expected = [is_mul_scalar_float(DType::F32), is_add_float(DType::F32)];
    assert!(
        matches!(&kernels[..], [kernel] if kernel.ops_match(&expected)),
        "{device:?}: {kernels:#?}"
    );
    for operation in others.iter().flat_map(|block| &block.operations) {
        assert!(
            matches!(
                operation,
                OperationIr::BaseFloat(BaseOperationIr::Slice(_) | BaseOperationIr::Reshape(_))
            ),
            "{device:?}: {operation:#?}"
        );
    }
}

/// By how many bytes the memory in use grows while the rows are held.
fn held(device: &Device, rows: impl Fn() -> Tensor<3>) -> i64 {
    drop(rows());
    let before = in_use(device);
    let _rows = rows();
    in_use(device) - before
}

/// `x · scale + table`: a view of the rows, and one kernel that leaves the sum in the memory of `x`.
#[test]
fn one_kernel_and_no_copy_of_the_table() {
    let cards = cards();
    assert!(!cards.is_empty(), "no device in this build fuses");
    for device in cards {
        let scale = InputScale::SqrtDModel;
        let sinusoidal = SinusoidalPositionalEncodingConfig::new(64)
            .with_max_len(64)
            .with_input_scale(scale)
            .init(&device);
        let learned = LearnedPositionalEmbeddingConfig::new(64, 64)
            .with_input_scale(scale)
            .init(&device);
        for start in [0, 5, 32] {
            let positions = Positions::from(start);
            assert_one_kernel(&device, |x| sinusoidal.embed(x, &positions));
            assert_one_kernel(&device, |x| learned.embed(x, &positions));
            assert_eq!(
                held(&device, || sinusoidal.encode(&positions, SEQ).unwrap()),
                0
            );
            assert_eq!(
                held(&device, || learned.encode(&positions, SEQ).unwrap()),
                0
            );
        }
        // A view has to begin where the device can address one: rows of 40 bytes seldom do, and
        // those asked for, not the table, are copied.
        let narrow = SinusoidalPositionalEncodingConfig::new(10)
            .with_max_len(4_096)
            .init(&device);
        let copied = held(&device, || narrow.encode(&Positions::from(5), SEQ).unwrap());
        assert_eq!(copied, (SEQ * 10 * size_of::<f32>()) as i64, "{device:?}");
    }
}
