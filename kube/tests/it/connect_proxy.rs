//! An HTTP proxy that makes tunnels (RFC 9110 section 9.3.6), or refuses to.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    reason = "a test panics, and each test uses a part of it"
)]

use std::{
    io::{self, BufRead, BufReader, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

/// A proxy on loopback, until the test's process ends.
pub struct ConnectProxy {
    pub address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
}

impl ConnectProxy {
    /// A proxy that answers with this status. It makes a tunnel only with 200.
    pub fn answering(status: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = requests.clone();
        thread::spawn(move || {
            for client in listener.incoming() {
                let (client, seen) = (client.unwrap(), seen.clone());
                thread::spawn(move || serve(client, status, &seen));
            }
        });
        Self { address, requests }
    }

    /// The requests, with their headers.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

/// An address at which no proxy listens.
pub fn no_proxy_at() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

fn serve(mut client: TcpStream, status: u16, requests: &Mutex<Vec<String>>) -> io::Result<()> {
    let mut reader = BufReader::new(client.try_clone()?);
    let mut request = String::new();
    // The client sends nothing more before it has the answer.
    while !request.ends_with("\r\n\r\n") {
        if reader.read_line(&mut request)? == 0 {
            return Ok(());
        }
    }
    let target = request.split(' ').nth(1).map(str::to_owned);
    requests.lock().unwrap().push(request);
    if status != 200 {
        return write!(client, "HTTP/1.1 {status} Refused\r\n\r\n");
    }
    let mut server = TcpStream::connect(target.unwrap())?;
    write!(client, "HTTP/1.1 200 Connected\r\n\r\n")?;
    let (mut from_client, mut to_server) = (client.try_clone()?, server.try_clone()?);
    thread::spawn(move || {
        let _ = io::copy(&mut from_client, &mut to_server);
        to_server.shutdown(Shutdown::Write)
    });
    io::copy(&mut server, &mut client)?;
    client.shutdown(Shutdown::Write)
}
