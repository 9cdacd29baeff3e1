//! The failures of a command, and their exit codes.

mod answer;

use std::fmt;

use kube::client::AuthError;
use kube::core::Status;
use liqo_auth::{
    error::{Error, Fault, LocalFault, Precondition},
    model::ObjectRef,
};
pub(crate) use liqo_auth_inspection::{paragraph, with_code};
use liqo_auth_kube::Unreachable;

/// A failed command: a paragraph for a person, and a code for a script.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: Code,
    message: String,
    /// The object of this side that is missing, or that cannot be read.
    object: Option<Box<ObjectRef>>,
}

/// The exit codes, except 0. clap also exits with 2 after wrong usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    /// The file system, the machine or a request to the API server failed.
    Internal,
    /// The command line is wrong, or a file or home that it names.
    Usage,
    /// The input from the peer was refused, or is not wholly verified as required.
    Refused,
    /// Something else is needed first.
    Waiting,
    /// This side's own objects contradict each other, or cannot be read.
    AtOdds,
    /// What a Nagios plugin has found: its codes are of their own.
    Nagios(State),
}

/// What a Nagios plugin finds, but for OK, which is no failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Warning,
    Critical,
    Unknown,
}

pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

impl Failure {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            object: None,
        }
    }

    /// The same failure, for want of this object.
    pub(crate) fn for_want_of(self, id: ObjectRef) -> Self {
        Self {
            object: Some(Box::new(id)),
            ..self
        }
    }

    /// The object of this side without which the command fails.
    pub(crate) fn wanted(&self) -> Option<&ObjectRef> {
        self.object.as_deref()
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Code::Usage, message)
    }

    pub(crate) fn waiting(message: impl Into<String>) -> Self {
        Self::new(Code::Waiting, message)
    }

    pub(crate) fn at_odds(message: impl Into<String>) -> Self {
        Self::new(Code::AtOdds, message)
    }

    /// The reader of standard output has gone. Nobody is told.
    pub(crate) fn unread() -> Self {
        Self::new(Code::Internal, String::new())
    }

    /// What a Nagios plugin has found, and has told on standard output.
    pub(crate) fn of_plugin(state: State) -> Self {
        Self::new(Code::Nagios(state), String::new())
    }

    /// Whether somebody is told.
    pub(crate) fn is_told(&self) -> bool {
        !self.message.is_empty()
    }

    /// A refusal by the library: the error, its rule, and the advice. The message
    /// begins with `subject`.
    pub(crate) fn of(subject: &str, error: &Error) -> Self {
        Self::with_way_out(subject, error, error.advice())
    }

    /// The same, with this in place of the advice.
    pub(crate) fn with_way_out(subject: &str, error: &Error, way_out: &str) -> Self {
        let code = match error.fault() {
            Fault::Local(LocalFault::SliceName { .. }) | Fault::ApiMisuse(_) => Code::Usage,
            Fault::Local(_) => Code::AtOdds,
            Fault::Precondition(missing) if is_better_held(missing) => Code::Refused,
            Fault::Precondition(_) => Code::Waiting,
            _ => Code::Refused,
        };
        let failure = Self::new(code, format!("{subject}: {}. {way_out}", with_code(error)));
        match unreadable(error) {
            Some(id) => failure.for_want_of(id.clone()),
            None => failure,
        }
    }

    /// The same failure, with `subject` before its message.
    pub(crate) fn about(self, subject: &str) -> Self {
        Self {
            message: format!("{subject}: {}", self.message),
            ..self
        }
    }
}

/// The object of this side that cannot be read or is not what this side has sealed, if that is the
/// error.
pub(crate) fn unreadable(error: &Error) -> Option<&ObjectRef> {
    let is_unreadable = matches!(
        error.fault(),
        Fault::Local(LocalFault::Unreadable { .. } | LocalFault::BrokenSeal)
    );
    { error.at().object.as_ref() }.filter(|_| is_unreadable)
}

/// Whether the input was refused because this side has a newer object. Waiting
/// does not help then: the peer must send other input.
fn is_better_held(missing: &Precondition) -> bool {
    matches!(
        missing,
        Precondition::NotNewer { .. } | Precondition::Older { .. }
    )
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        if let Some(told) = error.chain().find_map(no_credential) {
            return Self::new(Code::Internal, told);
        }
        let is_unreachable = error.chain().any(|cause| cause.is::<Unreachable>());
        let answer = answer_to(&error);
        let is_told_otherwise = is_unreachable || answer.is_some();
        let counts = |cause: &&Cause| !is_told_otherwise || !is_of_a_request(*cause);
        // The sentence of `Unreachable` is the whole one: its sources are in it.
        let end = error.chain().position(|cause| cause.is::<Unreachable>());
        let told = error.chain().take(end.map_or(usize::MAX, |end| end + 1));
        let texts = told.filter(counts).map(ToString::to_string);
        let mut message = String::new();
        for cause in texts.chain(answer) {
            // The text of some errors already contains the text of their cause.
            if message.ends_with(&cause) {
                continue;
            }
            if !message.is_empty() {
                message.push_str(": ");
            }
            message.push_str(&cause);
        }
        Self::new(Code::Internal, message)
    }
}

type Cause = dyn std::error::Error + 'static;

/// Why the program that logs in, in the `exec` of a kubeconfig, does not give a credential. kube-rs
/// quotes the program's arguments and output, which have tokens.
fn no_credential(cause: &Cause) -> Option<String> {
    let problem = match cause.downcast_ref()? {
        AuthError::AuthExecStart(error) => format!("cannot be started: {error}"),
        AuthError::AuthExecRun { out, .. } => format!("has ended with {}", out.status),
        AuthError::AuthExecParse(_) => "prints no ExecCredential".to_owned(),
        _ => return None,
    };
    Some(format!(
        "the program in the exec of the kubeconfig's user {problem}. Run it alone to see why"
    ))
}

/// Whether an error only says which request has failed. That does not matter if the API server
/// cannot be reached, or if its answer is told.
fn is_of_a_request(error: &Cause) -> bool {
    error.is::<kube::Error>()
        || error.is::<Box<kube::Error>>()
        || error.is::<Status>()
        || error.is::<Box<Status>>()
        || error.is::<liqo_auth_kube::Error>()
}

/// The sentence about the answer of an API server, if an error has one.
fn answer_to(error: &anyhow::Error) -> Option<String> {
    let mut request = None;
    for cause in error.chain() {
        if let Some(liqo_auth_kube::Error::Request { request: asked, .. }) = cause.downcast_ref() {
            request = Some(asked.as_str());
        }
        let of_kube = cause.downcast_ref::<kube::Error>();
        let boxed = || {
            cause
                .downcast_ref::<Box<kube::Error>>()
                .map(|boxed| &**boxed)
        };
        if let Some(kube::Error::Api(status)) = of_kube.or_else(boxed) {
            return Some(answer::sentence(request, status));
        }
    }
    None
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::from(anyhow::Error::from(error))
    }
}

impl Code {
    pub(crate) const fn number(self) -> u8 {
        match self {
            Self::Internal => 1,
            Self::Usage => 2,
            Self::Refused => 3,
            Self::Waiting => 4,
            Self::AtOdds => 5,
            Self::Nagios(State::Warning) => 1,
            Self::Nagios(State::Critical) => 2,
            Self::Nagios(State::Unknown) => 3,
        }
    }
}
