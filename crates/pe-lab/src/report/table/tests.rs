use super::*;
use crate::report::columns::WIDTH;

#[test]
fn every_line_of_a_report_fits_into_a_terminal() {
    use crate::report::synthetic::Synthetic;
    use crate::report::verdict::judged;
    let study = Synthetic::large(12);
    let text = render(&judged(Summary::of(&study.data())));
    let long: Vec<&str> = text.lines().filter(|l| l.chars().count() > WIDTH).collect();
    assert!(long.is_empty(), "{long:#?}");
}
