//! The command line of `inspect`.

use std::path::{Path, PathBuf};

use clap::Args;
use liqo_auth::model::ClusterId;

use super::output_format::{DocumentFormat, Output};

#[derive(Debug, Args)]
pub(crate) struct Inspect {
    /// The files: manifests, or bare certificates, requests, keys, kubeconfigs and nonces;
    /// "-" for standard input
    #[arg(value_name = "FILE", required_unless_present = "filenames")]
    pub(crate) files: Vec<PathBuf>,
    /// The same, as kubectl has it; it may be repeated
    #[arg(short, long = "filename", value_name = "FILE")]
    pub(crate) filenames: Vec<PathBuf>,
    /// Fail also if anything is not verified
    #[arg(long)]
    pub(crate) strict: bool,
    /// Print the reports in a format for programs
    #[arg(short, long, value_name = "FORMAT", value_parser = Output::<DocumentFormat>::parser())]
    pub(crate) output: Option<Output<DocumentFormat>>,
    /// The cluster that the object must belong to; by default, the cluster that it names
    #[arg(long, value_name = "ID")]
    pub(crate) remote_cluster_id: Option<ClusterId>,
    /// The nonce that a Tenant must be signed with; by default, the home's nonce
    #[arg(long, value_name = "NONCE")]
    pub(crate) nonce: Option<String>,
}

impl Inspect {
    pub(crate) fn all_files(&self) -> impl Iterator<Item = &Path> {
        let files = self.files.iter().chain(&self.filenames);
        files.map(PathBuf::as_path)
    }
}
