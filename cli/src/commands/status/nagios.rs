//! `status -o nagios`: the line and the exit code of a Nagios plugin.

use super::{Seen, found, is_before_the_first};
use crate::{
    arguments::{FailIf, Status},
    context::Context,
    failure::{Code, Failure, Result, State},
    output::{Printer, counted, printable},
};

/// Tells what is there.
pub(super) fn run(context: &Context, arguments: &Status) -> Result<()> {
    if arguments.watch {
        return Err(Failure::usage("a plugin looks once: leave --watch out"));
    }
    match Seen::now(context, arguments) {
        Err(failure) if is_before_the_first(&failure, arguments) => {
            tell(context.printer, None, &failure.to_string())
        }
        seen => seen?.print(context, arguments),
    }
}

/// Tells a monitor in its own form why nothing can be seen, also if the command line is wrong.
pub(in crate::commands) fn unknown(printer: Printer, why: &str) -> Failure {
    match tell(printer, Some(State::Unknown), why) {
        Err(
            failure @ Failure {
                code: Code::Nagios(_),
                ..
            },
        ) => failure,
        // Nobody reads it.
        _ => Failure::of_plugin(State::Unknown),
    }
}

/// Tells what was seen: of all that `--fail-if` names, or of all that it knows.
pub(super) fn tell_seen(context: &Context, arguments: &Status, seen: &Seen) -> Result<()> {
    let asked =
        |what: &FailIf| arguments.fail_if().is_empty() || arguments.fail_if().contains(what);
    let of = |which: &[FailIf]| {
        let which: Vec<FailIf> = which.iter().copied().filter(asked).collect();
        found::sentences(&seen.peerings, &which, seen.now)
    };
    let soon = arguments.fail_if_expiring;
    let soon = soon.and_then(|within| found::ends_soon(&seen.peerings, within, seen.now));
    let by_state = [
        (State::Critical, of(&[FailIf::Refused, FailIf::Expired])),
        (
            State::Unknown,
            found::unknown(&seen.peerings).into_iter().collect(),
        ),
        (
            State::Warning,
            soon.into_iter().chain(of(&[FailIf::Waiting])).collect(),
        ),
    ];
    let worst = by_state.iter().find(|(_, found)| !found.is_empty());
    let worst = worst.map(|(state, _)| *state);
    let text = match worst {
        None => counted(seen.peerings.len(), "peering"),
        Some(_) => by_state.map(|(_, found)| found).concat().join("; "),
    };
    tell(context.printer, worst, &text)
}

/// Prints the line. Without a state, all is well.
fn tell(printer: Printer, state: Option<State>, text: &str) -> Result<()> {
    let word = match state {
        None => "OK",
        Some(State::Warning) => "WARNING",
        Some(State::Critical) => "CRITICAL",
        Some(State::Unknown) => "UNKNOWN",
    };
    // Nagios shows one line, and reads numbers after a bar. The command line may have anything.
    let text = text.replace('|', " ");
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = printable(&words.join(" "));
    printer.result(&format!("LIQO-AUTH {word} - {line}\n"))?;
    state.map_or(Ok(()), |state| Err(Failure::of_plugin(state)))
}
