//! How much memory a graphics card has. Burn does not say; a Vulkan driver does.

use ash::vk;

/// The memory of the card with this name in bytes, as its Vulkan driver reports it: the sum of all heaps that are on the
/// card. `None` where there is no such driver, or it knows no card of that name.
#[allow(unsafe_code)]
pub(crate) fn of_card(name: &str) -> Option<u64> {
    // SAFETY: the loader of the system is loaded as every program with Vulkan loads it, the instance and what it lists are
    // used while both live, and the instance is destroyed once.
    unsafe {
        let vulkan = ash::Entry::load().ok()?;
        let about = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_0);
        let asked = vk::InstanceCreateInfo::default().application_info(&about);
        let instance = vulkan.create_instance(&asked, None).ok()?;
        let cards = instance.enumerate_physical_devices().unwrap_or_default();
        let card = cards.into_iter().find(|card| {
            let properties = instance.get_physical_device_properties(*card);
            let own = properties.device_name_as_c_str();
            own.is_ok_and(|own| own.to_string_lossy() == name)
        });
        let bytes = card.map(|card| {
            let memory = instance.get_physical_device_memory_properties(card);
            let heaps = memory.memory_heaps_as_slice().iter();
            let own = heaps.filter(|heap| heap.flags.contains(vk::MemoryHeapFlags::DEVICE_LOCAL));
            own.map(|heap| heap.size).sum()
        });
        instance.destroy_instance(None);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{card_of, open};

    /// Software Vulkan has the memory of the machine. Where there is no driver, no card is opened.
    #[test]
    fn a_card_has_the_memory_that_its_driver_says() {
        assert_eq!(of_card("no such card"), None);
        let Ok(device) = open("vulkan") else {
            return;
        };
        let said = card_of(&device).unwrap();
        let (name, memory) = said.rsplit_once(", ").unwrap();
        let memory: f64 = memory
            .strip_suffix(" GiB of memory")
            .unwrap()
            .parse()
            .unwrap();
        assert!(memory > 0.1 && !name.is_empty(), "{said}");
        println!("{said}");
    }
}
