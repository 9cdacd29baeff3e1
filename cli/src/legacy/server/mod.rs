//! The server of a foreign cluster. It answers over HTTPS, and stores its objects in
//! a home.
//!
//! ```text
//!   listener ──▶ connection ──▶ answer ──▶ desk (one request at a time) ──▶ home
//!     limit      TLS, timeouts    │  ▲
//!                                 ▼  │
//!                               hold_back: delays clients that guess tokens
//! ```
//!
//! A connection carries one request. So the end of a connection shows whether the
//! response was written, and a limit on connections is a limit on requests.

mod answer;
mod connection;
mod desk;
mod hold_back;
mod log;
mod turns;

use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use anyhow::Context;
use rustls::ServerConfig;
use tokio::{
    net::{TcpListener, TcpSocket},
    runtime::{Builder, Runtime},
    signal::unix::{Signal, SignalKind, signal},
    sync::{Semaphore, oneshot, watch},
    task::JoinSet,
};
use tokio_rustls::TlsAcceptor;

pub(crate) use self::log::{Entry, Log};
use self::{answer::Answering, desk::Desk, hold_back::HoldBack};
use super::foreign_side::ForeignSide;
use crate::{
    failure::Result,
    home::Resting,
    limits::{Shares, network},
};

/// A server that is bound to its address, and does not accept connections yet.
pub(crate) struct Server {
    runtime: Runtime,
    listener: TcpListener,
    address: SocketAddr,
}

/// Everything that a server needs for its answers.
pub(crate) struct Service {
    pub(crate) side: ForeignSide,
    /// The home. Other commands may use it between two requests.
    pub(crate) home: Resting,
    pub(crate) tls: Arc<ServerConfig>,
    pub(crate) most_connections: usize,
    pub(crate) log: Log,
}

/// What stops a server.
pub(crate) enum Stop {
    /// SIGTERM or SIGINT. After SIGHUP, the server reads the home again.
    Signals,
    /// A message from the same process.
    Told(oneshot::Receiver<()>),
}

impl Server {
    /// Binds to an address. Port 0 selects a free port.
    pub(crate) fn bind(listen: SocketAddr) -> Result<Self> {
        let runtime = Builder::new_multi_thread()
            .enable_all()
            .build()
            .context("the server's threads cannot be started")?;
        let bound = {
            let _context = runtime.enter();
            bind(listen)
        };
        let (listener, address) =
            bound.with_context(|| format!("the server cannot listen on {listen}"))?;
        Ok(Self {
            runtime,
            listener,
            address,
        })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until it is stopped, and then finishes the requests in progress.
    pub(crate) fn run(self, service: Service, stop: Stop) -> Result<()> {
        let Service {
            side,
            home,
            tls,
            most_connections,
            log,
        } = service;
        let (side, log) = (Arc::new(side), Arc::new(log));
        let answering = Arc::new(Answering {
            foreign: side.foreign().clone(),
            hold_back: HoldBack::new(side.policy().limits.clone()),
            desk: Arc::new(Desk::new(home, side.clone(), log.clone())),
            side,
            log: log.clone(),
        });
        let listening = Listening {
            listener: self.listener,
            tls: TlsAcceptor::from(tls),
            places: Arc::new(Semaphore::new(most_connections)),
            shares: Shares::of(most_connections),
            answering,
        };
        log.write(&Entry::Started {
            address: self.address,
        });
        let result = self.runtime.block_on(listening.run(stop));
        // What a request does with the home is done before the runtime ends.
        drop(self.runtime);
        log.write(&Entry::Stopped);
        result
    }
}

struct Listening {
    listener: TcpListener,
    tls: TlsAcceptor,
    places: Arc<Semaphore>,
    shares: Shares<IpAddr>,
    answering: Arc<Answering>,
}

impl Listening {
    async fn run(self, stop: Stop) -> Result<()> {
        let mut stop = Stopping::new(stop).context("signals")?;
        let (stopping, _) = watch::channel(false);
        let mut connections = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                accepted = self.accept() => accepted,
                event = stop.next() => match event {
                    Told::Stop => break,
                    Told::ReadAnew => {
                        self.answering.desk.read_anew();
                        continue;
                    }
                },
            };
            while connections.try_join_next().is_some() {}
            let (stream, remote, place) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // For example, too many files are open. Some are closed soon.
                    self.answering.log.write(&Entry::Trouble { error: &error });
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            };
            let Some(share) = self.shares.take(network(remote.ip())) else {
                let reason = "its address has the maximum number of connections";
                self.answering
                    .log
                    .write(&Entry::Unanswered { remote, reason });
                continue;
            };
            let (tls, answering) = (self.tls.clone(), self.answering.clone());
            let stopping = stopping.subscribe();
            connections.spawn(async move {
                connection::serve(stream, remote, &tls, answering, stopping).await;
                drop((place, share));
            });
        }
        let _ = stopping.send(true);
        let all = async { while connections.join_next().await.is_some() {} };
        if tokio::time::timeout(GRACE, all).await.is_err() {
            connections.shutdown().await;
        }
        Ok(())
    }

    /// Waits for a place before it accepts a connection. Until then, the connection
    /// waits in the system's queue, and costs this process nothing.
    async fn accept(
        &self,
    ) -> io::Result<(
        tokio::net::TcpStream,
        SocketAddr,
        tokio::sync::OwnedSemaphorePermit,
    )> {
        let place = self.places.clone().acquire_owned().await;
        let place = place.map_err(io::Error::other)?;
        let (stream, remote) = self.listener.accept().await?;
        Ok((stream, remote, place))
    }
}

enum Stopping {
    Signals {
        terminate: Signal,
        interrupt: Signal,
        hang_up: Signal,
    },
    Told(oneshot::Receiver<()>),
}

enum Told {
    Stop,
    ReadAnew,
}

impl Stopping {
    fn new(stop: Stop) -> io::Result<Self> {
        Ok(match stop {
            Stop::Told(receiver) => Self::Told(receiver),
            Stop::Signals => Self::Signals {
                terminate: signal(SignalKind::terminate())?,
                interrupt: signal(SignalKind::interrupt())?,
                hang_up: signal(SignalKind::hangup())?,
            },
        })
    }

    async fn next(&mut self) -> Told {
        match self {
            Self::Told(receiver) => {
                // A dropped sender stops the server, too.
                let _ = receiver.await;
                Told::Stop
            }
            Self::Signals {
                terminate,
                interrupt,
                hang_up,
            } => tokio::select! {
                _ = terminate.recv() => Told::Stop,
                _ = interrupt.recv() => Told::Stop,
                _ = hang_up.recv() => Told::ReadAnew,
            },
        }
    }
}

fn bind(listen: SocketAddr) -> io::Result<(TcpListener, SocketAddr)> {
    let socket = if listen.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    // After a kill, a new server can bind to the same address at once.
    socket.set_reuseaddr(true)?;
    socket.bind(listen)?;
    let listener = socket.listen(QUEUE)?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

/// Raises the limit on open files for this many connections, if the system allows
/// it.
pub(crate) fn allow_connections(most: usize) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let wanted = u64::try_from(most)
        .unwrap_or(u64::MAX)
        .saturating_add(SPARE);
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|current| current < wanted) {
        let current = limit.maximum.map_or(wanted, |maximum| maximum.min(wanted));
        // If this fails, a later accept fails, and the log shows that.
        let _ = setrlimit(
            Resource::Nofile,
            Rlimit {
                current: Some(current),
                maximum: limit.maximum,
            },
        );
    }
}

/// The maximum number of connections in the system's queue.
const QUEUE: u32 = 4096;
/// Open files in addition to the connections: a batch of manifests.
const SPARE: u64 = 1024;
/// The pause after a failed accept.
const PAUSE: Duration = Duration::from_millis(100);
/// The time for the requests in progress when the server is stopped.
const GRACE: Duration = Duration::from_secs(15);
