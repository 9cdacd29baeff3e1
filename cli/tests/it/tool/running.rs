//! Runs the controllers as a process of their own.

use std::{
    fs::{self, File},
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::tool::Folder;

/// Controllers that end with the test. Their log is printed if the test fails.
pub(crate) struct Running {
    process: Child,
    log: PathBuf,
}

impl Running {
    /// Starts controllers that log to a file, and waits until they are ready. They choose the
    /// address of their probes, so that no other program has taken it meanwhile.
    pub(crate) fn start(folder: &Folder, log: &str, options: &str) -> Self {
        let log = folder.path(log);
        let process = folder
            .command(&format!("run {options} --probes 127.0.0.1:0"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log).unwrap())
            .spawn()
            .unwrap();
        let mut running = Self { process, log };
        until("the controllers are ready", || {
            let ended = running.process.try_wait().unwrap();
            assert_eq!(ended, None, "the controllers have ended");
            running.is_ready()
        });
        running
    }

    /// Where it listens, by its log: for `the probes`, `the metrics` or `the webhook`.
    pub(crate) fn listens_for(&self, what: &str) -> Option<SocketAddr> {
        let log = fs::read_to_string(&self.log).unwrap();
        let message = format!("listens for {what}");
        let entries = log
            .lines()
            .map_while(|line| serde_json::from_str(line).ok());
        let entry = { entries }.find(|entry: &Value| entry["message"] == *message)?;
        Some(entry["address"].as_str().unwrap().parse().unwrap())
    }

    pub(crate) fn probes(&self) -> SocketAddr {
        self.listens_for("the probes").unwrap()
    }

    pub(crate) fn metrics(&self) -> SocketAddr {
        self.listens_for("the metrics").unwrap()
    }

    pub(crate) fn is_ready(&self) -> bool {
        let address = self.listens_for("the probes");
        let answer = address.and_then(|address| get(address, "/readyz"));
        answer.is_some_and(|answer| answer.contains("200 OK"))
    }

    /// Stops it as a cluster does: it ends without a failure. Returns the time that this took.
    pub(crate) fn stop(mut self) -> Duration {
        let began = Instant::now();
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").arg(pid).status().unwrap().success());
        assert_eq!(self.process.wait().unwrap().code(), Some(0));
        began.elapsed()
    }

    /// Kills it, whatever it is doing.
    pub(crate) fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        if thread::panicking() {
            let log = fs::read_to_string(&self.log).unwrap_or_default();
            println!("{}:\n{log}", self.log.display());
        }
    }
}

/// What it answers, if it does.
pub(crate) fn get(address: SocketAddr, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer)
}

/// Waits for a condition. The time is for a machine that does much else.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        let is_late = began.elapsed() > Duration::from_secs(180);
        assert!(!is_late, "not seen within three minutes: {what}");
        thread::sleep(Duration::from_millis(50));
    }
}
