//! The listener on the loopback address, and a thread for every connection, up to a largest number of them.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::http::{self, Response};
use super::site::Site;
use super::token::Token;
use crate::error::LabError;

/// The most connections that are answered at the same time. Others wait in the queue of the system.
const MAX_CONNECTIONS: usize = 128;
/// How long an answer may take before it is asked whether its client still waits.
const LONG: Duration = Duration::from_secs(1);
/// How long the clients of a server that ends may take their answers.
const GRACE: Duration = Duration::from_secs(1);

/// A server of the page. It listens as soon as it is made.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    site: Site,
    token: Token,
}

/// Ends a [`Server`]. It can be called from any thread.
#[derive(Clone, Debug)]
pub struct Stop {
    asked: Arc<AtomicBool>,
    address: SocketAddr,
}

impl Stop {
    /// Lets the server end when it has answered the requests that are there.
    pub fn now(&self) {
        self.asked.store(true, Ordering::SeqCst);
        // The server waits for a connection; this is one.
        let _ = TcpStream::connect_timeout(&self.address, Duration::from_secs(1));
    }
}

impl Server {
    /// A server of a site at a port of the loopback address; 0 stands for one that is free.
    ///
    /// # Errors
    ///
    /// [`LabError::Usage`] when the port is in use or may not be used, [`LabError::Machine`] when the system gives no
    /// random numbers for the token.
    pub fn bind(port: u16, site: Site) -> Result<Self, LabError> {
        let listen = || {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
            let address = listener.local_addr()?;
            Ok((listener, address))
        };
        let (listener, address) = listen().map_err(|error: std::io::Error| {
            LabError::Usage(match error.kind() {
                ErrorKind::AddrInUse => format!(
                    "port {port} is in use by another program; choose another with --port, or a free one with \
                     --port 0"
                ),
                ErrorKind::PermissionDenied => {
                    format!("port {port} may not be used: {error}; choose one above 1023 with --port")
                }
                _ => format!("port {port} cannot be used: {error}"),
            })
        })?;
        Ok(Self {
            listener,
            address,
            site,
            token: Token::draw()?,
        })
    }

    /// The address of the page, which is answered to nobody who does not know the token.
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// The link that opens a page, such as `study`: with the token of this server, which nobody else is to see.
    pub fn link(&self, page: &str) -> String {
        self.url() + page + &self.token.query()
    }

    /// The port at which it listens.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// What ends the server.
    pub fn stop(&self) -> Stop {
        Stop {
            asked: self.site.stopped(),
            address: self.address,
        }
    }

    /// Answers requests until it is stopped. Requests that were there then are answered.
    pub fn run(&self) {
        let open = Open::default();
        thread::scope(|scope| {
            for stream in self.listener.incoming() {
                if self.site.is_stopped() {
                    break;
                }
                let Ok(stream) = stream.map(Arc::new) else {
                    // Too many open files, for example: others may be closed soon.
                    thread::sleep(Duration::from_millis(10));
                    continue;
                };
                let Some(place) = open.wait(&stream, || self.site.is_stopped()) else {
                    break;
                };
                let answer = move || {
                    self.answer(&stream);
                    drop(place);
                };
                // Without a thread the connection is closed unanswered.
                let _ = thread::Builder::new().spawn_scoped(scope, answer);
            }
            open.end();
        });
    }

    fn answer(&self, stream: &TcpStream) {
        let (response, head) = match http::read(stream) {
            Ok(request) => {
                let head = request.head;
                let start = Instant::now();
                let is_wanted = || {
                    let is_long = start.elapsed() > LONG;
                    !(self.site.is_stopped() || is_long && http::has_left(stream))
                };
                let (port, token) = (self.port(), &self.token);
                let answer = || self.site.answer(request, port, token, &is_wanted);
                let answered = catch_unwind(AssertUnwindSafe(answer));
                let failed = Response::text(500, "this is a mistake of pe-lab; it goes on");
                match answered {
                    Ok(Some(answer)) => (answer, head),
                    Ok(None) => return,
                    Err(_) => (failed, head),
                }
            }
            Err(Some(refused)) => (refused, false),
            Err(None) => return,
        };
        http::write(stream, &response, head);
    }
}

/// The connections that are open.
#[derive(Default)]
struct Open(Mutex<Vec<Arc<TcpStream>>>, Condvar);

/// One of the connections that are open.
struct Place<'a>(&'a Open, Arc<TcpStream>);

impl Open {
    /// Waits until there are few enough connections for one more; `None` when the server is to end before.
    fn wait(&self, stream: &Arc<TcpStream>, is_stopped: impl Fn() -> bool) -> Option<Place<'_>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while all.len() >= MAX_CONNECTIONS {
            let waited = self.1.wait_timeout(all, Duration::from_millis(100));
            all = waited.unwrap_or_else(PoisonError::into_inner).0;
            if is_stopped() {
                return None;
            }
        }
        all.push(stream.clone());
        Some(Place(self, stream.clone()))
    }

    /// Waits a moment for the answers that are on their way, and ends the connections of clients that are slow.
    fn end(&self) {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let ended = self.1.wait_timeout_while(all, GRACE, |all| !all.is_empty());
        let (all, _) = ended.unwrap_or_else(PoisonError::into_inner);
        for stream in all.iter() {
            // Fails for a connection that the client has ended already.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut all = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|stream| !Arc::ptr_eq(stream, &self.1));
        self.0.1.notify_all();
    }
}
