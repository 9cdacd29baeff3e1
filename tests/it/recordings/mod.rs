//! The objects that Liqo 1.2.0 left after whole exchanges on real clusters.
//! They are read from the vectors and can be given to this library at any
//! stage.

pub(crate) mod differences;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use liqo_auth::{
    Machine,
    consumer::{Consumer, ConsumerConfig, PeerSettings},
    crypto::{Answer, CaBundle, CertificateChain, KeyPair, Nonce, OneKey, RecordKey, SigningKey},
    machine::{MessageBody, Objects},
    model::{
        Identity, IdentityStatus, Kubeconfig, Namespace, Object, ObjectRef, Resource, Secret,
        Tenant, Timestamp, UserCredential, manifest, names,
    },
    policy::{Limits, Policy},
    provider::{Endpoint, NameTable, Provider},
};
use serde_json::Value;

use crate::clusters::{
    allowing_loopback,
    exchange::{self, Exchange, FixedAnswer, RECORD_KEY, cluster_roles, id},
    store,
};

pub(crate) const BY_HAND: &str = "by-hand";
pub(crate) const AUTHENTICATED: &str = "exchange/1-authenticated";
pub(crate) const RSA_AND_PROXY: &str = "rsa-and-proxy";
/// Two clusters after an exchange between Liqo and Liqo.
pub(crate) struct Recording {
    pub(crate) name: &'static str,
    pub(crate) by_hand: bool,
    pub(crate) at_provider: Objects,
    pub(crate) at_consumer: Objects,
    pub(crate) provider_key: Arc<dyn SigningKey>,
    pub(crate) consumer_key: Arc<dyn SigningKey>,
    pub(crate) nonce: Nonce,
    pub(crate) tenant: Tenant,
    pub(crate) identity: Identity,
}

pub(crate) fn recordings() -> impl Iterator<Item = Recording> {
    [
        (BY_HAND, "after/cluster-b", "after/cluster-a"),
        (AUTHENTICATED, "cluster-b", "cluster-a"),
        (RSA_AND_PROXY, "rsa-b", "rsa-a"),
    ]
    .into_iter()
    .map(|(name, provider, consumer)| Recording::read(name, provider, consumer))
}

impl Recording {
    pub(crate) fn read(name: &'static str, provider: &str, consumer: &str) -> Self {
        let folder = vectors().join(name);
        let (mut at_provider, at_consumer) = (
            objects(&folder.join(provider)),
            objects(&folder.join(consumer)),
        );
        let by_hand = name == BY_HAND;
        // The dumps contain no ClusterRoles. In the recording by hand, Liqo
        // bound none, because the Tenant is not in the namespace of the
        // bindings.
        if !by_hand {
            for role in cluster_roles().iter() {
                at_provider.insert(role.clone());
            }
        }
        let tenant = only::<Tenant>(&at_provider);
        let identity = only::<Identity>(&at_consumer);
        let nonce = at_provider
            .get::<Secret>(&tenant.status.tenant_namespace, names::NONCE_SECRET)
            .unwrap();
        let nonce = Nonce::parse(nonce.data[names::NONCE].expose(), &Policy::strict()).unwrap();
        Self {
            name,
            by_hand,
            provider_key: cluster_key(&at_provider),
            consumer_key: cluster_key(&at_consumer),
            nonce,
            tenant,
            identity,
            at_provider,
            at_consumer,
        }
    }

    pub(crate) fn consumer_id(&self) -> &str {
        &self.tenant.spec.cluster_id
    }

    pub(crate) fn provider_id(&self) -> &str {
        &self.identity.spec.cluster_id
    }

    pub(crate) fn tenant_as_sent(&self) -> Tenant {
        if self.by_hand {
            return only(&objects_of(&vectors().join("by-hand/tenant.yaml")));
        }
        self.tenant.clone()
    }

    pub(crate) fn identity_as_sent(&self) -> Identity {
        if self.by_hand {
            return only(&objects_of(&vectors().join("by-hand/identity.yaml")));
        }
        Identity {
            status: IdentityStatus::default(),
            ..self.identity.clone()
        }
    }

    pub(crate) fn certificate(&self) -> CertificateChain {
        let parameters = self.tenant.status.auth_params.as_ref().unwrap();
        CertificateChain::from_pem(parameters.signed_crt.as_slice(), &Policy::strict()).unwrap()
    }

    pub(crate) fn kubeconfig(&self) -> String {
        let name = names::kubeconfig_secret(&self.identity.metadata.name);
        let secret: &Secret = self
            .at_consumer
            .get(&self.identity.metadata.namespace, &name)
            .unwrap();
        String::from_utf8(secret.data[names::KUBECONFIG].expose().to_vec()).unwrap()
    }

    /// Both sides with nothing but their ClusterRoles.
    pub(crate) fn nothing_yet(&self) -> Exchange {
        let parameters = self.tenant.status.auth_params.as_ref().unwrap();
        let bundle = CaBundle::from_pem(parameters.ca.as_slice(), &Policy::strict()).unwrap();
        let endpoint = Endpoint::new(parameters.api_server.parse().unwrap(), Some(&bundle));
        let setup = exchange::Setup {
            consumer_key: Arc::clone(&self.consumer_key),
            provider_key: Some(Arc::clone(&self.provider_key)),
            settings: PeerSettings {
                proxy_url: self
                    .tenant
                    .spec
                    .proxy_url
                    .as_ref()
                    .map(|url| url.parse().unwrap()),
                ..PeerSettings::default()
            },
            signer: Arc::new(FixedAnswer(Mutex::new(Answer::Ready(self.certificate())))),
            endpoint,
            policy: Policy::strict(),
        };
        let provider = Provider::builder(
            id(self.provider_id()),
            setup.endpoint.clone(),
            RecordKey::new(RECORD_KEY).unwrap(),
        )
        .principals(Arc::new(NameTable::default()))
        .key(Arc::clone(&self.provider_key))
        .signer(Arc::clone(&setup.signer))
        .build();
        let mut config = config_on_loopback(self.consumer_id());
        config
            .peers
            .insert(id(self.provider_id()), setup.settings.clone());
        let keys = Arc::new(OneKey(Arc::clone(&self.consumer_key)));
        let consumer = Consumer::new(config, keys);
        Exchange {
            provider,
            consumer,
            at_provider: if self.by_hand {
                store::empty()
            } else {
                cluster_roles()
            },
            now: now(),
            vouched: vec![self.nonce.clone()],
            ..setup.exchange()
        }
    }

    pub(crate) fn before_the_tenant(&self) -> Exchange {
        let mut exchange = self.nothing_yet();
        let namespace = &self.tenant.status.tenant_namespace;
        for object in self.at_provider.iter() {
            let nonce = exchange::secret_ref(namespace, names::NONCE_SECRET);
            if Namespace::from_object(object).is_some() || object.id() == nonce {
                exchange.at_provider.insert(object.clone());
            }
        }
        exchange
    }

    pub(crate) fn before_the_identity(&self) -> Exchange {
        let mut exchange = self.nothing_yet();
        for object in self.at_consumer.iter() {
            if Namespace::from_object(object).is_some()
                || object.id().name == names::SIGNED_NONCE_SECRET
            {
                exchange.at_consumer.insert(object.clone());
            }
        }
        exchange
    }

    pub(crate) fn after(&self) -> Exchange {
        Exchange {
            at_provider: self.at_provider.clone(),
            at_consumer: self.at_consumer.clone(),
            ..self.nothing_yet()
        }
    }

    /// The whole exchange by this library, in the same order as Liqo's.
    pub(crate) fn replayed(&self) -> Exchange {
        let mut exchange = self.nothing_yet();
        exchange.turn_of_provider();
        // The random nonce is replaced by Liqo's in our Secret.
        let namespace = names::tenant_namespace(exchange.consumer.cluster_id());
        let mut secret: Secret = exchange
            .at_provider
            .get::<Secret>(&namespace, names::NONCE_SECRET)
            .unwrap()
            .clone();
        let text = self.nonce.as_str().as_bytes().to_vec();
        secret.data.insert(names::NONCE.to_owned(), text.into());
        exchange.at_provider.insert(secret.into());
        exchange
            .sent
            .insert("nonce", MessageBody::Nonce(self.nonce.clone()));
        exchange.deliver("nonce");
        if self.by_hand {
            // As `kubectl apply` without a namespace does.
            let mut tenant = exchange.tenant();
            tenant.metadata.namespace = "default".to_owned();
            exchange.at_provider.insert(tenant.into());
            exchange.turns_of_provider();
            let mut identity = exchange.identity();
            identity.metadata.namespace = "default".to_owned();
            exchange.at_consumer.insert(identity.into());
            while !exchange.turn_of_consumer().is_settled() {}
        } else {
            exchange.settle();
        }
        assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
        exchange
    }
}

/// The objects by name, without values that an API server assigns. Kubeconfigs
/// are compared by their content. Objects of resource slices are left out.
pub(crate) fn values(objects: &Objects) -> BTreeMap<String, Value> {
    values_where(objects, |name| !name.ends_with("-mypool"))
}

/// As [`values`], for the objects whose names match.
pub(crate) fn values_where(
    objects: &Objects,
    is_wanted: impl Fn(&str) -> bool,
) -> BTreeMap<String, Value> {
    objects
        .iter()
        .filter(|object| is_wanted(&object.id().name))
        .filter_map(|object| {
            let mut value = object.to_value();
            let (name, owners) = name_of(object, &value)?;
            if let Some(metadata) = value["metadata"].as_object_mut() {
                for field in [
                    "uid",
                    "resourceVersion",
                    "creationTimestamp",
                    "generation",
                    "managedFields",
                ] {
                    metadata.remove(field);
                }
            }
            for owner in owners {
                value["metadata"]["ownerReferences"][owner]["uid"] = "its owner's".into();
            }
            if Namespace::from_object(object).is_some() {
                // The API server assigns these, too.
                value["metadata"]["labels"]
                    .as_object_mut()
                    .unwrap()
                    .remove("kubernetes.io/metadata.name");
                value.as_object_mut().unwrap().remove("spec");
                value.as_object_mut().unwrap().remove("status");
            }
            if let Some(annotations) = value
                .pointer_mut("/metadata/annotations")
                .and_then(Value::as_object_mut)
            {
                annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
            }
            if let Some(text) = value.pointer_mut("/data/kubeconfig") {
                *text = content_of_kubeconfig(text.as_str().unwrap());
            }
            Some((name, value))
        })
        .collect()
}

pub(crate) fn content_of_kubeconfig(base64: &str) -> Value {
    let text = String::from_utf8(STANDARD.decode(base64).unwrap()).unwrap();
    let kubeconfig = Kubeconfig::parse(&text).unwrap();
    let UserCredential::KeyData { certificate, key } = kubeconfig.credential else {
        panic!("no key in the kubeconfig");
    };
    serde_json::json!({
        "cluster": kubeconfig.cluster,
        "server": kubeconfig.server,
        "certificate-authority-data": STANDARD.encode(kubeconfig.certificate_authority.as_slice()),
        "proxy-url": kubeconfig.proxy_url,
        "user": kubeconfig.user,
        "client-certificate-data": STANDARD.encode(certificate.as_slice()),
        "client-key-data": STANDARD.encode(key.expose()),
        "namespace": kubeconfig.namespace,
    })
}

/// The object's name, and the indices of its owner references. `None` for the
/// cluster's keys, which existed before the exchange.
pub(crate) fn name_of(object: &Object, value: &Value) -> Option<(String, Vec<usize>)> {
    let name = value["metadata"]["name"].as_str().unwrap_or_default();
    let kind = value["kind"].as_str().unwrap_or_default();
    if name == names::CLUSTER_KEYS_SECRET {
        return None;
    }
    let owners = value["metadata"]["ownerReferences"]
        .as_array()
        .map_or(0, Vec::len);
    let id: ObjectRef = object.id();
    let separator = if id.namespace.is_empty() { "" } else { "/" };
    let name = if kind == "CertificateSigningRequest" {
        "liqo-identity-…"
    } else {
        name
    };
    Some((
        format!("{kind} {}{separator}{name}", id.namespace),
        (0..owners).collect(),
    ))
}

fn only<K: Resource + Clone>(objects: &Objects) -> K {
    let mut found = objects.iter().filter_map(K::from_object);
    let one = found.next().unwrap().clone();
    assert!(found.next().is_none());
    one
}

/// The configuration of a consumer among the recorded clusters, which were on one machine.
pub(crate) fn config_on_loopback(consumer: &str) -> ConsumerConfig {
    let mut config = ConsumerConfig::new(id(consumer));
    config.policy = allowing_loopback(config.policy);
    config
}

pub(crate) fn cluster_key(objects: &Objects) -> Arc<dyn SigningKey> {
    let secret: &Secret = objects
        .get(names::LIQO_NAMESPACE, names::CLUSTER_KEYS_SECRET)
        .unwrap();
    let pem = secret.data[names::PRIVATE_KEY].expose();
    Arc::new(KeyPair::from_pkcs8_pem(pem, &Policy::strict()).unwrap())
}

/// The objects of one cluster at any stage.
pub(crate) fn dumped(folder: &str) -> Objects {
    objects(&vectors().join(folder))
}

pub(crate) fn objects(folder: &Path) -> Objects {
    let mut all = store::empty();
    let files = std::fs::read_dir(folder).unwrap();
    for file in files.map(|entry| entry.unwrap().path()) {
        for object in objects_of(&file).iter() {
            all.insert(object.clone());
        }
    }
    assert!(all.iter().count() > 0, "nothing in {}", folder.display());
    all
}

fn objects_of(file: &Path) -> Objects {
    let text = std::fs::read(file).unwrap();
    let objects = manifest::read(&text, &Limits::default()).unwrap();
    store::holding(objects)
}

pub(crate) fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors/liqo-1.2.0")
}

/// A time after the exchanges, and before their certificates expire.
pub(crate) fn now() -> Timestamp {
    "2026-11-20T23:00:00Z".parse().unwrap()
}
