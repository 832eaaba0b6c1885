//! From a name to a Burn device. No other file knows the backends by name.

use burn::tensor::{Device, DeviceType};

use crate::error::LabError;

/// Where a device computes. This decides how many trials run at the same time by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// On the processor. Trials share its cores.
    Cpu,
    /// On a graphics card. It runs one trial at a time.
    Gpu,
}

/// A device that can be asked for by name.
#[derive(Clone, Copy, Debug)]
pub struct DeviceName {
    /// The name on the command line.
    pub name: &'static str,
    /// The cargo feature that builds it in; `None` if it is always there.
    pub feature: Option<&'static str>,
    /// Where it computes.
    pub kind: Kind,
    /// One line about it.
    pub about: &'static str,
}

const fn entry(
    name: &'static str,
    feature: Option<&'static str>,
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

/// Every device, also those that are not in this build.
pub const DEVICES: &[DeviceName] = &[
    entry(
        "flex",
        None,
        Kind::Cpu,
        "processor, pure Rust (the default)",
    ),
    entry(
        "ndarray",
        Some("ndarray"),
        Kind::Cpu,
        "processor, the older pure-Rust backend",
    ),
    entry("tch", Some("tch"), Kind::Cpu, "processor, LibTorch"),
    entry("tch-cuda", Some("tch"), Kind::Gpu, "NVIDIA card, LibTorch"),
    entry(
        "wgpu",
        Some("wgpu"),
        Kind::Gpu,
        "any graphics card (or software Vulkan), the interface found at run time",
    ),
    entry(
        "vulkan",
        Some("vulkan"),
        Kind::Gpu,
        "any graphics card (or software Vulkan), Vulkan",
    ),
    entry("metal", Some("metal"), Kind::Gpu, "Apple graphics, Metal"),
    entry(
        "webgpu",
        Some("webgpu"),
        Kind::Gpu,
        "any graphics card, WebGPU",
    ),
    entry("cuda", Some("cuda"), Kind::Gpu, "NVIDIA card, CUDA"),
    entry("rocm", Some("rocm"), Kind::Gpu, "AMD card, ROCm"),
];

/// The device with this name, which may end in `:CARD`, as in [`open`].
///
/// # Errors
///
/// [`LabError::Unknown`] with the list of the names that exist, and [`LabError::Usage`] for a `:CARD` after the name of a
/// processor.
pub fn lookup(name: &str) -> Result<DeviceName, LabError> {
    let (backend, card) = parts(name);
    let known = DEVICES.iter().find(|device| device.name == backend);
    let names = DEVICES.iter().map(|device| device.name);
    let known = known.ok_or_else(|| LabError::unknown("device", backend, names))?;
    if let (Some(card), Kind::Cpu) = (card, known.kind) {
        return Err(LabError::Usage(format!(
            "`{backend}` is a processor and has no card `{card}` to choose"
        )));
    }
    Ok(*known)
}

/// Splits a name at its colon into the backend and the card, if there is one.
fn parts(name: &str) -> (&str, Option<&str>) {
    match name.split_once(':') {
        Some((backend, card)) => (backend, Some(card)),
        None => (name, None),
    }
}

/// The Burn device of this name, without autodiff. Where there are several cards, `BACKEND:CARD` chooses one,
/// by a part of its name or by its number among them, from 0 on.
///
/// # Errors
///
/// [`LabError::Unknown`] for a name that does not exist, [`LabError::DeviceNotBuilt`], with the command that builds it in,
/// for one that is not in this build, [`LabError::NoDevice`] for one that this machine does not have, and
/// [`LabError::Usage`], with the list of the cards, when none or several of them match `CARD`.
#[allow(deprecated)] // Burn has deprecated ndarray and LibTorch; this project still offers both.
pub fn open(name: &str) -> Result<Device, LabError> {
    let known = lookup(name)?;
    match known.name {
        "flex" => found(known, DeviceType::Flex, Device::flex()),
        #[cfg(feature = "ndarray")]
        "ndarray" => found(known, DeviceType::NdArray, Device::ndarray()),
        // Burn lists only the graphics cards of LibTorch; the processor is always there.
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
        #[cfg(feature = "cube")]
        _ => open_card(known, parts(name).1),
        #[cfg(not(feature = "cube"))]
        _ => Err(not_built(known)),
    }
}

/// The graphics card of a backend of CubeCL.
#[cfg(feature = "cube")]
fn open_card(known: DeviceName, wanted: Option<&str>) -> Result<Device, LabError> {
    let usual = |of: DeviceType, device: Device| card(known, wanted, of, device);
    match known.name {
        #[cfg(feature = "wgpu")]
        "wgpu" => usual(DeviceType::Wgpu, Device::wgpu(Default::default())),
        #[cfg(feature = "vulkan")]
        "vulkan" => usual(DeviceType::Vulkan, Device::vulkan(Default::default())),
        #[cfg(feature = "metal")]
        "metal" => usual(DeviceType::Metal, Device::metal(Default::default())),
        #[cfg(feature = "webgpu")]
        "webgpu" => usual(DeviceType::WebGpu, Device::webgpu(Default::default())),
        #[cfg(feature = "cuda")]
        "cuda" => usual(
            DeviceType::Cuda,
            Device::cuda(burn::tensor::DeviceIndex::Default),
        ),
        #[cfg(feature = "rocm")]
        "rocm" => usual(
            DeviceType::Rocm,
            Device::rocm(burn::tensor::DeviceIndex::Default),
        ),
        _ => Err(not_built(known)),
    }
}

fn not_built(known: DeviceName) -> LabError {
    LabError::DeviceNotBuilt {
        name: known.name.to_string(),
        feature: known.feature.unwrap_or_default().to_string(),
    }
}

/// Makes glibc keep the memory of freed tensors. LibTorch gets its memory from glibc. If it is returned to the system after
/// every operation, a training step takes 5 to 10 % longer, since fresh pages have to be mapped each time.
#[cfg(feature = "tch")]
fn keep_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    for (parameter, value) in [(libc::M_MMAP_MAX, 0), (libc::M_TRIM_THRESHOLD, -1)] {
        // SAFETY: `mallopt` sets a number of the allocator, under the allocator's own lock. It returns 0
        // if it refuses, and then memory is returned to the system as before.
        unsafe { libc::mallopt(parameter, value) };
    }
}

/// The device, if the machine has one of its type. Burn itself finds out only at the first tensor, and
/// panics.
fn found(known: DeviceName, on_machine: DeviceType, device: Device) -> Result<Device, LabError> {
    if Device::enumerate(on_machine).into_vec().is_empty() {
        return Err(LabError::NoDevice {
            name: known.name.to_string(),
            about: known.about.to_string(),
        });
    }
    Ok(device)
}

/// The card that `wanted` names, or the default one if it is `None`.
#[cfg(feature = "cube")]
fn card(
    known: DeviceName,
    wanted: Option<&str>,
    on_machine: DeviceType,
    device: Device,
) -> Result<Device, LabError> {
    let Some(wanted) = wanted else {
        return found(known, on_machine, device);
    };
    let all = Device::enumerate(on_machine.clone()).into_vec();
    found(known, on_machine, device)?;
    let names: Vec<String> = all
        .iter()
        .map(|device| name_of(device).unwrap_or_default())
        .collect();
    let is_wanted = |(number, name): (usize, &String)| match wanted.parse::<usize>() {
        Ok(wanted) => number == wanted,
        Err(_) => name.to_lowercase().contains(&wanted.to_lowercase()),
    };
    let matches: Vec<usize> = (0..all.len())
        .filter(|number| is_wanted((*number, &names[*number])))
        .collect();
    match matches[..] {
        [number] => Ok(all[number].clone()),
        _ => {
            let list = names.iter().enumerate();
            let list: Vec<String> = list
                .map(|(number, name)| format!("{number}: {name}"))
                .collect();
            let found = if matches.is_empty() {
                "no card"
            } else {
                "several cards"
            };
            Err(LabError::Usage(format!(
                "{found} of `{}` with `{wanted}`; there are {}",
                known.name,
                list.join(", ")
            )))
        }
    }
}

/// The name of the graphics card of an open device; `None` for a processor.
pub fn name_of(device: &Device) -> Option<String> {
    #[cfg(feature = "cube")]
    let name = device.identity().map(|card| card.name);
    #[cfg(not(feature = "cube"))]
    let name = {
        let _ = device;
        None
    };
    name
}

/// A graphics card in words: its name, and how much memory it has where a Vulkan driver says so. `None` for a processor.
pub fn card_of(device: &Device) -> Option<String> {
    let name = name_of(device)?;
    #[cfg(any(feature = "wgpu", feature = "vulkan"))]
    let memory = crate::memory::of_card(&name);
    #[cfg(not(any(feature = "wgpu", feature = "vulkan")))]
    let memory: Option<u64> = None;
    Some(match memory {
        Some(bytes) => format!(
            "{name}, {:.1} GiB of memory",
            bytes as f64 / f64::from(1 << 30)
        ),
        None => name,
    })
}

/// The device with the name of its graphics card, if it has one.
///
/// # Errors
///
/// Those of [`open`].
pub fn describe(name: &str) -> Result<String, LabError> {
    let autotune = if AUTOTUNE {
        ", kernels picked by their measured time"
    } else {
        ""
    };
    Ok(match card_of(&open(name)?) {
        Some(card) => format!("{name} ({card}{autotune})"),
        None => name.to_string(),
    })
}

/// Whether Burn picks kernels by their measured time.
pub const AUTOTUNE: bool = cfg!(feature = "autotune");

#[cfg(test)]
mod tests {
    use super::*;

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
                        device.name,
                        device.feature.unwrap()
                    )
                ),
            }
        }
    }

    #[test]
    fn a_processor_has_no_cards() {
        let error = open("flex:0").unwrap_err().to_string();
        assert!(error.contains("`flex` is a processor"), "{error}");
        assert_eq!(name_of(&open("flex").unwrap()), None);
    }

    #[cfg(feature = "wgpu")]
    #[test]
    fn cards_are_chosen_by_name_and_by_number() {
        let name = name_of(&open("wgpu").unwrap()).unwrap();
        let by_number = open("wgpu:0").unwrap();
        let part = name.split_whitespace().next().unwrap().to_uppercase();
        for device in [open(&format!("wgpu:{part}")).unwrap(), by_number] {
            assert_eq!(name_of(&device).unwrap(), name);
        }
        let error = open("wgpu:no such card").unwrap_err();
        assert_eq!(error.exit_code(), 2);
        let error = error.to_string();
        assert!(
            error.contains("no card of `wgpu`") && error.contains(&name),
            "{error}"
        );
        assert!(open("wgpu:99").is_err());
    }
}
