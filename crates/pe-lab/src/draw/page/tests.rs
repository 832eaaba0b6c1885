use super::*;

#[test]
fn a_page_has_its_own_size_and_its_images_behind_the_rest() {
    let rect = Rect {
        left: 10,
        top: 20,
        width: 3,
        height: 4,
    };
    let svg = page((200, 100), "a < b", &["c".into()], |page| {
        page.text((50, 50), "in front", 12.0, Words::LEFT)?;
        page.image(rect, &Image::new(1, &[[1, 2, 3]])?);
        Ok(())
    })
    .unwrap();
    assert!(svg.starts_with("<svg width=\"200\" height=\"100\" viewBox=\"0 0 800 400\""));
    assert!(svg.contains("role=\"img\" aria-label=\"a &lt; b\""));
    assert!(svg.contains("a &lt; b"));
    let place = |text: &str| svg.find(text).unwrap();
    assert!(place("<rect") < place("<image x=\"40\" y=\"80\" width=\"12\" height=\"16\""));
    assert!(place("<image") < place("in front"));
    assert!(page((-1, 5), "", &[], |_| Ok(())).is_err());
}

#[test]
fn a_long_title_gets_a_smaller_font() {
    let size = |title: &str| {
        let svg = page((300, 100), title, &[], |_| Ok(())).unwrap();
        let (_, rest) = svg.split_once("font-size=\"").unwrap();
        rest.split('"').next().unwrap().parse::<f64>().unwrap()
    };
    assert!(size(&"long".repeat(20)) < size("short"));
}

#[test]
fn legends_break_their_rows_within_the_width() {
    let key = Key::Area([0; 3]);
    let entries = (0..12).map(|i| (key, format!("quite a long name {i}")));
    let entries: Vec<_> = entries.collect();
    let width = 560;
    assert!(legend_height(&entries, width) > 3 * LEGEND_ROW);
    for (place, (_, text)) in legend_places(&entries, width).iter().zip(&entries) {
        assert!(place.0 + KEY_TEXT + text_width(text, f64::from(LABEL)) <= width);
    }
}
