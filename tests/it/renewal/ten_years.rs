//! One peering through ten years of virtual time: with renewals, a new key, a
//! cordon, a drain, and jumps of the clock.

use core::time::Duration;
use std::sync::Arc;

use liqo_auth::{
    Consumer,
    consumer::{self, ConsumerConfig, SliceOptions},
    crypto::{CertificateChain, KeysByProvider, SigningKey},
    model::{
        Identity, Kubeconfig, ResourceSliceConditionStatus, ResourceSliceConditionType,
        TenantCondition, Timestamp, UserCredential,
    },
    policy::Policy,
    provider::SlicePhase,
};

use crate::clusters::{
    exchange::{Exchange, Setup, ed25519, id},
    identities::differing_identities,
    notary::{DAY, Notary, YEAR},
};

const LIFETIME: Duration = Duration::from_secs(90 * 86_400);

#[test]
fn a_peering_lives_for_ten_years() {
    let notary = Notary::new(30 * YEAR);
    let mut two = Setup::new().exchange();
    two.provider = notary
        .provider(|builder| builder.configure(|config| config.certificate_lifetime = LIFETIME));
    let begin = two.now;
    two.settle();
    let options = SliceOptions::named("mypool");
    let step = two
        .consumer
        .request_slice(&two.consumer_view(), &options, two.env())
        .unwrap();
    two.carry_out(false, step);
    let mut life = Life { two, longest: 0 };
    life.rest();
    life.holds("at the beginning");

    life.until(begin + 2 * YEAR);
    // One clock is a month ahead and is set right later; another falls behind
    // by three days.
    for jump in [Jump::Ahead(30 * DAY), Jump::Behind(3 * DAY)] {
        let right = life.two.now;
        life.two.now = match jump {
            Jump::Ahead(by) => right + by,
            Jump::Behind(by) => right - by,
        };
        life.rest();
        life.two.now = right + DAY;
        life.rest();
        life.holds("after a jump");
    }

    life.until(begin + 3 * YEAR);
    life.condition(TenantCondition::Cordoned);
    life.until(begin + 3 * YEAR + 200 * DAY);
    life.holds("cordoned, renewed and all");
    life.condition(TenantCondition::Active);

    life.until(begin + 5 * YEAR);
    life.rotate_the_key();
    life.holds("with a new key");

    life.until(begin + 7 * YEAR);
    life.condition(TenantCondition::Drained);
    life.until(begin + 7 * YEAR + 20 * DAY);
    assert_eq!(life.two.provider_phase().name(), "Drained");
    life.condition(TenantCondition::Active);
    life.holds("after the drain");

    life.until(begin + 10 * YEAR);
    life.holds("at the end");

    // Each of two certificates is due after 60 of its 90 days. In addition,
    // each jump may cost each certificate one renewal there and one back; the
    // new key costs one; and after the drain the slice gets a new certificate.
    let needed = 2 * (10 * 365 / 60 + 1);
    let besides = 2 * 2 * 2 + 2 + 2;
    assert!(
        notary.signed() <= needed + besides,
        "{} signed, {needed} needed",
        notary.signed()
    );
    assert!(notary.signed() >= needed - 4, "{} signed", notary.signed());
    assert!(life.longest <= 12, "{} looks to come to rest", life.longest);
}

enum Jump {
    Ahead(Duration),
    Behind(Duration),
}

/// Both clusters, and how long they needed to settle.
struct Life {
    two: Exchange,
    longest: usize,
}

impl Life {
    /// Lets time pass, always to the next moment at which one side asked to be
    /// woken.
    fn until(&mut self, end: Timestamp) {
        loop {
            let wake = self.rest();
            let now = self.two.now;
            assert!(
                wake.is_none_or(|wake| wake > now),
                "{wake:?} is not after {now}"
            );
            let next = wake.map_or(end, |wake| wake.min(end));
            self.two.now = next;
            if next == end {
                self.rest();
                return;
            }
        }
    }

    /// Lets both sides work and replicates the shared objects, until nothing
    /// changes. Returns when the first of them asked to be woken.
    fn rest(&mut self) -> Option<Timestamp> {
        for looks in 1..=64 {
            let two = &mut self.two;
            let before = (two.at_provider.clone(), two.at_consumer.clone());
            two.refused.clear();
            let at_provider = two.turn_of_provider();
            for message in ["nonce", "Tenant", "Identity"] {
                two.deliver(message);
            }
            two.replicate();
            let at_consumer = two.turn_of_consumer();
            if before == (two.at_provider.clone(), two.at_consumer.clone()) {
                assert_eq!(two.refused, [], "at {}", two.now);
                self.longest = self.longest.max(looks);
                let times = [at_provider.wait.wake_at, at_consumer.wait.wake_at];
                return times.into_iter().flatten().min();
            }
        }
        panic!("no rest at {}", self.two.now);
    }

    fn condition(&mut self, condition: TenantCondition) {
        let two = &mut self.two;
        let step = two.provider.set_condition(&two.provider_view(), condition);
        two.carry_out(true, step.unwrap());
        self.rest();
    }

    /// From now on, the consumer has a separate key for this provider. The
    /// provider makes a nonce for the new key.
    fn rotate_the_key(&mut self) {
        let cluster_key: Arc<dyn SigningKey> = ed25519(1);
        let keys = KeysByProvider::new(Arc::clone(&cluster_key)).insert(
            id("cl-provider"),
            ed25519(50),
            Some(cluster_key),
        );
        self.two.consumer = Consumer::new(ConsumerConfig::new(id("cl-consumer")), Arc::new(keys));
        self.rest();
        let two = &mut self.two;
        let step = two
            .provider
            .replace_nonce(&two.provider_view(), two.env())
            .unwrap();
        two.carry_out(true, step);
        self.rest();
        let consumer::Phase::Authenticated(held) = self.two.consumer_phase() else {
            panic!("{:?}", self.two.consumer_phase());
        };
        assert_eq!(held.accepted.key(), ed25519(50).public_key());
    }

    /// Both sides are authenticated, and both identities can be used: their
    /// certificates are valid now and are for the key in the kubeconfig.
    fn holds(&self, when: &str) {
        let two = &self.two;
        let authenticated = ("Authenticated", "Authenticated");
        assert_eq!(two.phases(), authenticated, "{when}");
        let view = two.provider_view();
        let peering = two.provider.look(&view, two.now).unwrap();
        let [slice] = &peering.slices[..] else {
            panic!("{when}: {} slices", peering.slices.len());
        };
        assert!(matches!(slice.phase, SlicePhase::Accepted(_)), "{when}");
        let differing = differing_identities(&two.at_consumer, &two.at_provider, two.now);
        assert_eq!(differing, Vec::<String>::new(), "{when}");
        let kubeconfigs = ["controlplane-cl-provider", "resourceslice-mypool"];
        for identity in kubeconfigs {
            let chain = self.certificate_in_kubeconfig(identity);
            let leaf = chain.leaf();
            assert!(
                leaf.not_before <= two.now && two.now < leaf.not_after,
                "{when}: {identity} at {}",
                two.now
            );
        }
        let slice: &liqo_auth::model::ResourceSlice = two
            .at_consumer
            .get("liqo-tenant-cl-provider", "mypool")
            .unwrap();
        let resources = slice
            .status
            .condition(ResourceSliceConditionType::Resources)
            .unwrap();
        assert_eq!(
            resources.status,
            ResourceSliceConditionStatus::Accepted,
            "{when}"
        );
    }

    fn certificate_in_kubeconfig(&self, identity: &str) -> CertificateChain {
        let namespace = "liqo-tenant-cl-provider";
        let stored: &Identity = self.two.at_consumer.get(namespace, identity).unwrap();
        let secret: &liqo_auth::model::Secret = self
            .two
            .at_consumer
            .get(namespace, &format!("kubeconfig-{identity}"))
            .unwrap();
        let text = core::str::from_utf8(secret.data["kubeconfig"].expose()).unwrap();
        let UserCredential::KeyData { certificate, .. } =
            Kubeconfig::parse(text).unwrap().credential
        else {
            panic!("no key in the kubeconfig of {identity}");
        };
        assert_eq!(
            certificate.as_slice(),
            stored.spec.auth_params.signed_crt.as_slice()
        );
        CertificateChain::from_pem(certificate.as_slice(), &Policy::strict()).unwrap()
    }
}
