//! The series of single identities. A peer decides how many slices it asks for, and for which
//! names it is refused, so what it causes is bounded. What is left out is counted.

use std::{collections::HashMap, sync::atomic::AtomicI64};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{family::Family, gauge::Gauge},
    registry::{Registry, Unit},
};

pub(super) type Gauges<L> = Family<L, Gauge<i64, AtomicI64>>;

/// What the series say about an identity.
pub(super) struct Identity {
    /// Empty for the control plane.
    pub(super) slice: String,
    pub(super) certificate: Option<Life>,
    pub(super) is_refused: bool,
}

/// The life of a certificate, since the Unix epoch.
pub(super) struct Life {
    pub(super) begin: i64,
    pub(super) end: i64,
}

#[derive(Default)]
pub(super) struct Series {
    begins: Gauges<OfIdentity>,
    ends: Gauges<OfIdentity>,
    refused: Gauges<OfIdentity>,
    left_out: Gauges<OfPeer>,
    /// The peers without a certificate that have series, for each side.
    uncertified: HashMap<&'static str, usize>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfIdentity {
    side: &'static str,
    peer: String,
    slice: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfPeer {
    side: &'static str,
    /// Empty for peers without a certificate.
    peer: String,
}

impl Series {
    /// Adds the identities of a peer, of which the first ones are listed.
    pub(super) fn add(
        &mut self,
        side: &'static str,
        peer: &str,
        identities: impl IntoIterator<Item = Identity>,
    ) {
        let is_told = |identity: &Identity| identity.certificate.is_some() || identity.is_refused;
        let identities: Vec<_> = identities.into_iter().filter(is_told).collect();
        let is_listed = identities.is_empty()
            || identities.iter().any(|it| it.certificate.is_some())
            || self.has_room_for_uncertified(side);
        if !is_listed {
            self.leave_out(side, "", identities.len());
            return;
        }
        let left_out = identities.len().saturating_sub(MOST_OF_A_PEER);
        if left_out > 0 {
            self.leave_out(side, peer, left_out);
        }
        for identity in identities.into_iter().take(MOST_OF_A_PEER) {
            let labels = OfIdentity {
                side,
                peer: peer.to_owned(),
                slice: identity.slice,
            };
            if let Some(life) = identity.certificate {
                self.begins.get_or_create(&labels).set(life.begin);
                self.ends.get_or_create(&labels).set(life.end);
            }
            if identity.is_refused {
                self.refused.get_or_create(&labels).set(1);
            }
        }
    }

    pub(super) fn register(self, registry: &mut Registry) {
        for (name, help, times) in [
            (
                "certificate_begin",
                "When the certificate begins, since the Unix epoch",
                self.begins,
            ),
            (
                "certificate_end",
                "When the certificate ends, since the Unix epoch",
                self.ends,
            ),
        ] {
            registry.register_with_unit(name, help, Unit::Seconds, times);
        }
        registry.register(
            "identity_refused",
            "1 while an identity or its renewal is refused",
            self.refused,
        );
        registry.register(
            "identities_left_out",
            "Identities without series of their own, since their peer has too many; without a peer, those of too many peers that have no certificate",
            self.left_out,
        );
    }

    /// A peer can write Tenants in the names of others, which are refused.
    fn has_room_for_uncertified(&mut self, side: &'static str) -> bool {
        let number = self.uncertified.entry(side).or_default();
        *number += 1;
        *number <= MOST_UNCERTIFIED
    }

    fn leave_out(&self, side: &'static str, peer: &str, number: usize) {
        let labels = OfPeer {
            side,
            peer: peer.to_owned(),
        };
        let number = i64::try_from(number).unwrap_or(i64::MAX);
        self.left_out.get_or_create(&labels).inc_by(number);
    }
}

/// The identities of a peer that have series.
const MOST_OF_A_PEER: usize = 100;
/// The peers without a certificate that have series.
const MOST_UNCERTIFIED: usize = 100;

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use prometheus_client::encoding::text::encode;

    use super::*;

    fn certified(slice: &str) -> Identity {
        Identity {
            slice: slice.to_owned(),
            certificate: Some(Life { begin: 3, end: 7 }),
            is_refused: false,
        }
    }

    fn refused(slice: &str) -> Identity {
        Identity {
            slice: slice.to_owned(),
            certificate: None,
            is_refused: true,
        }
    }

    fn text(series: Series) -> String {
        let mut registry = Registry::default();
        series.register(&mut registry);
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        text
    }

    #[test]
    fn a_peer_with_many_slices_has_so_many_series_and_others_have_theirs() {
        let mut series = Series::default();
        let slices = (0..200).map(|number| refused(&format!("slice-{number:03}")));
        series.add(
            "provider",
            "rome",
            [certified("")].into_iter().chain(slices),
        );
        series.add("provider", "turin", [certified("")]);
        let text = text(series);
        let of_rome = text.split("peer=\"rome\",slice=").skip(1);
        let of_rome: HashSet<_> = of_rome.filter_map(|it| it.split('}').next()).collect();
        assert_eq!(of_rome.len(), MOST_OF_A_PEER, "{text}");
        // The control plane comes first.
        for peer in ["rome", "turin"] {
            let end = format!(
                "certificate_end_seconds{{side=\"provider\",peer=\"{peer}\",slice=\"\"}} 7"
            );
            assert!(text.contains(&end), "{text}");
        }
        let left_out = "identities_left_out{side=\"provider\",peer=\"rome\"} 101";
        assert!(text.contains(left_out), "{text}");
        assert_eq!(text.matches("left_out{").count(), 1, "{text}");
    }

    #[test]
    fn peers_that_are_only_refused_take_no_room_from_others() {
        let mut series = Series::default();
        for number in 0..300 {
            series.add("provider", &format!("planted-{number}"), [refused("")]);
            // A peer of which nothing is to say.
            series.add("provider", &format!("quiet-{number}"), []);
        }
        series.add("provider", "turin", [certified("")]);
        let text = text(series);
        assert_eq!(text.matches("peer=\"planted-").count(), MOST_UNCERTIFIED);
        assert!(text.contains("peer=\"turin\",slice=\"\"} 7"), "{text}");
        let left_out = "identities_left_out{side=\"provider\",peer=\"\"} 200";
        assert!(text.contains(left_out), "{text}");
    }
}
