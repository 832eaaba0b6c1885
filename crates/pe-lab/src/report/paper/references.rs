//! The sources that a paragraph of methods names.

/// Every source as BibTeX, in the order of their keys.
const ALL: &str = include_str!("references.bib");

/// A publication: its entry of BibTeX behind the `@`, with the authors and the title first.
pub struct Reference(&'static str);

/// The sources that a text names, in the order of their keys.
pub fn named_in(text: &str) -> Vec<Reference> {
    let all = ALL.split('@').skip(1).map(Reference);
    all.filter(|of| text.contains(&format!("[@{}]", of.key())))
        .collect()
}

impl Reference {
    /// Its name in a bibliography of BibTeX, and between `[@` and `]` in a sentence.
    pub fn key(&self) -> &'static str {
        let (head, _) = self.0.split_once(',').unwrap_or_default();
        head.split_once('{').unwrap_or_default().1
    }

    pub fn bibtex(&self) -> String {
        format!("@{}\n", self.0.trim_end())
    }

    fn fields(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let fields = self.0.lines().filter_map(|line| line.split_once(" = {"));
        fields.map(|(name, value)| (name.trim(), value.trim_end_matches("},")))
    }

    /// Authors and year, as in a sentence.
    pub fn short(&self) -> String {
        let of = |name: &str| self.fields().find(|field| field.0 == name);
        let [authors, year] = ["author", "year"].map(|name| of(name).unwrap_or_default().1);
        let last = authors.split(" and ").filter_map(|of| of.split(',').next());
        match last.collect::<Vec<_>>()[..] {
            [first, _, _, ..] => format!("{first} et al. {year}"),
            ref all => format!("{} {year}", all.join(" and ")),
        }
    }

    /// The entry of a list, in words.
    pub fn in_words(&self) -> String {
        let mut text = String::new();
        for (name, value) in self.fields().filter(|of| of.0 != "volume") {
            let value = match name {
                "author" => value.replace(" and ", "; ").replace("{\\L}", "Ł"),
                _ => value.replace(['`', '\''], "’"),
            };
            let end = if value.ends_with(['.', '?']) {
                " "
            } else {
                ". "
            };
            text.push_str(&format!("{value}{end}"));
        }
        text.trim_end().to_string()
    }
}
