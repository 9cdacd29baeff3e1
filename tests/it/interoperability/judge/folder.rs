//! A folder of files for the judge.

use std::path::{Path, PathBuf};

use liqo_auth::{
    Machine,
    crypto::Nonce,
    model::{Identity, Object, manifest},
    policy::Limits,
};

use crate::clusters::exchange::Exchange;

/// The files, ordered by name.
pub(crate) const OF_EVERY_EXCHANGE: [&str; 7] = [
    "consumer-id.txt",
    "identity.yaml",
    "kubeconfig.yaml",
    "nonce.txt",
    "now.txt",
    "provider-id.txt",
    "tenant.yaml",
];

pub(crate) struct Folder(PathBuf);

impl Folder {
    /// Writes only the files of every exchange. The Identity is the
    /// message or the stored object.
    pub(crate) fn new(name: &str, exchange: &Exchange, identity: Identity) -> Self {
        let path = target().join("judge").join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        let folder = Self(path);
        let nonce = exchange.provider_secret("liqo-nonce");
        let nonce = Nonce::parse(nonce.data["nonce"].expose(), &Default::default()).unwrap();
        folder.text("consumer-id.txt", exchange.consumer.cluster_id().as_str());
        folder.text("provider-id.txt", exchange.provider.cluster_id().as_str());
        folder.text("nonce.txt", nonce.as_str());
        folder.text("now.txt", &exchange.now.to_string());
        folder.object("tenant.yaml", exchange.tenant());
        folder.object("identity.yaml", identity);
        folder.text("kubeconfig.yaml", &exchange.kubeconfig());
        folder
    }

    pub(crate) fn object(&self, file: &str, object: impl Into<Object>) {
        self.objects(file, &[object.into()]);
    }

    /// Writes each object as a separate document.
    pub(crate) fn objects(&self, file: &str, objects: &[Object]) {
        let documents: Vec<String> = objects.iter().map(manifest::write_yaml).collect();
        self.text(file, &documents.join("---\n"));
        // Checks that the judge will read the same objects.
        let text = std::fs::read(self.0.join(file)).unwrap();
        let read = manifest::read(&text, &Limits::default()).unwrap();
        assert_eq!(read, objects, "{}: {file}", self.0.display());
    }

    pub(crate) fn text(&self, file: &str, content: &str) {
        let path = self.0.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// The entries of the folder, in order. A subfolder counts as one entry.
    pub(crate) fn files(&self) -> Vec<String> {
        let mut present: Vec<String> = std::fs::read_dir(&self.0)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        present.sort();
        present
    }

    /// The entries beyond the files of every exchange.
    pub(crate) fn more_files(&self) -> Vec<String> {
        let mut files = self.files();
        for file in OF_EVERY_EXCHANGE {
            let at = files.iter().position(|present| present == file).unwrap();
            files.remove(at);
        }
        files
    }
}

/// The target folder of Cargo. The tests' temporary folder is in it.
fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
        .parent()
        .unwrap()
        .to_owned()
}
