//! No command prints a private key, a record key or a token, except the commands that
//! exist to print one. The audit log holds none either.

use crate::tool::{Folder, Run};
use base64::{Engine, engine::general_purpose::STANDARD};

/// Secrets, and what was printed.
struct Search {
    folder: Folder,
    /// The file of a secret, and a form of the secret that no output may contain.
    forms: Vec<(String, String)>,
    printed: String,
}

impl Search {
    fn new() -> Self {
        let mut search = Self {
            folder: Folder::with_homes(),
            forms: Vec::new(),
            printed: String::new(),
        };
        for home in ["cl-consumer", "cl-provider"] {
            for (secret, key) in [
                ("authentication-keys", "privateKey"),
                ("liqo-auth-authority", "tls.key"),
                ("liqo-auth-record-key", "key"),
            ] {
                search.add(&format!("{home}/private/liqo/secret.{secret}.yaml"), key);
            }
        }
        search
    }

    /// A field of a Secret.
    fn add(&mut self, file: &str, field: &str) {
        let text = self.folder.read(file);
        let line = text.lines().find_map(|line| {
            let value = line.trim().strip_prefix(field)?.strip_prefix(": ")?;
            Some(value.to_owned())
        });
        let bytes = STANDARD.decode(line.unwrap()).unwrap();
        let pem = str::from_utf8(&bytes).ok().and_then(|text| {
            let digits = text.lines().nth(1)?;
            let der = STANDARD.decode(digits).ok()?;
            // The private key comes last in PKCS#8 of version 1 (RFC 8410 section 7).
            Some((digits.to_owned(), der[16..48].to_vec()))
        });
        let mut forms = Vec::new();
        let private = match &pem {
            Some((digits, private)) => {
                forms.extend(in_base64(digits.as_bytes()));
                // The first digits say the algorithm and are the same for all keys.
                forms.push(digits.get(24..).unwrap().to_owned());
                private
            }
            None => &bytes,
        };
        assert_eq!(private.len(), 32, "{file}");
        forms.extend(in_base64(private));
        forms.push(private.iter().map(|byte| format!("{byte:02x}")).collect());
        forms.push(
            format!("{:?}", &private[..12])
                .trim_matches(['[', ']'])
                .to_owned(),
        );
        let forms = forms.into_iter().map(|form| (file.to_owned(), form));
        self.forms.extend(forms);
    }

    /// Runs a command, which may also fail.
    fn run(&mut self, arguments: &str) -> Run {
        let run = self.folder.run(arguments);
        self.printed.push_str(&run.out);
        self.printed.push_str(&run.err);
        run
    }

    /// Runs a command that succeeds.
    fn ok(&mut self, arguments: &str) {
        let run = self.run(arguments);
        assert_eq!(run.code, 0, "{arguments}: {run:?}");
    }

    /// The files of the secrets that a text contains.
    fn found_in(&self, text: &str) -> Vec<&str> {
        let found = self.forms.iter().filter(|(_, form)| text.contains(form));
        found.map(|(file, _)| file.as_str()).collect()
    }

    fn assert_clean(&mut self) {
        for home in ["cl-consumer", "cl-provider"] {
            let log = self.folder.read(&format!("{home}/audit.log"));
            assert!(!log.is_empty());
            self.printed.push_str(&log);
        }
        assert_eq!(self.found_in(&self.printed), Vec::<&str>::new());
    }
}

/// The base64 of a secret that begins at each of the three offsets in a group. Only
/// whole groups count: their text does not depend on what is around.
fn in_base64(bytes: &[u8]) -> Vec<String> {
    let groups = (0..3).map(|offset| bytes[offset..].as_chunks::<3>().0.concat());
    groups.map(|groups| STANDARD.encode(groups)).collect()
}

const BOTH: &str = "--home cl-consumer --remote-home cl-provider";

#[test]
fn no_command_of_a_life_prints_a_key() {
    let mut search = Search::new();
    search.ok(&format!("authenticate {BOTH}"));
    search.ok(&format!(
        "create resourceslice mypool {BOTH} --cpu 2 --memory 4Gi"
    ));
    for home in ["cl-consumer", "cl-provider"] {
        search.ok(&format!("status --home {home}"));
        search.ok(&format!("get resourceslices --home {home}"));
        search.ok(&format!("audit verify --home {home}"));
    }
    search.ok("transcript --home cl-consumer --remote-cluster-id cl-provider");
    search.ok("transcript --home cl-provider --remote-cluster-id cl-consumer");
    for word in ["cordon", "uncordon", "drain", "uncordon"] {
        search.ok(&format!("{word} tenant cl-consumer --home cl-provider"));
    }
    search.ok(&format!("replicate {BOTH}"));
    search.ok(&format!("renew {BOTH} --now +300d --write-at-this-time"));

    // Each file is explained, the private ones, too.
    let files: Vec<String> = search
        .folder
        .snapshot()
        .into_keys()
        .filter_map(|path| {
            let name = path.strip_prefix(search.folder.path("")).ok()?.to_str()?;
            name.ends_with(".yaml").then(|| name.to_owned())
        })
        .collect();
    assert!(
        files.iter().any(|name| name.contains("private/liqo/")),
        "{files:?}"
    );
    for file in &files {
        search.run(&format!("inspect {file}"));
    }

    // What is wrong is refused, with the file's name and not its content.
    for file in files.iter().filter(|name| name.contains("private/")) {
        search.run(&format!("apply --home cl-consumer -f {file}"));
        search.run(&format!("apply --home cl-provider -f {file}"));
    }
    for file in files.iter().filter(|name| name.contains("private/liqo/")) {
        let text = search.folder.read(file);
        search
            .folder
            .write(file, &text.replace("data:", "data: 5 #"));
        search.run("status --home cl-consumer");
        search.run("status --home cl-provider");
        search.run(&format!("authenticate {BOTH}"));
        search.folder.write(file, &text);
    }
    search.ok(&format!("delete resourceslice mypool {BOTH}"));
    search.ok(&format!("unauthenticate --yes {BOTH}"));
    search.assert_clean();
}

/// The search finds a key where a command prints it.
#[test]
fn the_kubeconfig_shows_the_consumers_key_alone() {
    let mut search = Search::new();
    search.ok(&format!("authenticate {BOTH}"));
    let kubeconfig = search
        .folder
        .ok("get kubeconfig --home cl-consumer --remote-cluster-id cl-provider");
    let mut found = search.found_in(&kubeconfig);
    found.dedup();
    assert_eq!(
        found,
        ["cl-consumer/private/liqo/secret.authentication-keys.yaml"]
    );
    search.assert_clean();
}
