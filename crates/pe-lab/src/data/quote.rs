//! Numbers and values as a message quotes them.

/// A number with a comma between its thousands.
pub(super) fn grouped(number: usize) -> String {
    crate::grouped::grouped(number, ',')
}

/// The name of a column as a message quotes it. Programs that write the numbers of the rows leave their column without a name.
pub(super) fn column_called(name: &str) -> String {
    match name {
        "" => "the column without a name".into(),
        name => shorten(name),
    }
}

/// A value from the file as a message quotes it: in backquotes, on one line, and cut after 40 characters.
pub(crate) fn shorten(value: &str) -> String {
    const KEPT: usize = 40;
    let mut characters = value.chars();
    let mut text = String::from("`");
    for character in characters.by_ref().take(KEPT) {
        match character.is_control() {
            true => text.extend(character.escape_default()),
            false => text.push(character),
        }
    }
    if characters.next().is_some() {
        text.push('…');
    }
    text.push('`');
    text
}
