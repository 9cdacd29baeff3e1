//! Measures a provider with one peer, with a thousand and with a hundred thousand
//! peers that have completed the handshake: the time to reconcile one peer, and the
//! memory of a settled peer in the mirror and in the look-up of names.
//!
//! ```sh
//! cargo bench --bench peers             # 1, 1,000 and 100,000 peers
//! cargo bench --bench peers -- 10000    # 1, 1,000 and 10,000 peers
//! ```
//!
//! The exchanges take about two milliseconds each.
#![allow(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a benchmark has a clock, and stops at the first failure"
)]

use std::{
    hint::black_box,
    sync::Arc,
    time::{Duration, Instant},
};

use liqo_auth::{
    Consumer, Env, Machine, Provider, Step,
    consumer::ConsumerConfig,
    crypto::{Authority, Csr, Entropy, KeyPair, OneKey, RecordKey, Subject},
    machine::{Mirror, Objects, Watch},
    model::{
        ApiServerUrl, ClusterId, ClusterRole, Metadata, Object, Resource, ResourceSlice,
        ResourceSliceSpec, Timestamp, names,
    },
    provider::{AuthoritySigner, Endpoint, NameRegistry},
};

fn main() {
    let most = std::env::args()
        .skip(1)
        .find_map(|argument| argument.parse().ok())
        .unwrap_or(100_000);

    println!("Memory of a settled peer, of {most}:");
    // All clusters are kept until the end, because freed memory would be reused.
    let mut settled = Vec::new();
    for slices in [0, 1] {
        let before = resident();
        let mut cluster = Cluster::new();
        let started = Instant::now();
        (0..most).for_each(|number| cluster.settle(number, slices));
        let each = resident().saturating_sub(before) / most;
        let objects = (cluster.mirror.len() - ROLES.len()) / most;
        println!(
            "  with {slices} slices: {each:>6} bytes for {objects} objects and their names ({:.0?})",
            started.elapsed()
        );
        settled.push(cluster);
    }

    let sizes = [1, 1000, most];
    // For one peer, as many clusters as measured peers. Otherwise the smallest size
    // would benefit from a warm cache.
    let mut clusters: Vec<Vec<Cluster>> = Vec::new();
    for peers in sizes {
        let (number, each) = if peers == 1 { (KNOWN, 1) } else { (1, peers) };
        let clusters_of_size = (0..number).map(|first| {
            let mut cluster = match (peers == most).then(|| settled.pop()).flatten() {
                Some(cluster) => cluster,
                None => {
                    let mut cluster = Cluster::new();
                    (first..first + each).for_each(|number| cluster.settle(number, 1));
                    cluster
                }
            };
            (first..first + each.min(KNOWN)).for_each(|number| cluster.bring_slice(number));
            cluster
        });
        clusters.push(clusters_of_size.collect());
    }
    let mut views = vec![Vec::new(); sizes.len()];
    let mut looks = vec![Vec::new(); sizes.len()];
    for round in 0..ROUNDS {
        let number = round % KNOWN;
        for (at, clusters) in clusters.iter().enumerate() {
            let cluster = &clusters[number % clusters.len()];
            let peer = peer(number);
            let started = Instant::now();
            let view = cluster.mirror.view(&peer).unwrap();
            views[at].push(started.elapsed());
            let step = cluster.provider.reconcile(&view, env()).unwrap();
            looks[at].push(started.elapsed());
            // The peer's record counts the request of the new slice, and the
            // slice's record stores it.
            assert_eq!((step.effects.len(), step.refused.len()), (2, 0));
            black_box(step);
        }
    }
    println!(
        "\nReconciling a peer with a settled slice and a new one (view, reconcile, name question):"
    );
    let medians = |times: &mut Vec<Vec<Duration>>| -> Vec<Duration> {
        times.iter_mut().map(|times| median(times)).collect()
    };
    let (views, looks) = (medians(&mut views), medians(&mut looks));
    for ((peers, view), look) in sizes.iter().zip(views).zip(&looks) {
        let ratio = look.as_secs_f64() / looks[0].as_secs_f64();
        println!(
            "{peers:>9} peers: {look:>10.1?}   {ratio:.3} of one peer's   (view alone {view:.1?})"
        );
    }
}

/// A provider's cluster, as its controller sees it.
struct Cluster {
    provider: Provider,
    mirror: Mirror,
    watches: Vec<Watch>,
}

impl Cluster {
    fn new() -> Self {
        let record_key = RecordKey::new([1; 32]).unwrap();
        let registry = NameRegistry::new("provider".parse().unwrap(), record_key, &entropy(1));
        let registry = Arc::new(registry);
        let provider = provider(Arc::clone(&registry));
        let mut mirror = Mirror::new(provider.watches()).with_follower(registry);
        let watches: Vec<Watch> = mirror.watches().cloned().collect();
        for watch in &watches {
            mirror.relist(watch, []).unwrap();
        }
        let mut cluster = Self {
            provider,
            mirror,
            watches,
        };
        roles().iter().for_each(|role| cluster.observe(role));
        cluster
    }

    /// Observes an object in the mirror, as the API server's watch would show
    /// it.
    fn observe(&mut self, object: &Object) {
        let mut seen = false;
        for watch in self.watches.iter().filter(|watch| watch.covers(object)) {
            self.mirror.observe(watch, object.clone()).unwrap();
            seen = true;
        }
        assert!(seen, "{} is watched", object.id());
    }

    /// Completes the handshake with a peer, and signs its slices.
    fn settle(&mut self, number: usize, slices: usize) {
        let (name, key) = (peer(number), key(number));
        let consumer = Consumer::new(
            ConsumerConfig::new(name.clone()),
            Arc::new(OneKey(key.clone())),
        );
        let (mut here, mut there) = (roles(), Objects::new(&entropy(5)));
        let nonce = self.provider.invite(&here.view(&name), env()).unwrap();
        apply(&mut here, &nonce);
        for nonce in nonce.outbox {
            let provider = self.provider.cluster_id();
            let step = consumer
                .receive(&there.view(provider), nonce, env())
                .unwrap();
            apply(&mut there, &step);
            for tenant in step.outbox {
                let step = self
                    .provider
                    .receive(&here.view(&name), tenant, env())
                    .unwrap();
                apply(&mut here, &step);
            }
        }
        settle(&self.provider, &name, &mut here);
        for slice in 0..slices {
            here.insert(self::slice(&name, &format!("settled-{slice}"), &key).into());
        }
        settle(&self.provider, &name, &mut here);
        for object in here
            .iter()
            .filter(|object| object.id().kind != ClusterRole::KIND)
        {
            self.observe(object);
        }
    }

    /// Adds a new slice of a peer.
    fn bring_slice(&mut self, number: usize) {
        let mut slice = slice(&peer(number), "trial", &key(number));
        slice.metadata.uid = format!("trial-{number}");
        self.observe(&slice.into());
    }
}

fn peer(number: usize) -> ClusterId {
    format!("peer-{number:06}").parse().unwrap()
}

fn key(number: usize) -> Arc<KeyPair> {
    let mut bytes = [7; 32];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    Arc::new(KeyPair::from_entropy(&Entropy::from_bytes(bytes)))
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
            csr: Csr::make(&subject, key)
                .unwrap()
                .at_once()
                .unwrap()
                .pem()
                .into(),
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
    let mut objects = Objects::new(&entropy(6));
    objects.extend(ROLES.map(|(name, label)| {
        Object::from(ClusterRole {
            metadata: Metadata {
                name: name.to_owned(),
                labels: [(names::APP_NAME_LABEL.to_owned(), label.to_owned())].into(),
                ..Metadata::default()
            },
            ..ClusterRole::default()
        })
    }));
    objects
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// The resident memory of this process in bytes, or 0 if the system does not
/// report it.
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

/// Constant bytes in place of random ones, so that each run costs the same.
fn entropy(byte: u8) -> Entropy {
    Entropy::from_bytes([byte; 32])
}

fn now() -> Timestamp {
    Timestamp::from_unix(1_795_179_600).unwrap()
}

const ROLES: [(&str, &str); 2] = [
    ("liqo-remote-controlplane", names::CONTROL_PLANE_ROLE),
    ("liqo-virtual-kubelet", names::CLUSTER_WIDE_ROLE),
];
const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
/// The number of peers that are measured in turn.
const KNOWN: usize = 200;
const ROUNDS: usize = 4000;
