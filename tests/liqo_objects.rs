//! What Liqo 1.2.0 left of whole exchanges, on real clusters: each side of
//! this library goes on from there, and what it writes itself differs from
//! Liqo's objects only where it is meant to.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)] // Tests may panic, and read files.
#![cfg(all(feature = "yaml", feature = "rsa"))]

mod exchange;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use liqo_auth::{
    commitment::{Assurance, COMMITMENT_ANNOTATION},
    consumer::{self, PeerSettings},
    crypto::{CaBundle, CertificateChain, KeyPair, Nonce, RecordKey, SigningKey},
    model::{
        Bytes, Identity, Kubeconfig, Object, ObjectRef, Resource, Secret, Tenant, Timestamp,
        UserCredential, manifest, names,
    },
    objects::Objects,
    policy::{Limits, Policy},
    provider::{self, Endpoint, Provider, Signing},
    step::{Effect, Message, Notice},
};
use serde_json::Value;

use exchange::{Answer, Exchange, RECORD_KEY, cluster_roles, id};

#[test]
fn our_provider_takes_liqos_tenant_and_answers_as_liqo_did() {
    for liqo in recordings() {
        let mut ours = liqo.before_the_tenant();
        let tenant = liqo.tenant_as_sent();
        ours.hand_over(Message::Tenant(Box::new(tenant))).unwrap();
        while !ours.turn_of_provider().is_settled() {}
        assert_eq!(ours.refused, [], "{}", liqo.name);
        assert_eq!(
            ours.provider_phase().name(),
            "Authenticated",
            "{}",
            liqo.name
        );
        // Liqo's CA bundle ends in NUL bytes, and ours does not.
        let mut tenant = liqo.tenant.clone();
        without_padding(&mut tenant.status.auth_params.as_mut().unwrap().ca);
        assert_eq!(ours.stored_tenant().status, tenant.status, "{}", liqo.name);
        let mut identity = liqo.identity.clone();
        without_padding(&mut identity.spec.auth_params.ca);
        assert_eq!(ours.identity().spec, identity.spec, "{}", liqo.name);
    }
}

#[test]
fn our_consumer_makes_of_liqos_identity_the_kubeconfig_that_liqo_made() {
    for liqo in recordings() {
        let mut ours = liqo.before_the_identity();
        let identity = liqo.identity_as_sent();
        ours.hand_over(Message::Identity(Box::new(identity)))
            .unwrap();
        while !ours.turn_of_consumer().is_settled() {}
        assert_eq!(ours.refused, [], "{}", liqo.name);
        let text = liqo.kubeconfig();
        assert_eq!(ours.kubeconfig(), text, "{}", liqo.name);
        assert_eq!(
            Kubeconfig::parse(&ours.kubeconfig()).unwrap(),
            Kubeconfig::parse(&text).unwrap()
        );
        assert_eq!(
            ours.stored_identity().status,
            liqo.identity.status,
            "{}",
            liqo.name
        );
        let consumer::Phase::Authenticated(held) = ours.consumer_phase() else {
            panic!("{}: {:?}", liqo.name, ours.consumer_phase());
        };
        // Liqo proves nothing about its own key.
        assert_eq!(held.assurance(), Assurance::Unproven);
        assert!(ours.notices.contains(&Notice::ProviderUnproven));
    }
}

#[test]
fn on_the_objects_of_both_sides_the_exchange_is_complete() {
    for liqo in recordings() {
        let exchange = liqo.after();
        assert_eq!(
            exchange.phases(),
            ("Authenticated", "Authenticated"),
            "{}",
            liqo.name
        );
        let provider::Phase::Authenticated(issued) = exchange.provider_phase() else {
            panic!("{:?}", exchange.provider_phase());
        };
        let mut identity = liqo.identity.clone();
        without_padding(&mut identity.spec.auth_params.ca);
        assert_eq!(issued.identity(None).spec, identity.spec);
        assert_eq!(issued.public_key(), liqo.consumer_key.public_key());
        assert_eq!(issued.valid_until(), liqo.certificate().leaf().not_after());
    }
}

#[test]
fn taking_over_from_liqo_adds_our_records_and_touches_nothing_else() {
    for liqo in recordings() {
        let mut exchange = liqo.after();
        let before = exchange.at_provider.clone();
        let effects = until_settled(|| exchange.turn_of_provider().effects);
        assert_eq!(
            effects,
            [
                format!(
                    "create Secret liqo/liqo-auth-provider-{}",
                    liqo.consumer_id()
                ),
                format!(
                    "patch Tenant {}/{} {}",
                    liqo.tenant.metadata.namespace,
                    liqo.consumer_id(),
                    r#"{"metadata":{"annotations":{"liqo-auth/commitment":…}}}"#
                ),
            ],
            "{}",
            liqo.name
        );
        let mut after = exchange.at_provider.clone();
        let record = format!("liqo-auth-provider-{}", liqo.consumer_id());
        after
            .remove(&exchange::secret_ref("liqo", &record))
            .unwrap();
        let mut tenant = liqo.tenant.clone();
        let annotation = exchange
            .at_provider
            .get::<Tenant>(&tenant.metadata.namespace, &tenant.metadata.name)
            .unwrap()
            .metadata
            .annotations[COMMITMENT_ANNOTATION]
            .clone();
        tenant
            .metadata
            .annotations
            .insert(COMMITMENT_ANNOTATION.to_owned(), annotation);
        let mut expected = before;
        expected.insert(tenant.into());
        assert_eq!(values(&after), values(&expected), "{}", liqo.name);

        // With the proof on record, nobody needs to vouch for the nonce.
        exchange.vouched.clear();
        assert_eq!(exchange.provider_phase().name(), "Authenticated");

        let before = exchange.at_consumer.clone();
        let effects = until_settled(|| exchange.turn_of_consumer().effects);
        let record = format!("liqo-auth-consumer-{}", liqo.provider_id());
        assert_eq!(effects, [format!("create Secret liqo/{record}")]);
        let mut after = exchange.at_consumer.clone();
        after
            .remove(&exchange::secret_ref("liqo", &record))
            .unwrap();
        assert_eq!(values(&after), values(&before), "{}", liqo.name);
        assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
    }
}

#[test]
fn without_a_voucher_a_nonce_of_liqos_is_not_ours() {
    for liqo in recordings() {
        let mut exchange = liqo.after();
        exchange.vouched.clear();
        let provider::Phase::Refused(error) = exchange.provider_phase() else {
            panic!("{:?}", exchange.provider_phase());
        };
        assert_eq!(
            error.fault(),
            &liqo_auth::error::PeerMisbehaved::NonceNotOurs.into()
        );
    }
}

/// The same exchange by this library alone: the same keys, nonce, names, times
/// and URLs, and a signer that gives the certificate that Kubernetes gave.
#[test]
fn what_we_write_differs_from_liqos_objects_only_where_it_is_meant_to() {
    for liqo in recordings() {
        let ours = liqo.replayed();
        assert_eq!(ours.refused, [], "{}", liqo.name);
        let mut found = differences(&liqo.at_provider, &ours.at_provider);
        found.extend(differences(&liqo.at_consumer, &ours.at_consumer));
        found.sort();
        let mut expected: Vec<String> = DIFFERENCES
            .iter()
            .filter(|difference| difference.exchanges.contains(&liqo.name))
            .map(|difference| liqo.named(difference))
            .collect();
        expected.sort();
        assert_eq!(
            found,
            expected,
            "\n{}: found\n{}\n",
            liqo.name,
            found.join("\n")
        );
    }
}

/// A field in which Liqo's object and ours differ, and why; with an empty path,
/// the object as a whole.
struct Difference {
    exchanges: &'static [&'static str],
    object: &'static str,
    path: &'static str,
    liqo: &'static str,
    ours: &'static str,
    #[expect(dead_code, reason = "it is for whoever reads the table")]
    why: &'static str,
}

const BY_HAND: &str = "by-hand";
const AUTHENTICATED: &str = "exchange/1-authenticated";
const RSA_AND_PROXY: &str = "rsa-and-proxy";
const ALL: &[&str] = &[BY_HAND, AUTHENTICATED, RSA_AND_PROXY];

/// `{tenant}` and `{identity}` are the namespaces that these lie in.
const DIFFERENCES: &[Difference] = &[
    Difference {
        exchanges: ALL,
        object: "Secret liqo/liqo-auth-provider-{consumer}",
        path: "",
        liqo: "absent",
        ours: "present",
        why: "pin, proof and used nonces, out of the peer's reach",
    },
    Difference {
        exchanges: ALL,
        object: "Secret liqo/liqo-auth-consumer-{provider}",
        path: "",
        liqo: "absent",
        ours: "present",
        why: "the request that was sent, and what was pinned the first time",
    },
    Difference {
        exchanges: ALL,
        object: "Tenant {tenant}/{consumer}",
        path: "metadata.annotations.liqo-auth/commitment",
        liqo: "absent",
        ours: "key and signature",
        why: "the provider proves its own key",
    },
    Difference {
        exchanges: ALL,
        object: "Identity {identity}/controlplane-{provider}",
        path: "metadata.annotations.liqo-auth/commitment",
        liqo: "absent",
        ours: "key and signature",
        why: "the provider proves its own key",
    },
    Difference {
        exchanges: &[BY_HAND, AUTHENTICATED],
        object: "Tenant {tenant}/{consumer}",
        path: "spec.publicKey",
        liqo: "PEM PUBLIC KEY",
        ours: "32 raw bytes",
        why: "Liqo before 1.0.2 reads raw Ed25519 keys only, and later versions both",
    },
    Difference {
        exchanges: ALL,
        object: "Tenant {tenant}/{consumer}",
        path: "status.authParams.ca",
        liqo: "PEM CERTIFICATE, 2 NUL bytes",
        ours: "PEM CERTIFICATE",
        why: "Liqo decodes an overriding CA into a buffer that is too long",
    },
    Difference {
        exchanges: ALL,
        object: "Identity {identity}/controlplane-{provider}",
        path: "spec.authParams.ca",
        liqo: "PEM CERTIFICATE, 2 NUL bytes",
        ours: "PEM CERTIFICATE",
        why: "the same bytes",
    },
    Difference {
        exchanges: ALL,
        object: "Secret {identity}/kubeconfig-controlplane-{provider}",
        path: "data.kubeconfig.certificate-authority-data",
        liqo: "PEM CERTIFICATE, 2 NUL bytes",
        ours: "PEM CERTIFICATE",
        why: "the same bytes",
    },
    Difference {
        exchanges: ALL,
        object: "Secret {identity}/kubeconfig-controlplane-{provider}",
        path: "metadata.finalizers",
        liqo: r#"["crdreplicator.liqo.io/operator"]"#,
        ours: "absent",
        why: "Liqo's CRD replicator puts it there, and takes it off",
    },
    Difference {
        exchanges: &[BY_HAND],
        object: "Tenant {tenant}/{consumer}",
        path: "spec.authzPolicy",
        liqo: "KeysExchange",
        ours: "absent",
        why: "the API server's default; it is ours to write only where we apply the Tenant",
    },
    Difference {
        exchanges: ALL,
        object: "Tenant {tenant}/{consumer}",
        path: "spec.tenantCondition",
        liqo: "Active",
        ours: "absent",
        why: "the API server's default",
    },
    Difference {
        exchanges: ALL,
        object: "Secret liqo-tenant-{consumer}/liqo-nonce",
        path: "type",
        liqo: "Opaque",
        ours: "absent",
        why: "the API server's default",
    },
    Difference {
        exchanges: ALL,
        object: "Secret liqo-tenant-{consumer}/liqo-remote-certificate",
        path: "type",
        liqo: "Opaque",
        ours: "absent",
        why: "the API server's default",
    },
    Difference {
        exchanges: ALL,
        object: "Secret liqo-tenant-{provider}/liqo-signed-nonce",
        path: "type",
        liqo: "Opaque",
        ours: "absent",
        why: "the API server's default",
    },
    Difference {
        exchanges: ALL,
        object: "Secret {identity}/kubeconfig-controlplane-{provider}",
        path: "type",
        liqo: "Opaque",
        ours: "absent",
        why: "the API server's default",
    },
    Difference {
        exchanges: ALL,
        object: "CertificateSigningRequest liqo-identity-…",
        path: "",
        liqo: "present",
        ours: "absent",
        why: "it is the signer's, and the signer is the embedder's",
    },
    Difference {
        exchanges: ALL,
        object: "ForeignCluster {consumer}",
        path: "",
        liqo: "present",
        ours: "absent",
        why: "a summary that Liqo's own controller draws up",
    },
    Difference {
        exchanges: ALL,
        object: "ForeignCluster {provider}",
        path: "",
        liqo: "present",
        ours: "absent",
        why: "a summary that Liqo's own controller draws up",
    },
    Difference {
        exchanges: ALL,
        object: "Renew {identity}/controlplane-{provider}",
        path: "",
        liqo: "present",
        ours: "absent",
        why: "the channel for renewals is no part of the first exchange",
    },
    Difference {
        exchanges: &[AUTHENTICATED],
        object: "Renew {tenant}/controlplane-{provider}",
        path: "",
        liqo: "present",
        ours: "absent",
        why: "the same, replicated to the provider",
    },
];

/// Two clusters after an exchange of Liqo's.
struct Recording {
    name: &'static str,
    by_hand: bool,
    at_provider: Objects,
    at_consumer: Objects,
    provider_key: Arc<dyn SigningKey>,
    consumer_key: Arc<dyn SigningKey>,
    nonce: Nonce,
    tenant: Tenant,
    identity: Identity,
}

fn recordings() -> impl Iterator<Item = Recording> {
    [
        (BY_HAND, "after/cluster-b", "after/cluster-a"),
        (AUTHENTICATED, "cluster-b", "cluster-a"),
        (RSA_AND_PROXY, "rsa-b", "rsa-a"),
    ]
    .into_iter()
    .map(|(name, provider, consumer)| Recording::read(name, provider, consumer))
}

impl Recording {
    fn read(name: &'static str, provider: &str, consumer: &str) -> Self {
        let folder = vectors().join(name);
        let (mut at_provider, at_consumer) = (
            objects(&folder.join(provider)),
            objects(&folder.join(consumer)),
        );
        let by_hand = name == BY_HAND;
        // The dumps leave ClusterRoles out. By hand, Liqo bound none: the
        // Tenant lies in another namespace than its bindings would.
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

    fn consumer_id(&self) -> &str {
        &self.tenant.spec.cluster_id
    }

    fn provider_id(&self) -> &str {
        &self.identity.spec.cluster_id
    }

    /// A row of the table, as a line about this exchange.
    fn named(&self, difference: &Difference) -> String {
        let Difference {
            object,
            path,
            liqo,
            ours,
            ..
        } = difference;
        format!("{object} | {path} | {liqo} | {ours}")
            .replace("{consumer}", self.consumer_id())
            .replace("{provider}", self.provider_id())
            .replace("{tenant}", &self.tenant.metadata.namespace)
            .replace("{identity}", &self.identity.metadata.namespace)
    }

    fn tenant_as_sent(&self) -> Tenant {
        if self.by_hand {
            return only(&objects_of(&vectors().join("by-hand/tenant.yaml")));
        }
        self.tenant.clone()
    }

    fn identity_as_sent(&self) -> Identity {
        if self.by_hand {
            return only(&objects_of(&vectors().join("by-hand/identity.yaml")));
        }
        Identity {
            status: liqo_auth::model::IdentityStatus::default(),
            ..self.identity.clone()
        }
    }

    fn certificate(&self) -> CertificateChain {
        let parameters = self.tenant.status.auth_params.as_ref().unwrap();
        CertificateChain::from_pem(parameters.signed_crt.as_slice(), &Policy::strict()).unwrap()
    }

    fn kubeconfig(&self) -> String {
        let name = names::kubeconfig_secret(&self.identity.metadata.name);
        let secret: &Secret = self
            .at_consumer
            .get(&self.identity.metadata.namespace, &name)
            .unwrap();
        String::from_utf8(secret.data[names::KUBECONFIG].expose().to_vec()).unwrap()
    }

    /// Both sides, with nothing there but their ClusterRoles.
    fn nothing_yet(&self) -> Exchange {
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
            signer: Arc::new(Answer(Mutex::new(Signing::Issued(self.certificate())))),
            endpoint,
            policy: Policy::strict(),
        };
        let provider = Provider::builder(
            id(self.provider_id()),
            setup.endpoint.clone(),
            RecordKey::new(RECORD_KEY).unwrap(),
        )
        .key(Arc::clone(&self.provider_key))
        .signer(Arc::clone(&setup.signer))
        .build();
        let consumer = consumer::Consumer::builder(
            id(self.consumer_id()),
            Arc::new(liqo_auth::crypto::OneKey(Arc::clone(&self.consumer_key))),
        )
        .peer(id(self.provider_id()), setup.settings.clone())
        .build();
        Exchange {
            provider,
            consumer,
            at_provider: if self.by_hand {
                Objects::new()
            } else {
                cluster_roles()
            },
            now: now(),
            vouched: vec![self.nonce.clone()],
            ..setup.exchange()
        }
    }

    fn before_the_tenant(&self) -> Exchange {
        let mut exchange = self.nothing_yet();
        let namespace = &self.tenant.status.tenant_namespace;
        for object in self.at_provider.iter() {
            let nonce = exchange::secret_ref(namespace, names::NONCE_SECRET);
            if object.as_namespace().is_some() || object.id() == nonce {
                exchange.at_provider.insert(object.clone());
            }
        }
        exchange
    }

    fn before_the_identity(&self) -> Exchange {
        let mut exchange = self.nothing_yet();
        for object in self.at_consumer.iter() {
            if object.as_namespace().is_some() || object.id().name == names::SIGNED_NONCE_SECRET {
                exchange.at_consumer.insert(object.clone());
            }
        }
        exchange
    }

    fn after(&self) -> Exchange {
        Exchange {
            at_provider: self.at_provider.clone(),
            at_consumer: self.at_consumer.clone(),
            ..self.nothing_yet()
        }
    }

    /// The whole exchange by this library, in the order in which Liqo's went.
    fn replayed(&self) -> Exchange {
        let mut exchange = self.nothing_yet();
        exchange.turn_of_provider();
        // The nonce is random: it becomes Liqo's. Its Secret is ours.
        let namespace = names::tenant_namespace(exchange.consumer.cluster_id());
        let mut secret: Secret = exchange
            .at_provider
            .get::<Secret>(&namespace, names::NONCE_SECRET)
            .unwrap()
            .clone();
        let text = self.nonce.as_bytes().to_vec();
        secret.data.insert(names::NONCE.to_owned(), text.into());
        exchange.at_provider.insert(secret.into());
        exchange
            .sent
            .insert("nonce", Message::Nonce(self.nonce.clone()));
        exchange.deliver("nonce");
        if self.by_hand {
            // `kubectl apply` without a namespace.
            let mut tenant = exchange.tenant();
            tenant.metadata.namespace = "default".to_owned();
            exchange.at_provider.insert(tenant.into());
            while !exchange.turn_of_provider().is_settled() {}
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

/// The differences between two clusters' objects, a line each.
fn differences(liqo: &Objects, ours: &Objects) -> Vec<String> {
    let (liqo, ours) = (values(liqo), values(ours));
    let mut objects: Vec<&String> = liqo.keys().chain(ours.keys()).collect();
    objects.sort();
    objects.dedup();
    let mut found = Vec::new();
    for object in objects {
        compare(object, "", liqo.get(object), ours.get(object), &mut found);
    }
    found
}

fn compare(
    object: &str,
    path: &str,
    liqo: Option<&Value>,
    ours: Option<&Value>,
    found: &mut Vec<String>,
) {
    let nothing = Value::Object(serde_json::Map::new());
    // A map that is absent is one without fields; an object is not.
    let (liqo, ours) = match (liqo, ours) {
        (Some(Value::Object(_)), None) if !path.is_empty() => (liqo, Some(&nothing)),
        (None, Some(Value::Object(_))) if !path.is_empty() => (Some(&nothing), ours),
        both => both,
    };
    match (liqo, ours) {
        (Some(Value::Object(liqo)), Some(Value::Object(ours))) => {
            let mut fields: Vec<&String> = liqo.keys().chain(ours.keys()).collect();
            fields.sort();
            fields.dedup();
            for field in fields {
                let separator = if path.is_empty() { "" } else { "." };
                let path = format!("{path}{separator}{field}");
                compare(object, &path, liqo.get(field), ours.get(field), found);
            }
        }
        (liqo, ours) if liqo == ours => {}
        (liqo, ours) => {
            let (liqo, ours) = (meaning(path, liqo), meaning(path, ours));
            found.push(format!("{object} | {path} | {liqo} | {ours}"));
        }
    }
}

/// What a value is, for those who compare: a field's content is decoded.
fn meaning(path: &str, value: Option<&Value>) -> String {
    match value {
        None => "absent".to_owned(),
        Some(_) if path.is_empty() => "present".to_owned(),
        Some(Value::String(text)) => match STANDARD.decode(text) {
            Ok(bytes) if bytes.starts_with(b"-----BEGIN ") => {
                let padding = bytes.iter().rev().take_while(|byte| **byte == 0).count();
                let label = String::from_utf8_lossy(&bytes[11..]);
                let label = label.split("-----").next().unwrap_or_default();
                match padding {
                    0 => format!("PEM {label}"),
                    _ => format!("PEM {label}, {padding} NUL bytes"),
                }
            }
            Ok(bytes) if bytes.len() == 32 => "32 raw bytes".to_owned(),
            _ if path.contains("commitment") => "key and signature".to_owned(),
            _ => text.clone(),
        },
        Some(other) => other.to_string(),
    }
}

/// The objects by name, without what an API server assigns; kubeconfigs are
/// compared as what they say.
fn values(objects: &Objects) -> BTreeMap<String, Value> {
    objects
        .iter()
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
            if object.as_namespace().is_some() {
                // Assigned as well.
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

fn content_of_kubeconfig(base64: &str) -> Value {
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

/// The object's name, and which owner references it has; nothing for what was
/// there before the exchange, or belongs to resource slices.
fn name_of(object: &Object, value: &Value) -> Option<(String, Vec<usize>)> {
    let name = value["metadata"]["name"].as_str().unwrap_or_default();
    let slice = name.ends_with("-mypool");
    let kind = value["kind"].as_str().unwrap_or_default();
    if name == names::CLUSTER_KEYS_SECRET || slice {
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

/// What was done, in words, until there was nothing to do.
fn until_settled(mut turn: impl FnMut() -> Vec<Effect>) -> Vec<String> {
    let mut done = Vec::new();
    for _ in 0..8 {
        let effects = turn();
        if effects.is_empty() {
            return done;
        }
        done.extend(effects.iter().map(|effect| match effect {
            Effect::Create(object) => format!("create {}", object.id()),
            Effect::Replace { object, .. } => format!("replace {}", object.id()),
            Effect::Patch { id, patch, .. } => format!("patch {id} {}", abridged(patch)),
            Effect::Delete { id, .. } => format!("delete {id}"),
        }));
    }
    panic!("it does not settle: {done:#?}");
}

fn abridged(patch: &Value) -> String {
    let mut patch = patch.clone();
    if let Some(text) = patch.pointer_mut("/metadata/annotations/liqo-auth~1commitment") {
        *text = "…".into();
    }
    patch.to_string().replace(r#""…""#, "…")
}

fn without_padding(bundle: &mut Bytes) {
    let text = std::str::from_utf8(bundle.as_slice()).unwrap();
    assert!(text.ends_with("-----\n\0\0"), "Liqo pads it no more");
    *bundle = Bytes::from(text.trim_end_matches('\0').as_bytes());
}

fn only<K: Resource + Clone>(objects: &Objects) -> K {
    let mut found = objects.iter().filter_map(K::from_object);
    let one = found.next().unwrap().clone();
    assert!(found.next().is_none());
    one
}

fn cluster_key(objects: &Objects) -> Arc<dyn SigningKey> {
    let secret: &Secret = objects
        .get(names::LIQO_NAMESPACE, names::CLUSTER_KEYS_SECRET)
        .unwrap();
    let pem = secret.data[names::PRIVATE_KEY].expose();
    Arc::new(KeyPair::from_pkcs8_pem(pem, &Policy::strict()).unwrap())
}

fn objects(folder: &Path) -> Objects {
    let mut all = Objects::new();
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
    objects.into_iter().collect()
}

fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/liqo-1.2.0")
}

/// After the exchanges, and before their certificates expire.
fn now() -> Timestamp {
    "2026-11-20T23:00:00Z".parse().unwrap()
}
