//! What stands before the data of ARFF: the attributes, which say what each field of a row is.

use super::super::error::Problem;
use super::super::labels::Labels;
use super::super::limits::MAX_COLUMNS;
use super::super::quote::{grouped, shorten};
use super::fields::{fields, name};

/// An attribute of the file.
#[derive(Debug)]
pub(super) struct Attribute {
    pub name: String,
    line: usize,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Number,
    /// One of these classes.
    Nominal(Vec<String>),
    /// A series of several channels, with so many steps.
    Series(usize),
}

/// What stands before the data.
#[derive(Debug, Default)]
pub(super) struct Header {
    pub relation: String,
    pub attributes: Vec<Attribute>,
    /// The relational attribute whose attributes are being read: its name, its line, and how many there are.
    open: Option<(String, usize, usize)>,
}

/// Where the class and the numbers of a row stand.
#[derive(Debug)]
pub(super) struct Layout {
    /// The place of the class, and the classes; of a number to be predicted there are none.
    pub class: Option<(usize, Vec<String>)>,
    /// Whether a number is to be predicted, and no class.
    pub asks_number: bool,
    /// The place of the relational attribute, and its steps. Without it, all other fields are the steps of one channel.
    pub series: Option<(usize, usize)>,
}

fn at_line(line: usize, what: String) -> Problem {
    Problem::Other(format!("line {line}: {what}"))
}

impl Header {
    /// Reads a line, and says whether the data begins after it.
    ///
    /// # Errors
    ///
    /// [`Problem::Other`] for a line that is no header, and for attributes that are no numbers, [`Problem::TooManyColumns`].
    pub fn read(&mut self, at: usize, line: &str) -> Result<bool, Problem> {
        let (key, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let named = || name(rest).map_err(|what| at_line(at, what));
        match key.to_ascii_lowercase().as_str() {
            "@relation" => self.relation = named()?.0,
            "@attribute" => {
                let (name, kind) = named()?;
                self.attribute(at, name, kind.trim())?;
            }
            "@end" => match self.open.take() {
                None => {
                    let what = "ends a relational attribute, and none is open";
                    return Err(at_line(at, what.into()));
                }
                Some((name, line, 0)) => {
                    let what = format!("the attribute {} has no attributes", shorten(&name));
                    return Err(at_line(line, what));
                }
                Some((name, line, steps)) => self.push(name, line, Kind::Series(steps))?,
            },
            "@data" => {
                if let Some((name, line, _)) = &self.open {
                    let what = format!(
                        "the attribute {} does not end before @data of line {at}; it takes a line @end",
                        shorten(name)
                    );
                    return Err(at_line(*line, what));
                }
                return Ok(true);
            }
            _ => {
                let what = format!(
                    "{} stands before @data and is none of @relation, @attribute, @end and @data",
                    shorten(line)
                );
                return Err(at_line(at, what));
            }
        }
        Ok(false)
    }

    fn attribute(&mut self, at: usize, name: String, kind: &str) -> Result<(), Problem> {
        let wrong = |what: String| Err(at_line(at, what));
        let shown = shorten(&name);
        let word = kind
            .split(|c: char| c.is_whitespace() || c == '%')
            .next()
            .unwrap_or("");
        let kind = match word.to_ascii_lowercase().as_str() {
            "numeric" | "real" | "integer" => Kind::Number,
            "relational" if self.open.is_none() => {
                self.open = Some((name, at, 0));
                return Ok(());
            }
            "relational" => {
                return wrong(format!(
                    "the attribute {shown} is relational inside of another one"
                ));
            }
            "string" | "date" => {
                return wrong(format!(
                    "the attribute {shown} is a {word}; ARFF is read for series and rows of numbers with a class, and \
                     other tables as .csv",
                ));
            }
            _ if kind.starts_with('{') => {
                Kind::Nominal(classes(&shown, kind).map_err(|what| at_line(at, what))?)
            }
            "" => return wrong(format!("the attribute {shown} has no type")),
            _ => {
                return wrong(format!(
                    "the attribute {shown} is of the type {}, and it takes numeric, real, integer, relational, or the \
                     classes in braces: {{a,b}}",
                    shorten(word)
                ));
            }
        };
        match (&mut self.open, kind) {
            (None, kind) => self.push(name, at, kind),
            (Some((_, _, steps)), Kind::Number) => {
                *steps += 1;
                Ok(())
            }
            (Some((outer, ..)), _) => wrong(format!(
                "the attribute {shown} is nominal and stands inside of {}, whose series are numbers",
                shorten(outer)
            )),
        }
    }

    fn push(&mut self, name: String, line: usize, kind: Kind) -> Result<(), Problem> {
        self.attributes.push(Attribute { name, line, kind });
        match self.attributes.len() {
            columns if columns > MAX_COLUMNS => Err(Problem::TooManyColumns { line, columns }),
            _ => Ok(()),
        }
    }

    /// Where the class and the numbers stand. A file without classes ends with the number to be predicted, if
    /// `labels` are needed or numbers are known to be asked.
    ///
    /// # Errors
    ///
    /// [`Problem::Other`] where several attributes may be the class, and where no numbers are left beside it.
    pub fn layout(&self, labels: Labels, asks_numbers: bool) -> Result<Layout, Problem> {
        let (mut class, mut series, mut numbers) = (None, None, Vec::new());
        for (place, attribute) in self.attributes.iter().enumerate() {
            match &attribute.kind {
                Kind::Number => numbers.push(place),
                Kind::Nominal(classes) => {
                    if let Some((first, _)) = class.replace((place, classes.clone())) {
                        let are = "nominal, and one alone is the class";
                        return Err(self.twice(are, first, place));
                    }
                }
                Kind::Series(steps) => {
                    if let Some((first, _)) = series.replace((place, *steps)) {
                        let are = "relational, and one alone holds the channels";
                        return Err(self.twice(are, first, place));
                    }
                }
            }
        }
        let asks_number = class.is_none() && (asks_numbers || labels == Labels::Needed);
        if asks_number
            && let Some(last) = numbers.pop_if(|place| *place + 1 == self.attributes.len())
        {
            class = Some((last, Vec::new()));
        }
        match (&series, numbers.last()) {
            (Some((place, _)), Some(number)) => {
                let [number, series] = [*number, *place].map(|place| &self.attributes[place]);
                let what = format!(
                    "the attribute {} is a number beside the series of {}",
                    shorten(&number.name),
                    shorten(&series.name)
                );
                Err(at_line(number.line, what))
            }
            (None, None) => Err(Problem::Other(
                "has no attribute of numbers before @data beside the one to be predicted, such as @attribute att0 numeric"
                    .into(),
            )),
            _ if class.is_none() && asks_number => Err(Problem::Other(format!(
                "none of its {} attributes is nominal, and the class is: @attribute class {{a,b}}; the last one is no \
                 number to be predicted either",
                grouped(self.attributes.len())
            ))),
            _ => Ok(Layout {
                class,
                asks_number,
                series,
            }),
        }
    }

    fn twice(&self, are: &str, first: usize, second: usize) -> Problem {
        let [first, second] = [first, second].map(|place| &self.attributes[place]);
        let what = format!(
            "the attributes {} and {} (line {}) are both {are}; tables of symbols are read as .csv",
            shorten(&second.name),
            shorten(&first.name),
            first.line
        );
        at_line(second.line, what)
    }
}

/// The classes that stand between braces, or what is wrong with them.
fn classes(shown: &str, kind: &str) -> Result<Vec<String>, String> {
    let inside = kind[1..].rsplit_once('}').map(|(inside, _)| inside);
    let inside = inside.ok_or_else(|| {
        format!("the braces of the classes of {shown} are not closed on this line")
    })?;
    let classes = fields(inside).map_err(|what| format!("the classes of {shown}: {what}"))?;
    match classes.iter().any(String::is_empty) {
        true => Err(format!("a class of {shown} has no name")),
        false => Ok(classes),
    }
}
