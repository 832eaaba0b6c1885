//! A study that stops when it is decided: when it is looked at.

/// The numbers of seeds at which a study is looked at.
const PLANNED: [usize; 4] = [3, 5, 8, 12];

/// The planned looks at a study that stops as soon as its headline is decided.
///
/// The study is judged when 3, 5, 8 and 12 seeds are done, or at those of these numbers that are below the
/// largest number of seeds and at that number. Each look has an equal share of the errors, so that the whole
/// study claims something false at most as often as a study with one look (Bonferroni's inequality).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Looks(Vec<usize>);

impl Looks {
    /// The looks at a study with at most this many seeds.
    pub fn up_to(seeds: usize) -> Self {
        let before = PLANNED.into_iter().filter(|look| *look < seeds);
        Self(before.chain([seeds]).collect())
    }

    /// The largest number of seeds if nothing else is said.
    pub fn most() -> usize {
        PLANNED[PLANNED.len() - 1]
    }

    /// The number of seeds of each look.
    pub fn seeds(&self) -> &[usize] {
        &self.0
    }

    /// The number of seeds of the last look for which `done` seeds are enough. `None` before the first.
    pub fn reached(&self, done: usize) -> Option<usize> {
        self.0.iter().copied().rfind(|look| *look <= done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_are_planned_before_the_study() {
        assert_eq!(Looks::up_to(12).seeds(), [3, 5, 8, 12]);
        assert_eq!(Looks::up_to(20).seeds(), [3, 5, 8, 12, 20]);
        assert_eq!(Looks::up_to(5).seeds(), [3, 5]);
        assert_eq!(Looks::up_to(2).seeds(), [2]);
        let looks = Looks::up_to(Looks::most());
        assert_eq!(looks.reached(2), None);
        assert_eq!(looks.reached(3), Some(3));
        assert_eq!(looks.reached(7), Some(5));
        assert_eq!(looks.reached(12), Some(12));
    }
}
