//! What a monitor is told of: what is refused, has expired, or waits.

use std::time::Duration;

use clap::ValueEnum as _;
use liqo_auth::model::Timestamp;

use crate::{
    arguments::FailIf,
    overview::{Certificate, Peering, Role, Waits},
};

/// A sentence for each of these that is there, such as `2 refused: consumer cl-a, slice pool of
/// provider cl-b`.
pub(super) fn sentences(peerings: &[Peering], asked: &[FailIf], now: Timestamp) -> Vec<String> {
    let all = FailIf::value_variants().iter();
    let asked = all.filter(|what| asked.contains(what));
    let found = asked.filter_map(|what| sentence(word(*what), &names(peerings, *what, now)));
    found.collect()
}

/// The same about the certificates that end within this time, and have not ended.
pub(super) fn ends_soon(peerings: &[Peering], within: Duration, now: Timestamp) -> Option<String> {
    let soon =
        |certificate: &Certificate| certificate.ends >= now && certificate.ends <= now + within;
    let names = peerings.iter().flat_map(|peering| holders(peering, &soon));
    sentence("ending soon", &names.collect::<Vec<_>>())
}

/// The same about the peerings of which nothing is known.
pub(super) fn unknown(peerings: &[Peering]) -> Option<String> {
    let unknown = peerings.iter().filter(|peering| peering.failure.is_some());
    sentence("unknown", &unknown.map(name).collect::<Vec<_>>())
}

const fn word(what: FailIf) -> &'static str {
    match what {
        FailIf::Refused => "refused",
        FailIf::Expired => "expired",
        FailIf::Waiting => "waiting",
    }
}

fn names(peerings: &[Peering], what: FailIf, now: Timestamp) -> Vec<String> {
    let of = |peering: &Peering| match what {
        FailIf::Refused => refused(peering),
        FailIf::Expired => holders(peering, &|certificate| {
            peering.has_expired(certificate, now)
        }),
        FailIf::Waiting if peering.waits_for.iter().all(Waits::is_for_an_invitation) => Vec::new(),
        FailIf::Waiting => vec![name(peering)],
    };
    peerings.iter().flat_map(of).collect()
}

/// The peering, if something of it is refused, also the answer to a renewal, and its slices that
/// are denied or refused in this way.
fn refused(peering: &Peering) -> Vec<String> {
    let cannot = |certificate: &Option<Certificate>| {
        let mut certificate = certificate.iter();
        certificate.any(|certificate| certificate.refused.is_some())
    };
    let mut refusals = peering.refused.iter();
    let own = refusals.any(|refusal| refusal.refused.is_some()) || cannot(&peering.certificate);
    let slices = peering.slices.iter();
    let slices = slices.filter(|slice| slice.denied || cannot(&slice.certificate));
    let slices = slices.map(|slice| name_of_slice(peering, &slice.name));
    own.then(|| name(peering))
        .into_iter()
        .chain(slices)
        .collect()
}

/// What has such a certificate: the peering, and its slices.
fn holders(peering: &Peering, is_such: &dyn Fn(&Certificate) -> bool) -> Vec<String> {
    let is_such = |certificate: &Option<Certificate>| certificate.as_ref().is_some_and(is_such);
    let own = is_such(&peering.certificate).then(|| name(peering));
    let slices = peering.slices.iter();
    let slices = slices.filter(|slice| is_such(&slice.certificate));
    let slices = slices.map(|slice| name_of_slice(peering, &slice.name));
    own.into_iter().chain(slices).collect()
}

/// The peer, with what it is: one cluster may be both.
fn name(peering: &Peering) -> String {
    match peering.role {
        Role::Consumer => format!("consumer {}", peering.peer),
        Role::Provider => format!("provider {}", peering.peer),
    }
}

fn name_of_slice(peering: &Peering, slice: &str) -> String {
    format!("slice {slice} of {}", name(peering))
}

/// How many there are, and which. A peer may have any number of slices, and the line ends.
fn sentence(word: &str, names: &[String]) -> Option<String> {
    let shown: Vec<&str> = names.iter().take(MOST_NAMES).map(String::as_str).collect();
    let number = names.len();
    let shown = match number.saturating_sub(MOST_NAMES) {
        0 => shown.join(", "),
        others => format!("{}, and {others} more", shown.join(", ")),
    };
    (number > 0).then(|| format!("{number} {word}: {shown}"))
}

/// The most names in a sentence.
const MOST_NAMES: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_has_at_most_ten_names() {
        let names: Vec<String> = (0..12).map(|number| format!("n{number}")).collect();
        let ten = "n0, n1, n2, n3, n4, n5, n6, n7, n8, n9";
        let of = |number: usize| sentence("refused", names.get(..number).unwrap_or_default());
        assert_eq!(of(0), None);
        assert_eq!(of(1).as_deref(), Some("1 refused: n0"));
        assert_eq!(of(10), Some(format!("10 refused: {ten}")));
        assert_eq!(of(12), Some(format!("12 refused: {ten}, and 2 more")));
    }
}
