//! Runs the tool in a folder of its own.

pub(crate) mod running;
pub(crate) mod server;

use std::{
    collections::BTreeMap,
    env, fs,
    io::Write,
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
};

/// A folder that ends with the test.
pub(crate) struct Folder(PathBuf);

/// What a run left.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Where the folders are: in memory, if nobody says otherwise. The tool syncs what it saves, and on
/// a disk the tests would mostly wait for that.
fn temporary() -> PathBuf {
    const IN_MEMORY: &str = "/dev/shm";
    const ROOM: u64 = 1 << 30;
    let has_room = rustix::fs::statvfs(IN_MEMORY).is_ok_and(|it| it.f_bavail * it.f_frsize >= ROOM);
    match env::var_os("TMPDIR") {
        None if has_room => IN_MEMORY.into(),
        _ => env::temp_dir(),
    }
}

impl Folder {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("liqo-auth-test-{}-{number}", std::process::id());
        let path = temporary().join(name);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    /// With the homes `cl-consumer` and `cl-provider`.
    pub(crate) fn with_homes() -> Self {
        let folder = Self::new();
        folder.ok("init --home cl-consumer");
        folder.ok("init --home cl-provider --api-server https://172.19.0.3:6443");
        folder
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_liqo-auth"));
        command
            // As it is called when it is installed.
            .arg0("liqo-auth")
            .args(arguments.split_whitespace())
            .current_dir(&self.0)
            .env_remove("LIQO_AUTH_HOME")
            .env_remove("LIQO_AUTH_REMOTE_HOME")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub(crate) fn run_with(&self, arguments: &str, input: &str) -> Run {
        let mut child = self.command(arguments).spawn().unwrap();
        // One that refuses its command line does not read.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        Run::of(child.wait_with_output().unwrap())
    }

    pub(crate) fn run(&self, arguments: &str) -> Run {
        self.run_with(arguments, "")
    }

    /// Standard output of a run that succeeds.
    pub(crate) fn ok(&self, arguments: &str) -> String {
        self.ok_with(arguments, "")
    }

    pub(crate) fn ok_with(&self, arguments: &str, input: &str) -> String {
        let run = self.run_with(arguments, input);
        assert_eq!(run.code, 0, "{arguments}: {run:?}");
        run.out
    }

    /// A run that has to fail in this way, and change nothing.
    pub(crate) fn refused(&self, arguments: &str, input: &str, code: i32) -> String {
        let before = self.snapshot();
        let run = self.run_with(arguments, input);
        assert_eq!(run.code, code, "{arguments}: {run:?}");
        assert!(before == self.snapshot(), "{arguments} changed something");
        run.err
    }

    /// Every file with its mode and content, but for the log and its head, in which
    /// refusals are, too.
    pub(crate) fn snapshot(&self) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
        let mut files = BTreeMap::new();
        walk(&self.0, &mut |path, mode, content| {
            if path.ends_with("audit.log") || path.ends_with("audit.head") {
                return;
            }
            files.insert(path.to_owned(), (mode, content));
        });
        files
    }

    /// The Tenant that `cl-consumer` makes for `cl-provider`.
    pub(crate) fn tenant(&self) -> String {
        self.ok("create nonce --home cl-provider --remote-cluster-id cl-consumer");
        let nonce = self.ok("get nonce --home cl-provider --remote-cluster-id cl-consumer");
        self.ok_with(
            "generate tenant --home cl-consumer --remote-cluster-id cl-provider --nonce -",
            &nonce,
        )
    }
}

/// Two homes, with a Tenant and an Identity in the files `tenant.yaml` and
/// `identity.yaml`.
pub(crate) fn with_files() -> Folder {
    let folder = Folder::with_homes();
    folder.write("tenant.yaml", &folder.tenant());
    folder.ok("apply --home cl-provider -f tenant.yaml");
    let identity =
        folder.ok("generate identity --home cl-provider --remote-cluster-id cl-consumer");
    folder.write("identity.yaml", &identity);
    folder
}

/// The reports of `inspect -o json`, and the exit code.
pub(crate) fn inspected(folder: &Folder, arguments: &str) -> (i32, serde_json::Value) {
    let run = folder.run(&format!("inspect -o json {arguments}"));
    (run.code, serde_json::from_str(&run.out).unwrap())
}

impl Run {
    pub(crate) fn of(output: std::process::Output) -> Self {
        Self {
            code: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn walk(path: &Path, visit: &mut impl FnMut(&Path, u32, Vec<u8>)) {
    for entry in fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        let metadata = fs::symlink_metadata(&path).unwrap();
        let mode = metadata.permissions().mode() & 0o7777;
        if metadata.is_dir() {
            visit(&path, mode, Vec::new());
            walk(&path, visit);
        } else if metadata.is_file() {
            visit(&path, mode, fs::read(&path).unwrap());
        } else {
            visit(&path, 0, Vec::new());
        }
    }
}

/// The commands that a help page lists.
pub(crate) fn commands_of(page: &str) -> Vec<String> {
    let Some((_, list)) = page.split_once("\nCommands:\n") else {
        return Vec::new();
    };
    let lines = list.lines().take_while(|line| line.starts_with("  "));
    // The lines below a name continue its description.
    let names = lines.filter(|line| !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next());
    names
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

/// Runs openssl in the folder, with the words of a command line.
pub(crate) fn openssl(folder: &Folder, command: &str) {
    let mut process = Command::new("openssl");
    let output = process
        .args(command.split(' '))
        .current_dir(&folder.0)
        .output();
    let output = output.unwrap();
    assert!(output.status.success(), "{command}: {output:?}");
}

/// Makes a CA of another program: `ca.crt` and `ca.key`.
pub(crate) fn make_ca(folder: &Folder) {
    openssl(
        folder,
        "req -x509 -newkey ed25519 -nodes -subj /CN=ca -keyout ca.key -out ca.crt -addext basicConstraints=critical,CA:TRUE",
    );
}

/// A file of the vectors.
pub(crate) fn vector(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../tests/vectors")
        .join(name)
}
