//! The output for programs of a command that changes something.

use clap::Args;

use super::{
    Command,
    output_format::{DocumentFormat, Output},
    sites::RemoteSite,
};

#[derive(Debug, Clone, Args)]
pub(crate) struct Answering {
    /// Print what was done, and what is awaited, for programs
    #[arg(short, long, value_name = "FORMAT", value_parser = Output::<DocumentFormat>::parser())]
    pub(crate) output: Option<Output<DocumentFormat>>,
}

/// A command whose answer is a document.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) command: &'static str,
    pub(crate) output: Output<DocumentFormat>,
    /// The other cluster, if the command takes one.
    pub(crate) remote: Option<RemoteSite>,
    /// The peer to which the command is confined.
    pub(crate) peer: Option<String>,
}

impl Command {
    /// How the command answers programs, if it is asked to.
    pub(crate) fn answered(&self) -> Option<Answered> {
        let (command, answering, remote, peer) = match self {
            Self::Authenticate(it) => ("authenticate", &it.answering, Some(&it.remote), None),
            Self::Apply(it) => ("apply", &it.answering, None, None),
            Self::Replicate(it) => ("replicate", &it.answering, Some(&it.site), None),
            Self::Renew(it) => {
                let peer = it.remote_cluster_id.as_ref();
                ("renew", &it.answering, Some(&it.site), peer)
            }
            _ => return None,
        };
        Some(Answered {
            command,
            output: answering.output.clone()?,
            remote: remote.cloned(),
            peer: peer.map(ToString::to_string),
        })
    }
}
