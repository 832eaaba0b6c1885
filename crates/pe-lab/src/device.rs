//! From a name to a Burn device. The one place that knows the backends.

use burn::tensor::{Device, DeviceType};

use crate::error::LabError;

/// Where a device computes, which decides how many trials run side by side by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// On the processor: trials share its cores.
    Cpu,
    /// On an accelerator: one trial at a time has it.
    Gpu,
}

/// A device that can be asked for by name.
#[derive(Clone, Copy, Debug)]
pub struct DeviceName {
    /// The name on the command line.
    pub name: &'static str,
    /// The cargo feature that brings it into the program.
    pub feature: &'static str,
    /// Where it computes.
    pub kind: Kind,
    /// One line about it.
    pub about: &'static str,
}

const fn entry(
    name: &'static str,
    feature: &'static str,
    kind: Kind,
    about: &'static str,
) -> DeviceName {
    DeviceName {
        name,
        feature,
        kind,
        about,
    }
}

/// Every name there is, whether in this build or not.
pub const DEVICES: &[DeviceName] = &[
    entry(
        "flex",
        "flex",
        Kind::Cpu,
        "processor, pure Rust (the default)",
    ),
    entry(
        "ndarray",
        "ndarray",
        Kind::Cpu,
        "processor, the older pure-Rust backend",
    ),
    entry("tch", "tch", Kind::Cpu, "processor, LibTorch"),
    entry("tch-cuda", "tch", Kind::Gpu, "NVIDIA card, LibTorch"),
    entry(
        "wgpu",
        "wgpu",
        Kind::Gpu,
        "any graphics card (or software Vulkan), the interface found at run time",
    ),
    entry(
        "vulkan",
        "vulkan",
        Kind::Gpu,
        "any graphics card (or software Vulkan), Vulkan",
    ),
    entry("metal", "metal", Kind::Gpu, "Apple graphics, Metal"),
    entry("webgpu", "webgpu", Kind::Gpu, "any graphics card, WebGPU"),
    entry("cuda", "cuda", Kind::Gpu, "NVIDIA card, CUDA"),
    entry("rocm", "rocm", Kind::Gpu, "AMD card, ROCm"),
];

/// What is known about a device name.
///
/// # Errors
///
/// [`LabError::UnknownDevice`] with the list of names.
pub fn lookup(name: &str) -> Result<DeviceName, LabError> {
    DEVICES
        .iter()
        .find(|device| device.name == name)
        .copied()
        .ok_or_else(|| LabError::UnknownDevice {
            name: name.to_string(),
            known: DEVICES
                .iter()
                .map(|device| device.name.to_string())
                .collect(),
        })
}

/// The Burn device of this name, without autodiff.
///
/// # Errors
///
/// [`LabError::UnknownDevice`] for a name that does not exist, [`LabError::DeviceNotBuilt`], with
/// the command that builds it in, for one that this program was compiled without, and
/// [`LabError::NoDevice`] for one that this machine has not.
#[allow(deprecated)] // Burn discourages ndarray and LibTorch; this project still offers both.
pub fn open(name: &str) -> Result<Device, LabError> {
    let known = lookup(name)?;
    match known.name {
        #[cfg(feature = "flex")]
        "flex" => found(known, DeviceType::Flex, Device::flex()),
        #[cfg(feature = "ndarray")]
        "ndarray" => found(known, DeviceType::NdArray, Device::ndarray()),
        // Burn lists LibTorch's cards alone; the processor is always there.
        #[cfg(feature = "tch")]
        "tch" => {
            keep_freed_memory();
            Ok(Device::libtorch())
        }
        #[cfg(feature = "tch")]
        "tch-cuda" => found(
            known,
            DeviceType::LibTorch,
            Device::libtorch_cuda(burn::tensor::DeviceIndex::Default),
        ),
        #[cfg(feature = "wgpu")]
        "wgpu" => found(
            known,
            DeviceType::Wgpu,
            Device::wgpu(burn::tensor::DeviceKind::DefaultDevice),
        ),
        #[cfg(feature = "vulkan")]
        "vulkan" => found(
            known,
            DeviceType::Vulkan,
            Device::vulkan(burn::tensor::DeviceKind::DefaultDevice),
        ),
        #[cfg(feature = "metal")]
        "metal" => found(
            known,
            DeviceType::Metal,
            Device::metal(burn::tensor::DeviceKind::DefaultDevice),
        ),
        #[cfg(feature = "webgpu")]
        "webgpu" => found(
            known,
            DeviceType::WebGpu,
            Device::webgpu(burn::tensor::DeviceKind::DefaultDevice),
        ),
        #[cfg(feature = "cuda")]
        "cuda" => found(
            known,
            DeviceType::Cuda,
            Device::cuda(burn::tensor::DeviceIndex::Default),
        ),
        #[cfg(feature = "rocm")]
        "rocm" => found(
            known,
            DeviceType::Rocm,
            Device::rocm(burn::tensor::DeviceIndex::Default),
        ),
        _ => Err(LabError::DeviceNotBuilt {
            name: known.name.to_string(),
            feature: known.feature.to_string(),
        }),
    }
}

/// Makes glibc keep the memory that tensors free. LibTorch takes its memory from there, and handing
/// it back to the system after every operation costs a step of training 5 to 10 % in fresh pages.
#[cfg(feature = "tch")]
fn keep_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    for (parameter, value) in [(libc::M_MMAP_MAX, 0), (libc::M_TRIM_THRESHOLD, -1)] {
        // SAFETY: it sets a number of the allocator, under its own lock. Where it refuses, which it
        // says by a 0, the memory goes back as before.
        unsafe { libc::mallopt(parameter, value) };
    }
}

/// The device, where the machine has one of its type: Burn itself asks at the first tensor only,
/// and panics.
fn found(known: DeviceName, on_machine: DeviceType, device: Device) -> Result<Device, LabError> {
    if Device::enumerate(on_machine).into_vec().is_empty() {
        return Err(LabError::NoDevice {
            name: known.name.to_string(),
            about: known.about.to_string(),
        });
    }
    Ok(device)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_lists_the_names() {
        let message = open("gpu").unwrap_err().to_string();
        assert!(message.contains("there is no device `gpu`"), "{message}");
        assert!(
            message.contains("flex, ndarray, tch, tch-cuda, wgpu"),
            "{message}"
        );
    }

    #[test]
    fn every_known_name_opens_or_says_how_to_build_it() {
        for device in DEVICES.iter().filter(|device| device.kind == Kind::Cpu) {
            match open(device.name) {
                Ok(opened) => assert!(!opened.is_autodiff(), "{}", device.name),
                Err(error) => assert_eq!(
                    error.to_string(),
                    format!(
                        "`{0}` is not in this build: cargo run --release --features {1} -- compare \
                         --device {0}",
                        device.name, device.feature
                    )
                ),
            }
        }
    }

    #[cfg(not(feature = "wgpu"))]
    #[test]
    fn a_device_left_out_names_its_own_command() {
        let error = open("wgpu").unwrap_err();
        assert_eq!(
            error.to_string(),
            "`wgpu` is not in this build: cargo run --release --features wgpu -- compare --device wgpu"
        );
        assert_eq!(error.exit_code(), 2);
    }
}
