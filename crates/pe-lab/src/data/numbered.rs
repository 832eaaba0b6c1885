//! Strings that have numbers.

use std::collections::HashMap;

/// Gives each string a number, from 0 in the order of first occurrence.
#[derive(Debug, Default)]
pub(super) struct Numbered(HashMap<String, u32>);

impl Numbered {
    /// The number of a string.
    pub fn of(&mut self, name: &str) -> u32 {
        match self.0.get(name) {
            Some(number) => *number,
            None => {
                let number = self.0.len() as u32;
                self.0.insert(name.to_string(), number);
                number
            }
        }
    }

    /// How many different strings there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The strings, in the order of their numbers.
    pub fn names(self) -> Vec<String> {
        let mut names: Vec<(u32, String)> = self
            .0
            .into_iter()
            .map(|(name, number)| (number, name))
            .collect();
        names.sort_unstable();
        names.into_iter().map(|(_, name)| name).collect()
    }
}
