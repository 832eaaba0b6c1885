//! The devices that the tests run on: one of every backend that was compiled in.
#![recursion_limit = "256"]

use burn::tensor::Device;

/// Names some of the devices in the build, separated by commas: the tests then run on these alone.
pub const ONLY: &str = "PE_TEST_DEVICES";

/// One device of every backend in this build, or of those that [`ONLY`] names; `flex`, which the
/// others are held against, is always the first.
pub fn devices() -> Vec<Device> {
    let built = built();
    let Ok(only) = std::env::var(ONLY) else {
        return built.into_iter().map(|(_, device)| device).collect();
    };
    let only: Vec<&str> = only.split(',').collect();
    let names: Vec<&str> = built.iter().map(|(name, _)| *name).collect();
    if let Some(stray) = only.iter().find(|name| !names.contains(name)) {
        panic!(
            "{ONLY} names `{stray}`; this build has {}",
            names.join(", ")
        );
    }
    built
        .into_iter()
        .filter(|(name, _)| *name == "flex" || only.contains(name))
        .map(|(_, device)| device)
        .collect()
}

/// Whether a graphics card, or a driver in place of one, computes there, by kernels that Burn fuses: the same operations among
/// others may be rounded otherwise.
pub fn is_card(device: &Device) -> bool {
    device.memory_pool_usage().is_some()
}

#[allow(deprecated)] // Burn marks ndarray and libtorch as leaving; this project runs on them.
fn built() -> Vec<(&'static str, Device)> {
    vec![
        ("flex", Device::flex()),
        #[cfg(feature = "ndarray")]
        ("ndarray", Device::ndarray()),
        #[cfg(feature = "tch")]
        ("tch", Device::libtorch()),
        #[cfg(feature = "wgpu")]
        (
            "wgpu",
            Device::wgpu(burn::tensor::DeviceKind::DefaultDevice),
        ),
        #[cfg(feature = "vulkan")]
        (
            "vulkan",
            Device::vulkan(burn::tensor::DeviceKind::DefaultDevice),
        ),
        #[cfg(feature = "cuda")]
        ("cuda", Device::cuda(0)),
    ]
}

/// The code in the README and in these pages compiles and runs.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../README.md")]
    struct Readme;

    #[doc = include_str!("../docs/guide.md")]
    struct Guide;

    #[doc = include_str!("../docs/adopting.md")]
    struct Adopting;

    #[doc = include_str!("../docs/own.md")]
    struct Own;
}
