//! The name of a slice's user belongs to the slice until its last certificate
//! has ended, and no other peer takes or blocks it.

use core::time::Duration;
use std::sync::Arc;

use liqo_auth::{
    Machine,
    consumer::{Consumer, ConsumerConfig},
    crypto::{Answer, Entropy, OneKey, RecordKey, Subject},
    error::{Fault, PolicyRefusal},
    machine::{Follower, Mirror, Watch},
    model::{ClusterId, Metadata, Object, ResourceSliceConditionStatus as Said, Secret, names},
    provider::NameRegistry,
};

use crate::clusters::{
    exchange::{self, Exchange, Setup, ed25519, id},
    pool::{Pool, consumer, replica},
    store,
};

const ACCEPTED: [Option<Said>; 2] = [Some(Said::Accepted), Some(Said::Accepted)];
const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

/// A provider whose names come from a registry that follows a mirror.
struct Cluster {
    pool: Pool,
    registry: Arc<NameRegistry>,
}

impl Cluster {
    fn new() -> Self {
        let record_key = RecordKey::new(exchange::RECORD_KEY).unwrap();
        let entropy = Entropy::from_bytes([3; 32]);
        let registry = NameRegistry::new(id("cl-provider"), record_key, &entropy);
        let registry = Arc::new(registry);
        let names = Arc::clone(&registry);
        let pool = Pool::with(|builder| builder.principals(names));
        let cluster = Self { pool, registry };
        cluster.show();
        cluster
    }

    /// The mirror lists what is stored now, and the registry follows it.
    fn show(&self) {
        let registry = Arc::clone(&self.registry);
        let mut mirror = Mirror::new(self.pool.provider.watches()).with_follower(registry.clone());
        let watches: Vec<Watch> = mirror.watches().cloned().collect();
        let stored: Vec<&Object> = self.pool.at_provider.iter().collect();
        for watch in watches {
            let covered = stored.iter().filter(|object| watch.covers(object));
            mirror
                .relist(&watch, covered.map(|object| (*object).clone()))
                .unwrap();
        }
    }

    /// The registry forgets what is gone, as the mirror would have it do.
    fn settle(&mut self) {
        for _ in 0..4 {
            let before: Vec<Object> = self.pool.at_provider.iter().cloned().collect();
            self.pool.settle();
            for object in &before {
                let is_gone = !self
                    .pool
                    .at_provider
                    .iter()
                    .any(|it| it.id() == object.id());
                if is_gone {
                    self.registry.forget(&object.id());
                }
            }
            self.show();
        }
    }

    /// Whether a peer of this name is refused, since a user has the name.
    fn refuses(&self, peer: &ClusterId) -> bool {
        let mut exchange: Exchange = Setup::new().exchange();
        exchange.provider = self.pool.provider.clone();
        exchange.consumer = Consumer::new(
            ConsumerConfig::new(peer.clone()),
            Arc::new(OneKey(ed25519(9))),
        );
        exchange.at_provider = self.pool.at_provider.clone();
        exchange.at_consumer = store::empty();
        exchange.now = self.pool.now;
        exchange.settle();
        let taken = Fault::Policy(PolicyRefusal::NameTaken {
            name: peer.to_string(),
        });
        let is_refused = exchange.refused.iter().any(|it| *it.fault() == taken);
        assert_ne!(is_refused, exchange.phases().0 == "Authenticated");
        is_refused
    }
}

/// The user of `mypool`, as the name of a cluster.
fn user() -> ClusterId {
    let subject = Subject::resource_slice("mypool", &consumer());
    subject.common_name().parse().unwrap()
}

#[test]
fn the_user_of_a_deleted_slice_stays_taken_until_its_certificate_ends() {
    let mut cluster = Cluster::new();
    cluster.pool.bring(replica("mypool"));
    cluster.settle();
    assert_eq!(cluster.pool.said("mypool"), ACCEPTED);
    assert!(cluster.refuses(&user()));
    let until = cluster.pool.certificate("mypool").leaf().not_after;

    cluster.pool.remove("mypool");
    cluster.settle();
    assert_eq!(cluster.pool.kept("mypool"), None);
    assert!(cluster.refuses(&user()));

    cluster.pool.now = until;
    cluster.settle();
    assert!(cluster.refuses(&user()));
    assert!(cluster.pool.wake_at.is_some_and(|at| at > until));
    cluster.pool.now = until + Duration::from_secs(1);
    cluster.settle();
    assert!(!cluster.refuses(&user()));
    assert_eq!(cluster.pool.records().len(), 0);
}

#[test]
fn the_user_of_an_earlier_slice_of_the_same_name_stays_taken() {
    let mut cluster = Cluster::new();
    cluster.pool.bring(replica("mypool"));
    cluster.settle();
    cluster.pool.remove("mypool").settle();
    // The next one of that name asks for nothing and goes, too.
    let mut empty = replica("mypool");
    empty.spec.csr = Vec::new().into();
    cluster.pool.bring(empty);
    cluster.settle();
    assert!(cluster.refuses(&user()));
    cluster.pool.remove("mypool");
    cluster.settle();
    assert!(cluster.refuses(&user()));
    // It is the peer's own name all the time.
    cluster.pool.bring(replica("mypool"));
    cluster.settle();
    assert_eq!(cluster.pool.said("mypool"), ACCEPTED);
}

/// The peer makes the slice anew between two looks, and nobody signs the new request.
#[test]
fn the_user_of_a_slice_that_was_replaced_stays_taken() {
    let mut cluster = Cluster::new();
    cluster.pool.bring(replica("mypool"));
    cluster.settle();
    cluster.pool.signer.answer(Some(Answer::Pending));
    cluster.pool.remove("mypool");
    cluster.pool.bring(replica("mypool"));
    cluster.settle();
    assert_eq!(cluster.pool.phase("mypool"), "NeedsCredential");
    cluster.pool.remove("mypool");
    cluster.settle();
    cluster.pool.signer.answer(None);
    assert!(cluster.refuses(&user()));
    cluster.pool.wait(YEAR + YEAR);
    cluster.settle();
    assert!(!cluster.refuses(&user()));
}

#[test]
fn the_user_of_a_slice_without_labels_stays_taken() {
    let mut cluster = Cluster::new();
    cluster.pool.bring(replica("mypool"));
    cluster.settle();
    cluster
        .pool
        .edit("mypool", |slice| slice.metadata.labels.clear());
    cluster.settle();
    assert_eq!(cluster.pool.phase("mypool"), "Refused");
    assert!(cluster.refuses(&user()));
    // A new one of that name never has labels. It is no slice of the peer.
    cluster.pool.remove("mypool");
    let mut bare = replica("mypool");
    bare.metadata.labels.clear();
    cluster.pool.bring(bare);
    cluster.settle();
    assert_eq!(cluster.pool.phase("mypool"), "none");
    assert!(cluster.refuses(&user()));
}

#[test]
fn the_user_of_a_slice_stays_taken_after_the_end_of_its_peering() {
    let mut cluster = Cluster::new();
    cluster.pool.bring(replica("mypool"));
    cluster.settle();
    cluster.pool.remove("mypool");
    cluster.settle();
    cluster
        .pool
        .administer(|provider, objects, _| provider.end(&objects.view(&consumer())));
    cluster.settle();
    assert!(cluster.refuses(&user()));
    assert!(cluster.pool.reconcile().is_settled());
    cluster.pool.wait(YEAR + YEAR);
    cluster.settle();
    assert!(!cluster.refuses(&user()));
    assert_eq!(cluster.pool.records().len(), 0);
}

#[test]
fn a_record_that_a_peer_plants_takes_no_name() {
    let mut cluster = Cluster::new();
    let planted = |namespace: &str, from: Option<&Secret>| {
        Object::from(Secret {
            metadata: Metadata {
                name: format!("liqo-auth-provider-{}", user()),
                namespace: namespace.to_owned(),
                labels: [
                    (names::RECORD_PEER_LABEL.to_owned(), user().to_string()),
                    (
                        names::REMOTE_CLUSTER_ID_LABEL.to_owned(),
                        user().to_string(),
                    ),
                ]
                .into(),
                ..Metadata::default()
            },
            data: from.map(|from| from.data.clone()).unwrap_or_default(),
            ..Secret::default()
        })
    };
    // The attacker's own namespace; and the provider's, with the seal of
    // another record.
    let own = cluster
        .pool
        .secret("liqo", "liqo-auth-provider-cl-consumer");
    let own = own.cloned();
    let attacks = [
        planted("liqo-tenant-cl-attacker", None),
        planted("liqo-tenant-cl-attacker", own.as_ref()),
        planted("liqo", own.as_ref()),
    ];
    for attack in attacks {
        cluster.pool.at_provider.insert(attack);
    }
    cluster.show();
    cluster.pool.bring(replica("mypool"));
    cluster.settle();
    assert_eq!(cluster.pool.refused, []);
    assert_eq!(cluster.pool.said("mypool"), ACCEPTED);
}
