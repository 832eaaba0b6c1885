//! The sources that a paragraph of methods names.

/// A publication.
pub struct Reference {
    /// Its name in a bibliography of BibTeX, and between `[@` and `]` in a sentence.
    pub key: &'static str,
    /// Authors and year, as in a sentence.
    pub short: &'static str,
    /// The kind of entry of BibTeX.
    kind: &'static str,
    /// The fields of the entry, authors and title first.
    fields: &'static [(&'static str, &'static str)],
}

/// Every source.
const ALL: &[Reference] = &[
    Reference {
        key: "gutmann1987",
        short: "Gutmann and Maymin 1987",
        kind: "article",
        fields: &[
            ("author", "Gutmann, Sam and Maymin, Zakhar"),
            ("title", "Is the selected population the best?"),
            ("journal", "Annals of Statistics"),
            ("volume", "15"),
            ("year", "1987"),
        ],
    },
    Reference {
        key: "holm1979",
        short: "Holm 1979",
        kind: "article",
        fields: &[
            ("author", "Holm, Sture"),
            (
                "title",
                "A simple sequentially rejective multiple test procedure",
            ),
            ("journal", "Scandinavian Journal of Statistics"),
            ("volume", "6"),
            ("year", "1979"),
        ],
    },
    Reference {
        key: "hung2019",
        short: "Hung and Fithian 2019",
        kind: "article",
        fields: &[
            ("author", "Hung, Kenneth and Fithian, William"),
            ("title", "Rank verification for exponential families"),
            ("journal", "Annals of Statistics"),
            ("volume", "47"),
            ("year", "2019"),
            ("note", "arXiv:1610.03944"),
        ],
    },
    Reference {
        key: "kingma2015",
        short: "Kingma and Ba 2015",
        kind: "inproceedings",
        fields: &[
            ("author", "Kingma, Diederik P. and Ba, Jimmy"),
            ("title", "Adam: a method for stochastic optimization"),
            (
                "booktitle",
                "International Conference on Learning Representations",
            ),
            ("year", "2015"),
            ("note", "arXiv:1412.6980"),
        ],
    },
    Reference {
        key: "loshchilov2017",
        short: "Loshchilov and Hutter 2017",
        kind: "inproceedings",
        fields: &[
            ("author", "Loshchilov, Ilya and Hutter, Frank"),
            (
                "title",
                "SGDR: stochastic gradient descent with warm restarts",
            ),
            (
                "booktitle",
                "International Conference on Learning Representations",
            ),
            ("year", "2017"),
            ("note", "arXiv:1608.03983"),
        ],
    },
    Reference {
        key: "loshchilov2019",
        short: "Loshchilov and Hutter 2019",
        kind: "inproceedings",
        fields: &[
            ("author", "Loshchilov, Ilya and Hutter, Frank"),
            ("title", "Decoupled weight decay regularization"),
            (
                "booktitle",
                "International Conference on Learning Representations",
            ),
            ("year", "2019"),
        ],
    },
    Reference {
        key: "owen2007",
        short: "Owen 2007",
        kind: "article",
        fields: &[
            ("author", "Owen, Art B."),
            ("title", "The pigeonhole bootstrap"),
            ("journal", "Annals of Applied Statistics"),
            ("volume", "1"),
            ("year", "2007"),
        ],
    },
    Reference {
        key: "satterthwaite1946",
        short: "Satterthwaite 1946",
        kind: "article",
        fields: &[
            ("author", "Satterthwaite, Franklin E."),
            (
                "title",
                "An approximate distribution of estimates of variance components",
            ),
            ("journal", "Biometrics Bulletin"),
            ("volume", "2"),
            ("year", "1946"),
        ],
    },
    Reference {
        key: "schuirmann1987",
        short: "Schuirmann 1987",
        kind: "article",
        fields: &[
            ("author", "Schuirmann, Donald J."),
            (
                "title",
                "A comparison of the two one-sided tests procedure and the power approach for assessing the equivalence \
                 of average bioavailability",
            ),
            (
                "journal",
                "Journal of Pharmacokinetics and Biopharmaceutics",
            ),
            ("volume", "15"),
            ("year", "1987"),
        ],
    },
    Reference {
        key: "vaswani2017",
        short: "Vaswani et al. 2017",
        kind: "inproceedings",
        fields: &[
            (
                "author",
                "Vaswani, Ashish and Shazeer, Noam and Parmar, Niki and Uszkoreit, Jakob and Jones, Llion and Gomez, Aidan N. \
                 and Kaiser, {\\L}ukasz and Polosukhin, Illia",
            ),
            ("title", "Attention is all you need"),
            (
                "booktitle",
                "Advances in Neural Information Processing Systems",
            ),
            ("year", "2017"),
            ("note", "arXiv:1706.03762"),
        ],
    },
    Reference {
        key: "wedderburn1974",
        short: "Wedderburn 1974",
        kind: "article",
        fields: &[
            ("author", "Wedderburn, Robert W. M."),
            (
                "title",
                "Quasi-likelihood functions, generalized linear models, and the Gauss-Newton method",
            ),
            ("journal", "Biometrika"),
            ("volume", "61"),
            ("year", "1974"),
        ],
    },
    Reference {
        key: "welch1947",
        short: "Welch 1947",
        kind: "article",
        fields: &[
            ("author", "Welch, Bernard Lewis"),
            (
                "title",
                "The generalization of `Student's' problem when several different population variances are involved",
            ),
            ("journal", "Biometrika"),
            ("volume", "34"),
            ("year", "1947"),
        ],
    },
    Reference {
        key: "wilson1927",
        short: "Wilson 1927",
        kind: "article",
        fields: &[
            ("author", "Wilson, Edwin B."),
            (
                "title",
                "Probable inference, the law of succession, and statistical inference",
            ),
            ("journal", "Journal of the American Statistical Association"),
            ("volume", "22"),
            ("year", "1927"),
        ],
    },
];

/// The sources that a text names, in the order of their keys.
pub fn named_in(text: &str) -> Vec<&'static Reference> {
    let is_named = |of: &&Reference| text.contains(&format!("[@{}]", of.key));
    ALL.iter().filter(is_named).collect()
}

impl Reference {
    /// The entry of BibTeX.
    pub fn bibtex(&self) -> String {
        let fields = self.fields.iter();
        let fields = fields.map(|(name, value)| format!("  {name} = {{{value}}},\n"));
        format!(
            "@{}{{{},\n{}}}\n",
            self.kind,
            self.key,
            fields.collect::<String>()
        )
    }

    /// The entry of a list, in words.
    pub fn in_words(&self) -> String {
        let mut text = String::new();
        for (name, value) in self.fields.iter().filter(|of| of.0 != "volume") {
            let value = match *name {
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
