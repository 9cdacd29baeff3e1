//! Runs `legacy serve` as a process of its own.

use std::{
    io::{BufRead, BufReader, Read},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use crate::tool::Folder;

/// A server that ends with the test.
pub(crate) struct Server {
    child: Child,
    pub(crate) url: String,
    log: Arc<Mutex<String>>,
    reader: Option<thread::JoinHandle<()>>,
}

impl Server {
    /// Starts one, and returns when it listens.
    pub(crate) fn start(folder: &Folder, arguments: &str) -> Self {
        let arguments = format!("legacy serve --trust-whoever-holds-the-token {arguments}");
        let mut child = folder
            .command(&arguments)
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let log = Arc::new(Mutex::new(String::new()));
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let written = log.clone();
        let reader = thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                let mut log = written.lock().unwrap();
                log.push_str(&line);
                log.push('\n');
            }
        });
        let mut first = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut first).unwrap();
        let Some((_, url)) = first.trim_end().split_once(" at ") else {
            let mut rest = String::new();
            let _ = stdout.read_to_string(&mut rest);
            let _ = child.wait();
            reader.join().unwrap();
            panic!("{arguments}: {first}{rest}{}", log.lock().unwrap().as_str());
        };
        let server = Self {
            url: url.to_owned(),
            child,
            log,
            reader: Some(reader),
        };
        while !server.log().contains("\"started\"") {
            thread::sleep(Duration::from_millis(5));
        }
        server
    }

    pub(crate) fn address(&self) -> &str {
        self.url.strip_prefix("https://").unwrap()
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// As a machine that fails does.
    pub(crate) fn kill(mut self) -> String {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.reader.take().unwrap().join().unwrap();
        self.log()
    }

    /// As an administrator does. Gives the exit code and the log.
    pub(crate) fn stop(mut self) -> (i32, String) {
        self.signal("TERM");
        let code = self.child.wait().unwrap().code().unwrap();
        self.reader.take().unwrap().join().unwrap();
        (code, self.log())
    }

    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("kill")
            .args([format!("-{name}"), self.child.id().to_string()])
            .status()
            .unwrap();
        assert!(status.success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
