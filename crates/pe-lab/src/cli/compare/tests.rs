use super::*;

#[test]
fn seeds_are_a_count_or_a_list() {
    assert_eq!(seeds("3").unwrap(), Seeds::Count(3));
    assert_eq!(seeds("7,9").unwrap(), Seeds::These(vec![7, 9]));
    assert_eq!(seeds("7,").unwrap(), Seeds::These(vec![7]));
    for wrong in ["", "x", "1,x", ",", "-1", "1.5"] {
        let message = seeds(wrong).unwrap_err().to_string();
        assert!(message.contains("neither"), "{wrong}: {message}");
    }
}
