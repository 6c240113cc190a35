//! A proxy in front of a server, which delays what passes and cuts connections.

use std::{
    io::{self, Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

/// The most bytes that are passed at once.
const PIECE: usize = 16 * 1024;

#[derive(Default)]
struct State {
    /// The delay of each piece in each direction, in ms.
    delay: AtomicU64,
    /// Whether new connections are refused.
    refuses: AtomicBool,
    /// Whether answers are dropped: the server's are read, and not passed on.
    swallows: AtomicBool,
    /// The bytes that the server sent.
    answered: AtomicU64,
    /// Both ends of all connections.
    open: Mutex<Vec<TcpStream>>,
}

/// A proxy on a port of its own on loopback. Its threads end with the process.
#[derive(Clone)]
pub struct Proxy {
    port: u16,
    state: Arc<State>,
}

impl Proxy {
    /// A proxy for the server at `port`.
    ///
    /// # Errors
    /// If no port is free.
    pub fn to(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let proxy = Self { port: listener.local_addr()?.port(), state: Arc::default() };
        let state = Arc::clone(&proxy.state);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if state.refuses.load(Ordering::Relaxed) {
                    continue;
                }
                let Ok(server) = TcpStream::connect(("127.0.0.1", port)) else { continue };
                let _ = client.set_nodelay(true);
                let _ = server.set_nodelay(true);
                state.connect(&client, &server);
            }
        });
        Ok(proxy)
    }

    /// Its port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Delays what passes, in each direction.
    pub fn set_delay(&self, delay: Duration) {
        let milliseconds = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
        self.state.delay.store(milliseconds, Ordering::Relaxed);
    }

    /// Refuses new connections, or accepts them again.
    pub fn set_refuses(&self, refuses: bool) {
        self.state.refuses.store(refuses, Ordering::Relaxed);
    }

    /// Drops the server's answers from now on, or passes them again: statements are carried out, and their senders do not
    /// know.
    pub fn set_swallows(&self, swallows: bool) {
        self.state.swallows.store(swallows, Ordering::Relaxed);
    }

    /// The bytes that the server has sent since the proxy was started.
    #[must_use]
    pub fn answered(&self) -> u64 {
        self.state.answered.load(Ordering::Relaxed)
    }

    /// Cuts all connections, half-way through whatever passes.
    pub fn cut(&self) {
        let open = std::mem::take(&mut *self.state.open());
        for end in open {
            let _ = end.shutdown(Shutdown::Both);
        }
    }
}

impl State {
    fn open(&self) -> std::sync::MutexGuard<'_, Vec<TcpStream>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn connect(self: &Arc<Self>, client: &TcpStream, server: &TcpStream) {
        let ends = || Ok::<_, io::Error>((client.try_clone()?, server.try_clone()?));
        let (Ok(kept), Ok(up), Ok(down)) = (ends(), ends(), ends()) else { return };
        self.open().extend([kept.0, kept.1]);
        let state = Arc::clone(self);
        thread::spawn(move || state.pass(up.0, up.1, false));
        let state = Arc::clone(self);
        thread::spawn(move || state.pass(down.1, down.0, true));
    }

    fn pass(&self, mut from: TcpStream, mut to: TcpStream, is_answer: bool) {
        let mut piece = vec![0; PIECE];
        while let Ok(length @ 1..) = from.read(&mut piece) {
            let delay = self.delay.load(Ordering::Relaxed);
            if delay > 0 {
                thread::sleep(Duration::from_millis(delay));
            }
            if is_answer {
                self.answered.fetch_add(length as u64, Ordering::Relaxed);
            }
            if is_answer && self.swallows.load(Ordering::Relaxed) {
                continue;
            }
            if to.write_all(piece.get(..length).unwrap_or_default()).is_err() {
                break;
            }
        }
        let _ = from.shutdown(Shutdown::Both);
        let _ = to.shutdown(Shutdown::Both);
    }
}
