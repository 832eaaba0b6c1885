//! How much memory Linux lets a process use: what is free on the machine, and what the cgroups of the process allow. A
//! container with a memory limit is a cgroup.

use std::fs::read_to_string;
use std::path::Path;
use std::prelude::rust_2024::*;

/// The number of bytes that the process may still use; `None` where no file says. `root` is the folder with `proc` and
/// `sys`.
pub(super) fn room(root: &Path) -> Option<usize> {
    let groups = read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let of_groups = groups.lines().filter_map(|line| of_group(root, line));
    of_groups.chain(of_machine(root)).min()
}

/// The memory that is available on the machine, and its free swap space.
fn of_machine(root: &Path) -> Option<usize> {
    let all = read_to_string(root.join("proc/meminfo")).ok()?;
    let kilobytes = |name| number_after(&all, name);
    Some((kilobytes("MemAvailable:")? + kilobytes("SwapFree:").unwrap_or(0)) << 10)
}

/// The memory that is left to a cgroup and to those around it, from its line in `/proc/self/cgroup`: `0::/path`, or
/// `4:memory:/path` in cgroups v1. Inside a container the files of its cgroup are at the top of the folder.
fn of_group(root: &Path, line: &str) -> Option<usize> {
    let (kind, path) = line.split_once(':')?.1.split_once(':')?;
    let (top, limit, used, cached) = match kind {
        "" => (
            "sys/fs/cgroup",
            "memory.max",
            "memory.current",
            ["inactive_file", "active_file"],
        ),
        "memory" => (
            "sys/fs/cgroup/memory",
            "memory.limit_in_bytes",
            "memory.usage_in_bytes",
            ["total_inactive_file", "total_active_file"],
        ),
        _ => return None,
    };
    let group = Path::new(path.trim_start_matches('/'));
    let left = group.ancestors().filter_map(|group| {
        let read = |file: &str| read_to_string(root.join(top).join(group).join(file)).ok();
        let number = |file: &str| read(file)?.trim().parse::<usize>().ok();
        // Without a limit this is the word `max`.
        let limit = number(limit)?;
        // The system frees its cache of files before it ends a process for lack of memory.
        let of_files = read("memory.stat").unwrap_or_default();
        let of_files = cached
            .iter()
            .filter_map(|name| number_after(&of_files, name));
        let used = number(used)?.saturating_sub(of_files.sum());
        Some(limit.saturating_sub(used))
    });
    left.min()
}

/// The number behind a name at the start of a line.
fn number_after(lines: &str, name: &str) -> Option<usize> {
    let mut found = lines.lines().map(str::split_whitespace);
    found.find_map(|mut words| (words.next()? == name).then(|| words.next()?.parse().ok())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::fs::{create_dir_all, write};

    /// A temporary folder with these files, removed on drop.
    struct Root(std::path::PathBuf);

    impl Root {
        fn new(name: &str, files: &[(&str, &str)]) -> Self {
            let process = std::process::id();
            let root = std::env::temp_dir().join(format!("pe-burn-{name}-{process}"));
            for (file, text) in files {
                let file = root.join(file);
                create_dir_all(file.parent().unwrap()).unwrap();
                write(file, text).unwrap();
            }
            Self(root)
        }
    }

    impl Drop for Root {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    const MEMORY: (&str, &str) = (
        "proc/meminfo",
        "MemTotal:  9000 kB\nMemFree:  10 kB\nMemAvailable:    4000 kB\nSwapFree: 96 kB\n",
    );

    #[test]
    fn the_least_of_the_machine_and_of_all_groups_counts() {
        let machine = Root::new("machine", &[MEMORY]);
        assert_eq!(room(&machine.0), Some(4096 << 10));

        // The inner group has no limit, the one around it has: 1 MB, of which 300 kB are used and 200 kB are files.
        let own = ("proc/self/cgroup", "0::/outer/inner\n");
        let groups = [
            MEMORY,
            own,
            ("sys/fs/cgroup/outer/inner/memory.max", "max\n"),
            ("sys/fs/cgroup/outer/inner/memory.current", "5\n"),
            ("sys/fs/cgroup/outer/memory.max", "1000000\n"),
            ("sys/fs/cgroup/outer/memory.current", "300000\n"),
            (
                "sys/fs/cgroup/outer/memory.stat",
                "anon 100000\ninactive_file 150000\nactive_file 50000\n",
            ),
        ];
        assert_eq!(room(&Root::new("second", &groups).0), Some(900_000));

        // In a container, where the path of the cgroup does not exist; and with more memory in use than the limit.
        let container = [
            MEMORY,
            ("proc/self/cgroup", "5:cpu:/a\n4:memory:/docker/17\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "70000\n"),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "80000\n"),
        ];
        assert_eq!(room(&Root::new("first", &container).0), Some(0));
    }

    #[test]
    fn where_nothing_is_said_nothing_is_known() {
        assert_eq!(room(Path::new("/nonexistent")), None);
    }
}
