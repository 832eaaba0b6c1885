//! On a device whose default float type is f64. A process of its own: the default is set once.

use burn::module::Module;
use burn::tensor::{DType, Device, FloatDType, Tensor};
use pe_burn::{
    Gain, LearnedPositionalEmbeddingConfig, Positions, SinusoidalPositionalEncodingConfig, Spectrum,
};

#[test]
fn the_buffer_is_f64_and_serves_every_type() {
    let mut device = Device::flex();
    device.configure(FloatDType::F64).unwrap();
    for gain in [1.0, 0.3] {
        let config = SinusoidalPositionalEncodingConfig::new(7).with_gain(Gain::Fixed(gain));
        let exact: Vec<f64> = Spectrum::new(7, 1e4).rows(5..13);
        let exact: Vec<f64> = exact.iter().map(|entry| gain * entry).collect();
        // All in the buffer, none of them, some of them.
        for max_len in [20, 1, 8] {
            let pe = config.clone().with_max_len(max_len).init(&device);
            let rows = pe.encode(&Positions::from(5), 8);
            assert_eq!(rows.dtype(), DType::F64);
            assert_eq!(rows.into_data().iter::<f64>().collect::<Vec<_>>(), exact);

            let x = Tensor::<3>::zeros([2, 8, 7], (&device, DType::F32));
            let y = pe.forward_at(x, &Positions::from(5));
            assert_eq!(y.dtype(), DType::F32);
            let rounded: Vec<f32> = exact
                .iter()
                .chain(&exact)
                .map(|entry| *entry as f32)
                .collect();
            assert_eq!(y.into_data().iter::<f32>().collect::<Vec<_>>(), rounded);

            let x = Tensor::<3>::ones([1, 8, 7], &device);
            let y = pe.forward_at(x, &Positions::from(5));
            let sums: Vec<f64> = exact.iter().map(|entry| 1.0 + entry).collect();
            assert_eq!(y.into_data().iter::<f64>().collect::<Vec<_>>(), sums);
        }
    }
    let learned = LearnedPositionalEmbeddingConfig::new(7, 20).init(&device);
    assert_eq!(
        learned.forward(Tensor::zeros([1, 20, 7], &device)).dtype(),
        DType::F64
    );
    assert_eq!(learned.num_params(), 140);
}
