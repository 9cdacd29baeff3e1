//! How the providers of each version renew, and how a consumer requests a
//! renewal.

use core::time::Duration;

use liqo_auth::{
    audit::Decision,
    consumer::{Renewal, RenewalScheme},
    crypto::{Csr, Subject},
    error::PeerIncompatible,
    machine::{Effect, Notice},
    model::{
        AuthParams, IdentityType, Kind, LocalObjectReference, OwnerReference, Renew, Resource,
        ResourceSliceConditionStatus::Accepted, Timestamp, names,
    },
    policy::Policy,
};

use super::by;
use crate::{
    clusters::exchange::{ed25519, id},
    consumer::home::{self, HOUR, Home, IDENTITY, MINUTE, NAMESPACE, YEAR, object},
};

const NINETY_SECONDS: Duration = Duration::from_secs(90);

/// How a provider renews certificates.
#[derive(Clone, Copy, PartialEq)]
enum Liqo {
    /// By itself. It writes into every existing Renew.
    V12,
    /// On each event of a Renew with a request.
    V10,
    /// Never.
    Silent,
}

/// A provider, its certificate for the control plane, and the number of its
/// signatures.
struct Provider {
    version: Liqo,
    lifetime: Duration,
    present: Option<(AuthParams, Timestamp)>,
    signed: usize,
    /// The resource version of the last Renew that it handled.
    seen: String,
}

impl Provider {
    fn new(version: Liqo, lifetime: Duration) -> Self {
        Self {
            version,
            lifetime,
            present: None,
            signed: 0,
            seen: String::new(),
        }
    }

    fn acts(&mut self, home: &mut Home) {
        let now = home.now;
        let present = self
            .present
            .get_or_insert_with(|| (home.identity_of(IDENTITY).spec.auth_params, now));
        match self.version {
            Liqo::Silent => return,
            Liqo::V12 if now >= present.1 + self.lifetime / 3 * 2 => {
                *present = (home.issue(self.lifetime), now);
                self.signed += 1;
            }
            Liqo::V12 | Liqo::V10 => {}
        }
        let Some(renew) = home.renew() else {
            return;
        };
        if self.version == Liqo::V10 {
            if renew.spec.csr.is_empty() || renew.metadata.resource_version == self.seen {
                return;
            }
            let subject = Subject::control_plane(&id("cl-consumer"));
            let key = ed25519(1);
            let csr = renew.spec.csr.as_slice();
            Csr::verify(csr, &subject, key.public_key(), &Policy::strict()).unwrap();
            *present = (home.issue(self.lifetime), now);
            self.signed += 1;
        }
        if renew.status.auth_params.as_ref() != Some(&present.0) {
            home.answer_renew(present.0.clone());
        }
        self.seen = home.renew().unwrap().metadata.resource_version;
    }
}

/// Lets both sides work for this time. The consumer reconciles whenever it
/// asked to be woken. Returns the number of its requests and of its steps.
fn live(home: &mut Home, provider: &mut Provider, time: Duration) -> (usize, usize) {
    let end = home.now + time;
    let (mut asked, mut turns) = (0, 0);
    while home.now < end {
        let mut wake;
        loop {
            provider.acts(home);
            let step = home.turn();
            turns += 1;
            asked += step
                .events
                .iter()
                .filter(|event| event.decision == Decision::RenewalRequested)
                .count();
            wake = step.wait.wake_at;
            let before = home.objects.clone();
            provider.acts(home);
            if step.is_settled() && before == home.objects {
                break;
            }
            assert!(turns < 100_000, "it runs in circles");
        }
        assert_eq!(home.phase(), "Authenticated", "{}", home.now);
        // A provider that renews by itself works at its own times.
        let due = provider
            .present
            .as_ref()
            .map(|(_, at)| *at + provider.lifetime / 3 * 2)
            .filter(|due| *due > home.now && provider.version == Liqo::V12);
        let next = [wake.filter(|wake| *wake > home.now), due, Some(end)]
            .into_iter()
            .flatten()
            .min()
            .unwrap();
        home.now = next;
    }
    (asked, turns)
}

#[test]
fn the_channel_is_made_with_the_identity_as_in_liqo() {
    let home = Home::authenticated(YEAR);
    let renew = home.renew().unwrap();
    let identity = home.identity_of(IDENTITY);
    assert_eq!(
        renew.metadata.labels,
        [
            ("liqo.io/remote-cluster-id", "cl-provider"),
            ("liqo.io/remoteID", "cl-provider"),
            ("liqo.io/replication", "true"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into()
    );
    assert_eq!(
        renew.metadata.owner_references,
        [OwnerReference::controller(&identity)]
    );
    assert_eq!(renew.spec.consumer_cluster_id, "cl-consumer");
    assert_eq!(renew.spec.identity_type, IdentityType::ControlPlane);
    assert!(renew.spec.csr.is_empty() && renew.spec.public_key.is_empty());
}

/// What a step writes, in its order.
fn written(home: &mut Home) -> Vec<(Kind, String)> {
    let ids = home
        .turn()
        .effects
        .iter()
        .map(Effect::id)
        .collect::<Vec<_>>();
    ids.into_iter().map(|id| (id.kind, id.name)).collect()
}

#[test]
fn the_channel_comes_in_the_step_of_the_kubeconfig() {
    let mut home = Home::new();
    home.sign_nonce(7);
    let identity = home.identity(&home.issue(YEAR));
    home.receive(identity).unwrap();
    let kubeconfig = (Kind::Secret, names::kubeconfig_secret(IDENTITY));
    let of_identity = [Kind::Identity, Kind::Renew].map(|kind| (kind, IDENTITY.to_owned()));
    let [identity, channel] = of_identity;
    assert_eq!(
        written(&mut home),
        [kubeconfig.clone(), identity, channel.clone()]
    );
    assert!(home.turn().is_settled());

    // What is wrong with a channel that is there has a step of its own.
    let mut renew = home.renew().unwrap();
    renew.metadata.labels.remove("liqo.io/replication");
    home.objects.insert(renew.into());
    home.objects.remove(&object(Kind::Secret, &kubeconfig.1));
    assert_eq!(written(&mut home), [kubeconfig]);
    assert_eq!(written(&mut home), [channel]);
    assert!(home.turn().is_settled());
}

#[test]
fn a_renewal_that_is_due_delays_no_kubeconfig() {
    let mut home = Home::authenticated(HOUR);
    for id in [
        object(Kind::Secret, &names::kubeconfig_secret(IDENTITY)),
        object(Kind::Renew, IDENTITY),
    ] {
        home.objects.remove(&id);
    }
    home.now = home.now + 41 * MINUTE;
    let kubeconfig = (Kind::Secret, names::kubeconfig_secret(IDENTITY));
    assert_eq!(written(&mut home), [kubeconfig]);
    // The request takes a step of its own, since it may wait for the key.
    home.settle();
    assert!(!home.renew().unwrap().spec.csr.is_empty());
}

#[test]
fn a_provider_of_1_2_renews_by_itself() {
    for lifetime in [NINETY_SECONDS, HOUR, YEAR] {
        let mut home = Home::authenticated(lifetime);
        let mut provider = Provider::new(Liqo::V12, lifetime);
        let (asked, turns) = live(&mut home, &mut provider, lifetime * 8);
        assert_eq!(asked, 0);
        assert!((11..=12).contains(&provider.signed), "{}", provider.signed);
        assert!(turns < 150, "{turns}");
        assert_eq!(home.record()["renewedBy"], "Provider");
        assert!(
            home.notices
                .iter()
                .all(|notice| matches!(notice, Notice::ProviderUnproven))
        );
    }
}

#[test]
fn a_provider_of_1_0_is_recognized_and_asked_once_for_each_certificate() {
    for scheme in [RenewalScheme::ByEvidence, RenewalScheme::ByConsumer] {
        for lifetime in [NINETY_SECONDS, HOUR, YEAR] {
            let mut home = by(scheme, lifetime);
            assert_eq!(home.renew().is_some(), scheme == RenewalScheme::ByEvidence);
            let mut provider = Provider::new(Liqo::V10, lifetime);
            let (asked, turns) = live(&mut home, &mut provider, lifetime * 8);
            assert!((11..=12).contains(&asked), "{asked}");
            // Until the Renew is deleted, the provider handles its own answer
            // as an event.
            assert!(provider.signed <= 3 * asked, "{}", provider.signed);
            assert!(turns < 150, "{turns}");
            assert_eq!(home.record()["renewedBy"], "Consumer");
            assert_eq!(home.renew(), None);
        }
    }
}

#[test]
fn a_provider_that_never_answers_is_asked_once_and_reported() {
    for (scheme, asks) in [
        (RenewalScheme::ByEvidence, 1),
        (RenewalScheme::ByConsumer, 1),
        (RenewalScheme::ByProvider, 0),
    ] {
        let mut home = by(scheme, HOUR);
        let issued = home.now;
        let mut provider = Provider::new(Liqo::Silent, HOUR);
        let (asked, turns) = live(&mut home, &mut provider, HOUR);
        assert_eq!(asked, asks);
        assert!(turns < 20, "{turns}");
        let due = issued + 40 * MINUTE;
        home.turn();
        let [notice] = &home.notices[1..] else {
            panic!("{:?}", home.notices);
        };
        let Notice::CannotRenew { until, error, .. } = notice else {
            panic!("{notice:?}");
        };
        assert_eq!(*until, issued + HOUR);
        assert_eq!(
            error.fault(),
            &PeerIncompatible::RenewalUnanswered { since: due }.into()
        );
        let renewal = home.held().renewal;
        assert_eq!(renewal, Renewal::PeerCannot(error.clone()));
    }
}

#[test]
fn a_request_goes_through_all_its_stages() {
    let mut home = by(RenewalScheme::ByEvidence, HOUR);
    let issued = home.now;
    let due = issued + 40 * MINUTE;
    assert_eq!(home.held().renewal, Renewal::NotBefore(due));
    assert_eq!(home.settle().wait.wake_at, Some(due));
    home.now = due;
    assert_eq!(home.held().renewal, Renewal::Due);
    home.turn();
    let renew = home.renew().unwrap();
    assert_eq!(
        renew.spec.public_key.as_slice(),
        ed25519(1).public_key().to_tenant_field()
    );
    let subject = Subject::control_plane(&id("cl-consumer"));
    let request = Csr::make(&subject, &*ed25519(1))
        .unwrap()
        .at_once()
        .unwrap();
    assert_eq!(renew.spec.csr.as_slice(), request.pem());
    let until = due + 10 * MINUTE;
    assert_eq!(home.held().renewal, Renewal::Awaited { since: due, until });
    assert_eq!(home.settle().wait.wake_at, Some(until));
    home.answer_renew(home.issue(HOUR));
    assert_eq!(home.held().renewal, Renewal::Answered);
    home.settle();
    assert_eq!(home.renew(), None);
    assert_eq!(home.held().renewal, Renewal::NotBefore(due + 40 * MINUTE));
}

#[test]
fn renewal_by_hand_makes_no_request_and_reports_when_it_is_due() {
    let mut home = by(RenewalScheme::ByHand, HOUR);
    assert_eq!(home.renew(), None);
    let until = home.now + HOUR;
    home.now = home.now + 40 * MINUTE;
    assert!(home.turn().is_settled());
    let identity = object(Kind::Identity, IDENTITY);
    assert!(
        home.notices
            .contains(&Notice::CertificateDue { identity, until })
    );
    // An administrator brings the next Identity.
    let next = home.identity(&home.issue(HOUR));
    home.receive(next).unwrap();
    home.settle();
    assert_eq!(home.notices, [Notice::ProviderUnproven]);
    assert_eq!(home.renew(), None);
}

#[test]
fn a_slice_is_renewed_through_its_own_status_or_its_own_renew() {
    // Liqo 1.2 renews through the slice's status, without a Renew.
    let mut home = Home::with_slice(HOUR);
    home.answer_renew(home.identity_of(IDENTITY).spec.auth_params);
    home.now = home.now + 41 * MINUTE;
    home.settle();
    assert_eq!(home.get::<Renew>("resourceslice-mypool"), None);
    home.accept_slice(HOUR);
    home.settle();
    assert_eq!(home.slice_phase(), "Held");
    let status = home.slice().status.auth_params;
    assert_eq!(
        Some(home.identity_of("resourceslice-mypool").spec.auth_params),
        status
    );

    // Liqo 1.0 renews through a Renew that names the slice and has the first
    // request.
    let mut home = Home::with_slice(HOUR);
    home.now = home.now + 41 * MINUTE;
    home.settle();
    let mut renew: Renew = home.get("resourceslice-mypool").unwrap();
    assert_eq!(
        renew.spec.resource_slice_ref,
        Some(LocalObjectReference {
            name: "mypool".to_owned()
        })
    );
    assert_eq!(renew.spec.identity_type, IdentityType::ResourceSlice);
    assert_eq!(renew.spec.csr, home.slice().spec.csr);
    let given = home.issue_slice(HOUR);
    renew.status.auth_params = Some(given.clone());
    home.objects.insert(renew.into());
    home.settle();
    assert_eq!(home.get::<Renew>("resourceslice-mypool"), None);
    assert_eq!(
        home.identity_of("resourceslice-mypool").spec.auth_params,
        given
    );
    assert_eq!(home.slice_phase(), "Held");
    // The slice's own status has the old certificate at first, and the new one
    // later.
    assert!(home.turn().is_settled());
    home.answer_slice(Accepted, Some(given));
    assert!(home.turn().is_settled());
    assert_eq!(home.refused, []);
}

#[test]
fn a_renewal_that_liqo_began_is_completed() {
    // Liqo 1.1 has requested a renewal. Its Renew exists, but no record of
    // ours.
    let mut home = by(RenewalScheme::ByConsumer, HOUR);
    home.now = home.now + 41 * MINUTE;
    home.settle();
    home.answer_renew(home.issue(HOUR));
    home.objects.remove(&liqo_auth::model::ObjectRef::new(
        Kind::Secret,
        "liqo",
        home::RECORD,
    ));
    let given = home.renew().unwrap().status.auth_params.unwrap();
    home.settle();
    assert_eq!(home.identity_of(IDENTITY).spec.auth_params, given);
    assert_eq!(home.renew(), None);
    assert_eq!(home.phase(), "Authenticated");
}

#[test]
fn changed_labels_and_fields_of_a_renew_are_restored() {
    let mut home = Home::authenticated(HOUR);
    let mut renew = home.renew().unwrap();
    let right = renew.clone();
    renew.metadata.labels.clear();
    renew.spec.consumer_cluster_id = "cl-other".to_owned();
    renew
        .metadata
        .annotations
        .insert("of".to_owned(), "others".to_owned());
    home.objects.insert(renew.into());
    home.settle();
    let renew = home.renew().unwrap();
    assert_eq!(renew.metadata.labels, right.metadata.labels);
    assert_eq!(renew.spec, right.spec);
    assert_eq!(renew.metadata.annotations.get("of").unwrap(), "others");
    assert_eq!(renew.id().namespace, NAMESPACE);
}
