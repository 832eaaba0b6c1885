//! Dropping into Burn's own transformer, unchanged.

use burn::module::Module;
use burn::nn::transformer::{
    TransformerEncoder, TransformerEncoderConfig, TransformerEncoderInput,
};
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::Tensor;
use pe_burn::{PositionalConfig, PositionalScheme, Positions};
use pe_tests::devices;

use crate::{distance, embeddings, values};

#[derive(Module, Debug)]
struct Model {
    positions: PositionalScheme,
    encoder: TransformerEncoder,
}

impl Model {
    fn new(scheme: &str, device: &burn::tensor::Device) -> Self {
        let encoder = TransformerEncoderConfig::new(16, 32, 2, 1).with_dropout(0.0);
        Self {
            positions: PositionalConfig::by_name(scheme, 16, 4, 32)
                .unwrap()
                .init(device),
            encoder: encoder.init(device),
        }
    }

    fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        let x = self.positions.embed(x, &Positions::default());
        self.encoder.forward(TransformerEncoderInput::new(x))
    }
}

/// Without positions an encoder cannot tell an order; with them it can.
#[test]
fn order_is_seen_only_with_positions() {
    for device in devices() {
        for scheme in PositionalConfig::NAMES {
            let model = Model::new(scheme, &device);
            let x = embeddings(2, 6, 16, &device);
            let forwards = model.forward(x.clone());
            let backwards = model.forward(x.flip([1])).flip([1]);
            let change = distance(forwards, backwards);
            match *scheme {
                "none" => assert!(change < 1e-4, "{device:?}: {change}"),
                _ => assert!(change > 1e-3, "{device:?} {scheme}: {change}"),
            }
        }
    }
}

/// A model trains, on every device in the build, and its record loads into another.
#[test]
fn trains_and_reloads() {
    for device in devices() {
        let device = device.autodiff();
        for scheme in PositionalConfig::NAMES {
            let mut model = Model::new(scheme, &device);
            let (x, y) = (embeddings(4, 6, 16, &device), embeddings(4, 6, 16, &device));
            let mut optimizer = AdamConfig::new().init();
            let mut losses = vec![];
            for _ in 0..30 {
                let loss = (model.forward(x.clone()) - y.clone()).powi_scalar(2).mean();
                losses.push(values(loss.clone())[0]);
                let gradients = GradientsParams::from_grads(loss.backward(), &model);
                model = optimizer.step(1e-2, model, gradients);
            }
            assert!(
                losses[29] < 0.7 * losses[0],
                "{device:?} {scheme}: {losses:?}"
            );
            let trained = model.forward(x.clone());
            let reloaded = Model::new(scheme, &device).load_record(model.into_record());
            assert_eq!(distance(reloaded.forward(x), trained), 0.0);
        }
    }
}
