//! `pe-lab serve`: a web page on this machine.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::report::open;
use super::signals::on_stop;
use super::terminal::print_line;
use crate::error::LabError;
use crate::serve::{Server, Site};

/// How long the server may take to end.
const PATIENCE: Duration = Duration::from_millis(1_800);

/// The flags of `serve`.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct ServeArgs {
    /// The folder of a study to watch, which need not be there yet
    #[arg(value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// The port of the page; 0 takes one that is free
    #[arg(long, value_name = "N", default_value_t = 8137)]
    port: u16,
    /// Open the page in the browser
    #[arg(long)]
    open: bool,
}

impl ServeArgs {
    /// Serves the page until Ctrl-C.
    pub fn run(self) -> Result<u8, LabError> {
        let page = match &self.folder {
            Some(file) if file.is_file() => {
                return Err(LabError::Usage(format!(
                    "{} is a file; serve takes the folder of a study",
                    file.display()
                )));
            }
            Some(_) => "study",
            None => "",
        };
        let server = Server::bind(self.port, Site::new(self.folder))?;
        let stop = server.stop();
        on_stop(PATIENCE, 0, move || stop.now())?;
        let link = server.link(page);
        print_line(&format!("{link} (Ctrl-C ends it)"));
        let way = self.open.then(|| way_to(&link)).transpose()?;
        if let Some(way) = &way {
            // The program that opens a page may wait for the browser, which waits for the server.
            let file = way.path().to_path_buf();
            let way = thread::Builder::new().spawn(move || open(&file));
            way.map_err(LabError::not_started("thread"))?;
        }
        server.run();
        Ok(0)
    }
}

/// A page that redirects to a link, in a file that only this account may read and that is gone when the server ends. The
/// link itself would stand among the arguments of a program, where every account of the machine sees it.
fn way_to(link: &str) -> Result<tempfile::NamedTempFile, LabError> {
    let write = || {
        let mut builder = tempfile::Builder::new();
        let mut file = builder.prefix("pe-lab-").suffix(".html").tempfile()?;
        write!(
            file,
            "<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
             <meta http-equiv=\"refresh\" content=\"0; url={link}\">\n<title>pe-lab</title>\n\
             <a href=\"{link}\">To the page of pe-lab</a>\n"
        )?;
        file.flush()?;
        Ok(file)
    };
    write().map_err(LabError::file(Path::new("a temporary file")))
}
