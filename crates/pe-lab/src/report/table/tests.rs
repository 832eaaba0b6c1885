use super::*;

#[test]
fn columns_line_up() {
    let rows = vec![
        vec!["a".to_string(), "one".to_string()],
        vec!["long".to_string(), "1".to_string()],
    ];
    assert_eq!(align(&rows), "  a     one\n  long    1\n");
}

#[test]
fn a_wide_table_comes_in_parts_and_wide_cells_break() {
    let seeds = vec!["0.123"; 30].join(" ");
    let row = |name: &str| {
        let mut row = vec![name.to_string(), seeds.clone()];
        row.extend((0..12).map(|i| format!("cell {i} wide")));
        row
    };
    let rows = vec![row("randomized_sinusoidal"), row("none")];
    let text = align(&rows);
    assert!(
        text.lines().all(|line| line.chars().count() <= WIDTH),
        "{text}"
    );
    // Nothing is lost, and every part names its rows.
    assert_eq!(text.matches("0.123").count(), 60);
    for i in 0..12 {
        assert_eq!(text.matches(&format!("cell {i} wide")).count(), 2, "{text}");
    }
    let parts = text.matches("randomized_sinusoidal").count();
    assert!(parts > 2 && parts == text.matches("none").count(), "{text}");
}

#[test]
fn every_line_of_a_report_fits_into_a_terminal() {
    use crate::report::synthetic::Synthetic;
    use crate::report::verdict::judged;
    let study = Synthetic::large(12);
    let text = render(&judged(Summary::of(&study.data())));
    let long: Vec<&str> = text.lines().filter(|l| l.chars().count() > WIDTH).collect();
    assert!(long.is_empty(), "{long:#?}");
    assert_eq!(wrapped("  short\n"), "  short\n");
}
