//! The devices that the tests run on: one of every backend that was compiled in.
#![recursion_limit = "256"]

use burn::tensor::Device;

/// One device of every backend in this build; `flex` is always among them.
#[allow(deprecated)] // Burn marks ndarray and libtorch as leaving; this project runs on them.
pub fn devices() -> Vec<Device> {
    vec![
        Device::flex(),
        #[cfg(feature = "ndarray")]
        Device::ndarray(),
        #[cfg(feature = "tch")]
        Device::libtorch(),
        #[cfg(feature = "vulkan")]
        Device::vulkan(burn::tensor::DeviceKind::DefaultDevice),
        #[cfg(all(feature = "wgpu", not(feature = "vulkan")))]
        Device::wgpu(burn::tensor::DeviceKind::DefaultDevice),
        #[cfg(feature = "cuda")]
        Device::cuda(0),
    ]
}
