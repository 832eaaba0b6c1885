//! The listener on the loopback address, and a thread for every connection, of which there are not too many.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::http::{self, Response};
use super::site::Site;
use super::token::Token;
use crate::error::LabError;

/// The most connections that are answered at the same time. Others wait in the queue of the system.
const MAX_CONNECTIONS: usize = 128;

/// A server of the page. It listens from when it is made on.
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
                let Ok(stream) = stream else {
                    // Too many open files, for example: others may be closed soon.
                    thread::sleep(Duration::from_millis(10));
                    continue;
                };
                let place = open.wait();
                let answer = move || {
                    self.answer(stream);
                    drop(place);
                };
                // Without a thread the connection is closed unanswered.
                let _ = thread::Builder::new().spawn_scoped(scope, answer);
            }
        });
    }

    fn answer(&self, mut stream: TcpStream) {
        let (response, head) = match http::read(&mut stream) {
            Ok(request) => {
                let head = request.head;
                let answer = || self.site.answer(request, self.port(), &self.token);
                let answered = catch_unwind(AssertUnwindSafe(answer));
                let failed = |_| Response::text(500, "this is a mistake of pe-lab; it goes on");
                (answered.unwrap_or_else(failed), head)
            }
            Err(Some(refused)) => (refused, false),
            Err(None) => return,
        };
        http::write(&mut stream, &response, head);
    }
}

/// Counts the connections that are open.
#[derive(Default)]
struct Open(Mutex<usize>, Condvar);

/// One of the connections that are open.
struct Place<'a>(&'a Open);

impl Open {
    /// Waits until there are few enough connections for one more.
    fn wait(&self) -> Place<'_> {
        let count = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let free = self.1.wait_while(count, |count| *count >= MAX_CONNECTIONS);
        *free.unwrap_or_else(PoisonError::into_inner) += 1;
        Place(self)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.1.notify_one();
    }
}
