//! A web page from the program itself: an encoding under sliders, a study while it runs, and a guide.
//!
//! The page is for the person who started it. The server listens on the loopback address alone, answers a
//! fixed list of addresses, refuses requests without the token of its link and those that come from pages of other
//! origins, and writes nothing. All numbers on the page are computed here, by `pe-burn`; the scripts only draw
//! them.
//!
//! | file | what it holds |
//! |---|---|
//! | `server` | the listener, and a thread for every connection |
//! | `http` | one request and one response |
//! | `token` | what the link has that opens the page |
//! | `site` | who may ask, and the list of all addresses |
//! | `controls` | the settings of a scheme: what the sliders offer is what is accepted |
//! | `explore/` | the numbers of the explorer, a file for each place at which positions enter |
//! | `study` | a study while it runs |
//! | `inside` | reading files of a study |
//! | `guide` | the chapters of `docs/guide` |
//! | `page/` | the HTML, CSS and JavaScript |
//!
//! The connections are threads and not tasks of an asynchronous runtime: a handful of requests without bodies
//! need no more than `std` and the parser of `hyper`, and every limit is in sight.

mod controls;
mod explore;
mod guide;
mod http;
mod inside;
mod server;
mod site;
mod study;
mod token;

pub use server::{Server, Stop};
pub use site::Site;
