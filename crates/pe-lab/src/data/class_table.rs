//! `--labels FILE`: a table of two columns, the id of a row and its class, for files whose rows have an id and no class.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use csv::StringRecord;

use super::error::Problem;
use super::quote::{grouped, shorten};
use super::records::{Place, each_record, sniffed};

/// The classes of rows, by their ids.
#[derive(Debug)]
pub(super) struct ClassTable {
    file: String,
    /// The class of each id, and its line.
    of: HashMap<String, (String, usize)>,
    /// The id of the first row, which may be a header.
    first: String,
    asked: RefCell<HashSet<String>>,
}

impl ClassTable {
    /// Reads the table of a file of this name. Its columns are separated by a tab or by a comma.
    ///
    /// # Errors
    ///
    /// [`Problem::Reading`] for a row that is no id and class, and for an id with two classes.
    pub fn read(file: String, text: &str) -> Result<Self, Problem> {
        let wrong = |line: usize, what: String| {
            let line = grouped(line);
            Problem::Reading(format!("--labels {file}, line {line}: {what}"))
        };
        let first_line = text.lines().find(|line| !line.trim().is_empty());
        let delimiter = match first_line.is_some_and(|line| line.contains('\t')) {
            true => '\t',
            false => sniffed(text),
        };
        let mut of: HashMap<String, (String, usize)> = HashMap::new();
        let mut first = None;
        each_record(text, delimiter, |record, place| {
            let line = place.first;
            let (id, class) = id_and_class(record, place).map_err(|what| wrong(line, what))?;
            first.get_or_insert_with(|| id.to_string());
            let known = of
                .entry(id.to_string())
                .or_insert_with(|| (class.to_string(), line));
            if known.0 != class {
                let [id, class, before] = [id, class, &known.0].map(shorten);
                let at = grouped(known.1);
                let what = format!("{id} has the class {class}, and {before} on line {at}");
                return Err(wrong(line, what));
            }
            Ok(())
        })?;
        Ok(Self {
            first: first.unwrap_or_default(),
            of,
            file,
            asked: RefCell::default(),
        })
    }

    pub fn of(&self, id: &str) -> Option<&str> {
        let (class, _) = self.of.get(id)?;
        let mut asked = self.asked.borrow_mut();
        if !asked.contains(id) {
            asked.insert(id.to_string());
        }
        Some(class)
    }

    /// What is wrong with a row of this id, which has no class here.
    pub fn lacks(&self, id: &str) -> String {
        format!("{} has no class in {}", shorten(id), shorten(&self.file))
    }

    /// Where classes are from, and which ids no row had, in words. The first row is a header if no row has its id.
    pub fn describe(&self) -> Vec<String> {
        let asked = self.asked.borrow();
        let mut notes = vec![format!(
            "label from {}, by the id{}",
            shorten(&self.file),
            match asked.contains(&self.first) {
                true => "",
                false => "; its first row is a header",
            }
        )];
        let unused = self
            .of
            .iter()
            .filter(|(id, _)| !asked.contains(*id) && **id != self.first);
        let unused: Vec<(&String, usize)> = unused.map(|(id, (_, line))| (id, *line)).collect();
        if let Some((id, line)) = unused.iter().min_by_key(|(_, line)| *line) {
            notes.push(format!(
                "{} of its ids name no row, such as {} (line {})",
                grouped(unused.len()),
                shorten(id),
                grouped(*line)
            ));
        }
        notes
    }
}

/// The id and the class in a row of the table, or what is wrong with it.
fn id_and_class(record: &StringRecord, place: Place) -> Result<(&str, &str), String> {
    if !place.quoted_well {
        return Err(format!(
            "a double quote is not closed, so that the row goes on to line {}",
            place.last
        ));
    }
    match record.len() {
        2 => match (record[0].trim(), record[1].trim()) {
            ("", _) => Err("the id is empty".into()),
            (_, "") => Err("the class is empty".into()),
            found => Ok(found),
        },
        fields => Err(format!(
            "{} fields, and it takes two: an id and its class",
            grouped(fields)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::testing::{Says, rows};

    fn table(text: &str) -> Result<ClassTable, String> {
        ClassTable::read("classes.tsv".into(), text).map_err(|error| error.to_string())
    }

    #[test]
    fn an_id_has_its_class_with_and_without_a_header() {
        for text in [
            "id\tclass\na\tx y\nb,1\tz\n",
            "id\tclass\r\n\na\tx y\nb,1\tz",
        ] {
            let table = table(text).unwrap();
            assert_eq!(
                (table.of("a"), table.of("b,1"), table.of("c")),
                (Some("x y"), Some("z"), None)
            );
            assert_eq!(
                table.describe(),
                ["label from `classes.tsv`, by the id; its first row is a header"]
            );
            assert_eq!(table.lacks("c"), "`c` has no class in `classes.tsv`");
        }
        let table = table("a,x\n\"b,1\",z\na,x\nc,z\n").unwrap();
        assert_eq!((table.of("a"), table.of("b,1")), (Some("x"), Some("z")));
        let notes = table.describe();
        assert_eq!(
            notes,
            [
                "label from `classes.tsv`, by the id",
                "1 of its ids name no row, such as `c` (line 4)"
            ]
        );
    }

    #[test]
    fn what_is_no_id_and_class_is_named_with_its_line() {
        for [text, what] in rows(
            r#"
            a,x⏎b⏎        | --labels classes.tsv, line 2: 1 fields, and it takes two
            a,x⏎b,y,z⏎    | line 2: 3 fields
            a,x⏎,y⏎       | line 2: the id is empty
            a,x⏎b,⏎       | line 2: the class is empty
            a,x⏎⏎a,y⏎     | line 3: `a` has the class `y`, and `x` on line 1
            a,x⏎b,"y⏎c,z⏎ | line 2: a double quote is not closed, so that the row goes on to line 3
            "#,
        ) {
            table(text).unwrap_err().says(what);
        }
    }
}
