//! `-v`: what a command does, in lines on standard error. The levels are kubectl's.

use std::io;

use tracing_subscriber::fmt::format::FmtSpan;

/// Logs up to this level: decisions and changes from 1 on, what is read from 4 on, and
/// requests to the API server from 6 on. Bodies and headers have secrets, and are never
/// logged.
pub(crate) fn log(level: u8) {
    let filter = match level {
        0 => return,
        1..4 => "off,liqo_auth=info,liqo_auth_kube=info",
        4..6 => "off,liqo_auth=debug,liqo_auth_kube=debug",
        6.. => "off,liqo_auth=debug,liqo_auth_kube=debug,kube_client=debug",
    };
    tracing_subscriber::fmt()
        .with_writer(io::stderr)
        .with_ansi(false)
        .with_target(false)
        // A request is a span, whose end has the status and the time.
        .with_span_events(FmtSpan::CLOSE)
        .with_env_filter(filter)
        .init();
}
