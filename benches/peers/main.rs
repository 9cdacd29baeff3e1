//! One provider with one, a thousand and a million peers: how long a look at
//! one of them takes, and what the look-up of names costs for each.
//!
//! ```sh
//! cargo bench --bench peers             # 1, 1,000 and 1,000,000 peers
//! cargo bench --bench peers -- 100000   # 1, 1,000 and as many
//! ```
#![allow(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a benchmark has a clock, and stops at the first thing that goes wrong"
)]

use std::{
    hint::black_box,
    sync::Arc,
    time::{Duration, Instant},
};

use liqo_auth::{
    Consumer, Env, Provider, Step, View,
    crypto::{Authority, Csr, Entropy, KeyPair, OneKey, RecordKey, Subject},
    machine::Objects,
    model::{
        ApiServerUrl, ClusterId, ClusterRole, ClusterRoleBinding, Metadata, Object, RbacSubject,
        ResourceSlice, ResourceSliceSpec, RoleBinding, Secret, Tenant, Timestamp, names,
    },
    provider::{AuthoritySigner, Endpoint, NameRegistry, Phase, SlicePhase},
};

fn main() {
    let most = std::env::args()
        .skip(1)
        .find_map(|argument| argument.parse().ok())
        .unwrap_or(1_000_000);
    let sizes = [1, 1000, most];
    let mut providers = Vec::new();
    for peers in sizes {
        let before = resident();
        let registry = Arc::new(NameRegistry::new(&entropy(1)));
        let started = Instant::now();
        for number in 0..peers {
            for object in claims_of(number) {
                registry.observe(&object);
            }
        }
        println!(
            "{peers:>9} peers, three slices each: look-up filled in {:.1?}, {} names, {} bytes for each peer",
            started.elapsed(),
            registry.len(),
            resident().saturating_sub(before) / peers,
        );
        providers.push(provider(registry));
    }

    let known: Vec<(ClusterId, Vec<Object>)> = (0..KNOWN)
        .map(|number| authenticated(&providers[0], number))
        .collect();
    let mut times = vec![Vec::new(); sizes.len()];
    for round in 0..ROUNDS {
        for (provider, times) in providers.iter().zip(&mut times) {
            let (peer, objects) = &known[round % known.len()];
            // As they come from elsewhere: fresh for each look.
            let objects: Vec<Object> = objects.clone();
            let view = View::of(peer, &objects);
            let started = Instant::now();
            let status = provider.look(&view, now()).unwrap();
            let step = provider.reconcile(&view, env()).unwrap();
            times.push(started.elapsed());
            assert!(matches!(status.phase, Phase::Authenticated(_)));
            let phases: Vec<&str> = status
                .slices
                .iter()
                .map(|slice| slice.phase.name())
                .collect();
            assert_eq!(phases, ["Accepted", "NeedsRecord"]);
            assert!(matches!(status.slices[1].phase, SlicePhase::NeedsRecord(_)));
            assert_eq!((step.effects.len(), step.refused.len()), (1, 0));
            black_box(step);
        }
    }
    let medians: Vec<Duration> = times.iter_mut().map(|times| median(times)).collect();
    println!(
        "\nA look at a peer with a settled slice and a new one (resume, reconcile, two name questions each):"
    );
    for (peers, median) in sizes.iter().zip(&medians) {
        let ratio = median.as_secs_f64() / medians[0].as_secs_f64();
        println!("{peers:>9} peers: {median:>10.1?}   {ratio:.3} of one peer's");
    }
}

/// What the objects of one synthetic peer claim.
fn claims_of(number: usize) -> Vec<Object> {
    let name = format!("peer-{number}");
    let peer: ClusterId = name.parse().unwrap();
    let labels: std::collections::BTreeMap<String, String> = [
        (names::REMOTE_CLUSTER_ID_LABEL, name.as_str()),
        (names::MANAGED_BY_LABEL, names::MANAGED_BY_LIQO),
        (names::RECORD_PEER_LABEL, name.as_str()),
        (names::REPLICATED_LABEL, "true"),
        (names::REPLICATION_ORIGIN_LABEL, name.as_str()),
    ]
    .map(|(key, value)| (key.to_owned(), value.to_owned()))
    .into();
    let metadata = |namespace: String, name: String| Metadata {
        name,
        namespace,
        labels: labels.clone(),
        ..Metadata::default()
    };
    let namespace = || names::tenant_namespace(&peer);
    let mut tenant = Tenant {
        metadata: metadata(namespace(), name.clone()),
        ..Tenant::default()
    };
    tenant.spec.cluster_id.clone_from(&name);
    let record = Secret {
        metadata: metadata("liqo".to_owned(), format!("liqo-auth-provider-{name}")),
        ..Secret::default()
    };
    let binding = RoleBinding {
        metadata: metadata(
            namespace(),
            "liqo-binding-liqo-remote-controlplane".to_owned(),
        ),
        subjects: vec![RbacSubject::user(&name)],
        ..RoleBinding::default()
    };
    let cluster_wide = names::cluster_role_binding("liqo-virtual-kubelet", &peer);
    let cluster_binding = ClusterRoleBinding {
        metadata: metadata(String::new(), cluster_wide),
        subjects: vec![RbacSubject::group(&name)],
        ..ClusterRoleBinding::default()
    };
    let mut objects = vec![
        tenant.into(),
        record.into(),
        binding.into(),
        cluster_binding.into(),
    ];
    for slice in ["pool", "gpu", "edge"] {
        let slice = ResourceSlice {
            metadata: metadata(namespace(), slice.to_owned()),
            spec: ResourceSliceSpec {
                consumer_cluster_id: Some(name.clone()),
                ..ResourceSliceSpec::default()
            },
            ..ResourceSlice::default()
        };
        objects.push(slice.into());
    }
    objects
}

/// A peer that has gone through the handshake, with a slice that is accepted
/// and one that has just come.
fn authenticated(provider: &Provider, number: usize) -> (ClusterId, Vec<Object>) {
    let name: ClusterId = format!("known-{number}").parse().unwrap();
    let key = Arc::new(KeyPair::from_entropy(&entropy(number as u8)));
    let consumer = Consumer::builder(name.clone(), Arc::new(OneKey(key.clone()))).build();
    let (mut here, mut there) = (roles(), Objects::new());
    let nonce = provider.invite(&here.view(&name), env()).unwrap();
    apply(&mut here, &nonce);
    for nonce in nonce.outbox {
        let step = consumer
            .receive(&there.view(provider.cluster_id()), nonce, env())
            .unwrap();
        apply(&mut there, &step);
        for tenant in step.outbox {
            let step = provider.receive(&here.view(&name), tenant, env()).unwrap();
            apply(&mut here, &step);
        }
    }
    settle(provider, &name, &mut here);
    here.insert(slice(&name, "settled", &key).into());
    settle(provider, &name, &mut here);
    here.insert(slice(&name, "trial", &key).into());
    (name, here.iter().cloned().collect())
}

fn slice(consumer: &ClusterId, name: &str, key: &KeyPair) -> ResourceSlice {
    let labels = [
        (names::REMOTE_CLUSTER_ID_LABEL, consumer.as_str()),
        (names::REPLICATED_LABEL, "true"),
        (names::REPLICATION_ORIGIN_LABEL, consumer.as_str()),
    ];
    let subject = Subject::resource_slice(name, consumer);
    ResourceSlice {
        metadata: Metadata {
            name: name.to_owned(),
            namespace: names::tenant_namespace(consumer),
            labels: labels
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .into(),
            ..Metadata::default()
        },
        spec: ResourceSliceSpec {
            consumer_cluster_id: Some(consumer.to_string()),
            resources: [("cpu".to_owned(), "2".into())].into(),
            csr: Csr::make(&subject, key).unwrap().pem().into(),
            ..ResourceSliceSpec::default()
        },
        ..ResourceSlice::default()
    }
}

fn settle(provider: &Provider, peer: &ClusterId, objects: &mut Objects) {
    for _ in 0..16 {
        let step = provider.reconcile(&objects.view(peer), env()).unwrap();
        assert_eq!(step.refused, []);
        if step.is_settled() {
            return;
        }
        apply(objects, &step);
    }
    panic!("{peer} does not settle");
}

fn apply(objects: &mut Objects, step: &Step) {
    for effect in &step.effects {
        objects.apply(effect).unwrap();
    }
}

fn provider(registry: Arc<NameRegistry>) -> Provider {
    let authority = Authority::new("provider-ca", now(), 10 * YEAR, &entropy(2)).unwrap();
    let url: ApiServerUrl = "https://provider.example:6443".parse().unwrap();
    let endpoint = Endpoint::new(url, Some(authority.ca_bundle()));
    Provider::builder(
        "provider".parse().unwrap(),
        endpoint,
        RecordKey::new([1; 32]).unwrap(),
    )
    .signer(Arc::new(AuthoritySigner::new(authority, entropy(4))))
    .principals(registry)
    .build()
}

fn roles() -> Objects {
    [
        ("liqo-remote-controlplane", names::CONTROL_PLANE_ROLE),
        ("liqo-virtual-kubelet", names::CLUSTER_WIDE_ROLE),
    ]
    .into_iter()
    .map(|(name, label)| {
        Object::from(ClusterRole {
            metadata: Metadata {
                name: name.to_owned(),
                labels: [(names::APP_NAME_LABEL.to_owned(), label.to_owned())].into(),
                ..Metadata::default()
            },
            ..ClusterRole::default()
        })
    })
    .collect()
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// Resident memory of this process in bytes; 0 where the system does not say.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse().ok());
    pages.unwrap_or(0_usize) * 4096
}

fn env() -> Env {
    Env {
        now: now(),
        entropy: entropy(5),
    }
}

/// Not random at all: that costs the same each time.
fn entropy(byte: u8) -> Entropy {
    Entropy::from_bytes([byte; 32])
}

fn now() -> Timestamp {
    Timestamp::from_unix(1_795_179_600).unwrap()
}

const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
/// How many peers are looked at in turn.
const KNOWN: usize = 200;
const ROUNDS: usize = 4000;
