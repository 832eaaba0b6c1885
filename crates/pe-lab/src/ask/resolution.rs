//! What a scheme does with images of another resolution than that of the training.
//!
//! A patch keeps its size in pixels, so an image of twice the resolution has twice as many rows and columns of
//! patches. Vision transformers interpolate: the same place in the image keeps its position, so that no position
//! lies outside of those seen in training.
//!
//! | scheme | at another resolution | as in |
//! |---|---|---|
//! | tables that are added for a line of patches: `learned`, `sinusoidal`, `scaled_sinusoidal`, `tape`, `time2vec` | rows are interpolated (bicubic) like the pixels of an image | ViT (Dosovitskiy et al. 2021, §3.2), MAE |
//! | rows and columns: `sinusoidal_2d`, `rotary_2d` | coordinates are interpolated | EVA-02 (Fang et al. 2023) |
//! | all others: distances on a line of patches | extended: patches are numbered row by row, beyond the training | |
//!
//! Vision has no established practice for distances on the line of all patches, since a row of another width changes what a
//! distance means. They are extended, as they are for longer texts.

use super::scheme::Scheme;
use super::study::{StudySpec, TaskSteps};
use super::tasks::Tasks;

/// What a scheme does at another resolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtResolution {
    /// There are no positions.
    Nothing,
    /// The rows of its table are interpolated as an image.
    Rows,
    /// The coordinates of patches are interpolated.
    Coordinates,
    /// The patches are numbered row by row, beyond the training's numbers.
    Extended,
}

impl AtResolution {
    /// What a scheme does.
    pub fn of(scheme: &Scheme) -> Self {
        let encoding = &scheme.encoding;
        if scheme.needs_grid() {
            return Self::Coordinates;
        }
        match (encoding.acts_on_embeddings(), encoding.acts_in_layers()) {
            (false, false) => Self::Nothing,
            (true, false) if scheme.max_position.is_none() => Self::Rows,
            _ => Self::Extended,
        }
    }

    /// What schemes do, in words that follow their names.
    pub fn about(self) -> &'static str {
        match self {
            Self::Nothing => "have no positions",
            Self::Rows => "have their rows interpolated as an image (bicubic, as ViT does)",
            Self::Coordinates => "have interpolated coordinates: the same place keeps its position",
            Self::Extended => "number the patches on, row by row",
        }
    }

    /// What the schemes of a study do, in lines for a person. Empty where every task is tested only at the resolution of
    /// its training.
    pub fn describe(spec: &StudySpec, tasks: &Tasks) -> Vec<String> {
        let is_tested_at_others = |task: &TaskSteps| {
            let task = tasks.get(&task.name).ok();
            task.is_some_and(|task| {
                let mut lengths = task.test_lengths().into_iter();
                lengths.any(|length| task.grid_at(length) != task.grid())
            })
        };
        if !spec.tasks.iter().any(is_tested_at_others) {
            return Vec::new();
        }
        let schemes = spec.schemes.iter();
        let schemes = schemes.filter_map(|name| Scheme::by_name(name, &spec.model, 1).ok());
        Self::lines(&schemes.collect::<Vec<_>>())
    }

    /// One line for each variant that some of these schemes have, with their names.
    fn lines(schemes: &[Scheme]) -> Vec<String> {
        let kinds = [Self::Rows, Self::Coordinates, Self::Extended, Self::Nothing];
        let line = |kind: Self| {
            let of_kind = schemes.iter().filter(|scheme| Self::of(scheme) == kind);
            let names: Vec<&str> = of_kind.map(|scheme| scheme.name.as_str()).collect();
            let line = format!(
                "at other resolutions these {}: {}",
                kind.about(),
                names.join(", ")
            );
            (!names.is_empty()).then_some(line)
        };
        kinds.into_iter().filter_map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::ModelSpec;

    #[test]
    fn every_scheme_does_one_thing() {
        let schemes =
            Scheme::names().map(|name| Scheme::by_name(name, &ModelSpec::default(), 64).unwrap());
        let schemes: Vec<Scheme> = schemes.collect();
        let of = |name: &str| {
            let scheme = schemes.iter().find(|scheme| scheme.name == name);
            AtResolution::of(scheme.unwrap())
        };
        for (name, does) in [
            ("none", AtResolution::Nothing),
            ("learned", AtResolution::Rows),
            ("sinusoidal", AtResolution::Rows),
            ("scaled_sinusoidal", AtResolution::Rows),
            ("tape", AtResolution::Rows),
            ("time2vec", AtResolution::Rows),
            ("sinusoidal_2d", AtResolution::Coordinates),
            ("rotary_2d", AtResolution::Coordinates),
            ("rotary", AtResolution::Extended),
            ("alibi", AtResolution::Extended),
            ("randomized_sinusoidal", AtResolution::Extended),
        ] {
            assert_eq!(of(name), does, "{name}");
        }
        let lines = AtResolution::lines(&schemes);
        assert_eq!(lines.len(), 4);
        let named = |name: &str| lines.iter().filter(|line| line.contains(name)).count();
        assert_eq!(named("rotary_2d"), 1, "{lines:?}");
    }
}
