//! What the tests of this folder share.

use burn::tensor::Device;

use super::model::Model;
use crate::ask::{ModelSpec, Scheme};
use crate::task::{About, Alphabet, NextToken, Stream, Task};

/// A text of seven tokens, with training windows of 16.
pub fn text() -> NextToken {
    let tokens = (0..6_000_u32).map(|i| i * i % 23 % 7).collect();
    let about = About {
        name: "mine".into(),
        about: String::new(),
        source: String::new(),
        token: "token".into(),
        alphabet: Alphabet::Ids,
    };
    let task = NextToken::new(about, Stream::Memory(tokens), 7, 16);
    task.unwrap().unwrap()
}

/// The reference model of a task with a scheme, as it is at seed 1.
pub fn model(task: &dyn Task, scheme: &str) -> Model {
    let sizes = ModelSpec::default();
    let scheme = Scheme::by_name(scheme, &sizes, task.max_tokens()).unwrap();
    Model::init(&sizes, task, &scheme, 1, &Device::flex()).unwrap()
}
