//! Several studies beside each other, in a terminal, as a page and as files.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use pulldown_cmark::{Options, Parser, html};
use sha2::{Digest, Sha256};

use super::Beside;
use crate::console::visible;
use crate::error::LabError;
use crate::folder::{Entry, StudyFolder, write_json, write_whole};
use crate::report::columns::{align, wrapped};
use crate::report::paper::{Grid, latex_of, markdown, markdown_of};

const STYLE: &str = ":root{color-scheme:light dark}body{font:1rem/1.5 system-ui,sans-serif;max-width:72rem;margin:0 auto;padding:1rem}\
table{border-collapse:collapse;display:block;overflow-x:auto;margin:.5rem 0 1.5rem}th,td{padding:.2rem .8rem;border-bottom:1px solid \
#8888;text-align:right;white-space:nowrap}th:first-child,td:first-child{text-align:left}thead th{border-bottom:2px solid}";

impl Beside {
    /// The report for a terminal.
    pub fn text(&self) -> String {
        let mut out = String::from("Verdicts\n");
        for study in &self.studies {
            let [finished, trials] = study.finished;
            out.push_str(&format!(
                "  {} ({finished} of {trials} trials have scores)\n",
                study.name
            ));
            for line in &study.verdict {
                out.push_str(&format!("    {line}\n"));
            }
        }
        for grid in self.grids() {
            let rows = grid.rows.iter().map(|row| row.cells.clone());
            let rows: Vec<Vec<String>> = [grid.header.clone()].into_iter().chain(rows).collect();
            out.push_str(&format!("\n{}\n{}", grid.caption, align(&rows)));
        }
        out.push('\n');
        for line in self.remarks() {
            out.push_str(&format!("{line}\n"));
        }
        wrapped(&out)
    }

    fn markdown(&self, grids: &[Grid]) -> String {
        let mut out = String::from("# Studies beside each other\n\n## Verdicts\n\n");
        for study in &self.studies {
            let [finished, trials] = study.finished;
            out.push_str(&format!(
                "### {}\n\n{finished} of {trials} trials have scores.\n\n",
                markdown(&study.name)
            ));
            for line in &study.verdict {
                out.push_str(&format!("- {}\n", markdown(line)));
            }
            out.push('\n');
        }
        out.push_str("## Side by side\n\n");
        for line in self.remarks() {
            out.push_str(&format!("{}\n\n", markdown(&line)));
        }
        out + &markdown_of(grids)
    }

    /// The report as JSON, which is its `summary.json`.
    ///
    /// # Errors
    ///
    /// [`LabError::Content`] when a number cannot be written as JSON.
    pub fn json(&self) -> Result<String, LabError> {
        let file = std::path::Path::new(StudyFolder::SUMMARY);
        serde_json::to_string_pretty(self).map_err(LabError::content(file))
    }

    /// Writes a page, the tables as Markdown and LaTeX, and `summary.json` to a folder, and returns their paths, the page
    /// first.
    ///
    /// # Errors
    ///
    /// When the folder cannot be written.
    pub fn write(&self, folder: &StudyFolder) -> Result<Vec<Entry>, LabError> {
        let grids = self.grids();
        let text = self.markdown(&grids);
        let (report, tables) = (folder.entry("report.md"), folder.entry("table.tex"));
        write_whole(&folder.page(), page(&text).as_bytes())?;
        write_json(&folder.summary(), self)?;
        write_whole(&report, text.as_bytes())?;
        write_whole(&tables, latex_of(&grids).as_bytes())?;
        Ok(vec![folder.page(), folder.summary(), report, tables])
    }
}

/// A page of Markdown that a browser may show, and nothing else.
fn page(text: &str) -> String {
    let mut body = String::new();
    html::push_html(
        &mut body,
        Parser::new_ext(&visible(text), Options::ENABLE_TABLES),
    );
    let hash = BASE64_STANDARD.encode(Sha256::digest(STYLE));
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-{hash}'; base-uri 'none'; \
         form-action 'none'\">\n<title>Studies beside each other</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}</body>\n\
         </html>\n"
    )
}
