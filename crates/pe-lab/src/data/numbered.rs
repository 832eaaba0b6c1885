//! Strings that have numbers.

use std::collections::HashMap;

/// Gives each string a number, from 0 in the order of first occurrence.
#[derive(Debug, Default)]
pub(super) struct Numbered(HashMap<String, u32>);

impl Numbered {
    pub fn of(&mut self, name: &str) -> u32 {
        if let Some(number) = self.0.get(name) {
            return *number;
        }
        let number = self.0.len() as u32;
        self.0.insert(name.to_string(), number);
        number
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The strings, in any order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The strings, in the order of their numbers.
    pub fn names(self) -> Vec<String> {
        let mut names: Vec<(String, u32)> = self.0.into_iter().collect();
        names.sort_unstable_by_key(|(_, number)| *number);
        names.into_iter().map(|(name, _)| name).collect()
    }
}
