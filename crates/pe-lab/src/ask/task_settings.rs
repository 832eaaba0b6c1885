//! Settings of a task behind its name, such as `mqar(tokens=64, pairs=4, vocabulary=8192)`.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::settings::{Named, Setting, no_setting, whole, wrong_value};
use crate::data::check_train_length;
use crate::error::LabError;
use crate::task::{MqarOfSize, TEXT_TRAIN_LENGTH, Task, text_with};

/// The tasks that have settings, each with its settings in the order in which they stand in a name.
const WITH_SETTINGS: [(&str, &[&str]); 2] = [
    ("mqar", &["tokens", "pairs", "vocabulary", "others"]),
    ("text", &["train_length"]),
];

/// The training length in the name of a task, if it is a text of the laboratory.
pub(super) fn text_length(name: &str) -> Option<usize> {
    let named = Named::read("task", name).ok()?;
    match (named.name, &named.settings[..]) {
        ("text", []) => Some(TEXT_TRAIN_LENGTH),
        ("text", [("train_length", Setting::Number(length))]) => whole(*length, 0).ok(),
        _ => None,
    }
}

/// The task that a name with settings stands for.
///
/// # Errors
///
/// [`LabError::Usage`] when the task does not have a setting, or does not take its value.
pub(super) fn with_settings(named: &Named<'_>) -> Result<Arc<dyn Task>, LabError> {
    let of_task = WITH_SETTINGS.iter().find(|(name, _)| *name == named.name);
    let Some((task, known)) = of_task else {
        let with = WITH_SETTINGS.map(|(name, _)| name).join(" and ");
        return Err(LabError::Usage(format!(
            "the task {} has no settings; {with} have",
            named.name
        )));
    };
    let (mut values, mut blanks) = (BTreeMap::new(), false);
    for (name, value) in &named.settings {
        if !known.contains(name) {
            return Err(no_setting("task", task, name, known));
        }
        if *name == "others" {
            blanks = match value {
                Setting::Word("blanks") => true,
                Setting::Word("symbols") => false,
                _ => return Err(wrong_value(name, "task", task, value, "blanks or symbols")),
            };
            continue;
        }
        let number = match value {
            Setting::Number(number) => whole(*number, 0),
            Setting::Word(_) => whole(f64::NAN, 0),
        };
        let number = number.map_err(|bounds| wrong_value(name, "task", task, value, &bounds))?;
        values.insert(*name, number);
    }
    let of = |name: &str| values.get(name).copied();
    match *task {
        "mqar" => {
            let tokens = of("tokens").unwrap_or(MqarOfSize::TOKENS);
            let pairs = of("pairs").unwrap_or(tokens.div_ceil(MqarOfSize::TOKENS_OF_PAIR));
            let vocabulary = of("vocabulary").unwrap_or(MqarOfSize::VOCABULARY);
            let task = MqarOfSize::new(tokens, pairs, vocabulary);
            let task = task.map_err(|(name, value, bounds)| {
                wrong_value(name, "task", "mqar", &value, &bounds)
            })?;
            Ok(Arc::new(match blanks {
                true => task.with_blanks(),
                false => task,
            }))
        }
        _ => text_of(of("train_length").unwrap_or(TEXT_TRAIN_LENGTH)),
    }
}

fn text_of(length: usize) -> Result<Arc<dyn Task>, LabError> {
    check_train_length(length).map_err(LabError::Usage)?;
    text_with(length).map_err(|short| {
        LabError::Usage(format!(
            "--train-length is {length}: the text has {} characters, and that needs {}",
            short.tokens, short.needed
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::super::Tasks;
    use super::*;
    use crate::data::testing::{Says, rows};
    use crate::task::text_name;

    fn name(text: &str) -> Result<String, String> {
        let task = Tasks::default().get(text);
        task.map(|task| task.name().to_string())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_task_with_settings_has_one_name_however_it_is_written() {
        let of_64 = "mqar(tokens=64,pairs=4,vocabulary=8192)";
        for text in [
            of_64,
            "mqar( vocabulary=8192, tokens = 64 , pairs=4 )",
            "mqar(tokens=64)",
            "mqar(pairs=4)",
            "mqar(vocabulary=8192)",
        ] {
            assert_eq!(name(text).unwrap(), of_64, "{text}");
        }
        for [text, full] in rows(
            "
            mqar(tokens=128)                  | mqar(tokens=128,pairs=8,vocabulary=8192)
            mqar(tokens=4)                    | mqar(tokens=4,pairs=1,vocabulary=8192)
            mqar(tokens=256,pairs=16)(causal) | mqar(tokens=256,pairs=16,vocabulary=8192)(causal)
            mqar(others=symbols)              | mqar(tokens=64,pairs=4,vocabulary=8192)
            mqar( others = blanks )           | mqar(tokens=64,pairs=4,vocabulary=8192,others=blanks)
            text(train_length=64)             | text
            text( train_length = 8 )          | text(train_length=8)
            ",
        ) {
            assert_eq!(name(text).unwrap(), full, "{text}");
            assert_eq!(name(full).unwrap(), full);
        }
        // Without settings it is the plain `mqar` task.
        assert_eq!(name("mqar").unwrap(), "mqar");
    }

    #[test]
    fn what_is_wrong_is_said_with_what_is_allowed() {
        for [text, words] in rows(
            "
            mqar(token=64)            | no setting `token` … did you mean `tokens` … tokens, pairs, vocabulary
            mqar(tokens=many)         | `tokens` of the task mqar is many … a whole number
            mqar(tokens=64.5)         | `tokens` of the task mqar is 64.5 … a whole number
            mqar(tokens=-64)          | is -64 … a whole number
            mqar(tokens=1e99)         | a whole number
            mqar(others=0)            | `others` of the task mqar is 0; it must be blanks or symbols
            mqar(tokens=65)           | `tokens` of the task mqar is 65; it must be an even number from 4 to 512
            mqar(pairs=17)            | `pairs` of the task mqar is 17; it must be from 1 to 16
            mqar(vocabulary=100)      | `vocabulary` of the task mqar is 100 … from 256
            mqar(tokens)              | the task `mqar(tokens)` … `tokens` is no setting … SETTING=NUMBER
            mqar(tokens=64            | the task `mqar(tokens=64` … no `)`
            mqar(tokens=64,tokens=64) | `tokens` is there twice
            reverse(tokens=64)        | the task reverse has no settings; mqar and text have
            sort(tokens=64)           | no task `sort(tokens=64)`
            text(train_length=7)      | it takes from 8 to 512 tokens
            text(train_length=513)    | --train-length is 513
            text(lines=3)             | the task text has no setting `lines`; it has: train_length
            text(train_length=x)      | `train_length` of the task text is x
            ",
        ) {
            name(text).unwrap_err().says(words);
        }
    }

    #[test]
    fn a_text_has_its_training_length_in_its_name() {
        for (name, length) in [
            ("text", Some(64)),
            ("text(train_length=128)", Some(128)),
            (" text( train_length = 8 ) ", Some(8)),
            ("text(train_length=x)", None),
            ("text(length=8)", None),
            ("text(train_length=8", None),
            ("textual", None),
            ("reverse", None),
            ("mqar(tokens=64)", None),
        ] {
            assert_eq!(text_length(name), length, "{name}");
        }
        assert_eq!(text_length(&text_name(128)), Some(128));
    }
}
