//! What stands before the data of ARFF: the attributes, which say what each field of a row is.

use super::super::error::Problem;
use super::super::limits::MAX_COLUMNS;
use super::super::quote::{grouped, shorten};
use super::super::rows::Labels;
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

fn wrong<T>(line: usize, what: impl std::fmt::Display) -> Result<T, Problem> {
    Err(Problem::Series(format!("line {line}: {what}")))
}

impl Header {
    /// Reads a line, and says whether the data begins after it.
    ///
    /// # Errors
    ///
    /// [`Problem::Series`] for a line that is no header, and for attributes that are no numbers, [`Problem::TooManyColumns`].
    pub fn read(&mut self, at: usize, line: &str) -> Result<bool, Problem> {
        let (key, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let named = || name(rest).or_else(|what| wrong(at, what));
        match key.to_ascii_lowercase().as_str() {
            "@relation" => self.relation = named()?.0,
            "@attribute" => {
                let (name, kind) = named()?;
                self.attribute(at, name, kind.trim())?;
            }
            "@end" => match self.open.take() {
                None => return wrong(at, "ends a relational attribute, and none is open"),
                Some((name, line, 0)) => {
                    return wrong(
                        line,
                        format!("the attribute {} has no attributes", shorten(&name)),
                    );
                }
                Some((name, line, steps)) => self.push(name, line, Kind::Series(steps))?,
            },
            "@data" => {
                if let Some((name, line, _)) = &self.open {
                    return wrong(
                        *line,
                        format!(
                            "the attribute {} does not end before @data of line {at}; it takes a line @end",
                            shorten(name)
                        ),
                    );
                }
                return Ok(true);
            }
            _ => {
                return wrong(
                    at,
                    format!(
                        "{} stands before @data and is none of @relation, @attribute, @end and @data",
                        shorten(line)
                    ),
                );
            }
        }
        Ok(false)
    }

    fn attribute(&mut self, at: usize, name: String, kind: &str) -> Result<(), Problem> {
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
                return wrong(
                    at,
                    format!("the attribute {shown} is relational inside of another one"),
                );
            }
            "string" | "date" => {
                return wrong(
                    at,
                    format!(
                        "the attribute {shown} is a {word}; ARFF is read for series and rows of numbers with a class, and \
                         other tables as .csv",
                    ),
                );
            }
            _ if kind.starts_with('{') => Kind::Nominal(classes(at, &shown, kind)?),
            "" => return wrong(at, format!("the attribute {shown} has no type")),
            _ => {
                return wrong(
                    at,
                    format!(
                        "the attribute {shown} is of the type {}, and it takes numeric, real, integer, relational, or the \
                         classes in braces: {{a,b}}",
                        shorten(word)
                    ),
                );
            }
        };
        match (&mut self.open, kind) {
            (None, kind) => self.push(name, at, kind),
            (Some((_, _, steps)), Kind::Number) => {
                *steps += 1;
                Ok(())
            }
            (Some((outer, ..)), _) => wrong(
                at,
                format!(
                    "the attribute {shown} is nominal and stands inside of {}, whose series are numbers",
                    shorten(outer)
                ),
            ),
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
    /// [`Problem::Series`] where several attributes may be the class, and where no numbers are left beside it.
    pub fn layout(&self, labels: Labels, asks_numbers: bool) -> Result<Layout, Problem> {
        let (mut class, mut series, mut numbers) = (None, None, Vec::new());
        for (place, attribute) in self.attributes.iter().enumerate() {
            match &attribute.kind {
                Kind::Number => numbers.push(place),
                Kind::Nominal(classes) => match class.replace((place, classes.clone())) {
                    None => {}
                    Some((first, _)) => {
                        return self.twice("nominal, and one alone is the class", first, place);
                    }
                },
                Kind::Series(steps) => match series.replace((place, *steps)) {
                    None => {}
                    Some((first, _)) => {
                        return self.twice(
                            "relational, and one alone holds the channels",
                            first,
                            place,
                        );
                    }
                },
            }
        }
        let asks_number = class.is_none() && (asks_numbers || labels == Labels::Needed);
        if asks_number
            && let Some(last) = numbers.pop_if(|place| *place + 1 == self.attributes.len())
        {
            class = Some((last, Vec::new()));
        }
        match (&series, numbers.last()) {
            (Some((place, _)), Some(number)) => wrong(
                self.attributes[*number].line,
                format!(
                    "the attribute {} is a number beside the series of {}",
                    shorten(&self.attributes[*number].name),
                    shorten(&self.attributes[*place].name)
                ),
            ),
            (None, None) => Err(Problem::Series(
                "has no attribute of numbers before @data beside the one to be predicted, such as @attribute att0 numeric"
                    .into(),
            )),
            _ if class.is_none() && asks_number => Err(Problem::Series(format!(
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

    fn twice(&self, are: &str, first: usize, second: usize) -> Result<Layout, Problem> {
        let [first, second] = [first, second].map(|place| &self.attributes[place]);
        wrong(
            second.line,
            format!(
                "the attributes {} and {} (line {}) are both {are}; tables of symbols are read as .csv",
                shorten(&second.name),
                shorten(&first.name),
                first.line
            ),
        )
    }
}

/// The classes that stand between braces.
fn classes(at: usize, shown: &str, kind: &str) -> Result<Vec<String>, Problem> {
    let inside = kind[1..].rsplit_once('}');
    let Some((inside, _)) = inside else {
        return wrong(
            at,
            format!("the braces of the classes of {shown} are not closed on this line"),
        );
    };
    match fields(inside) {
        Err(what) => wrong(at, format!("the classes of {shown}: {what}")),
        Ok(classes) if classes.iter().any(String::is_empty) => {
            wrong(at, format!("a class of {shown} has no name"))
        }
        Ok(classes) => Ok(classes),
    }
}
