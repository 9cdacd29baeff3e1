//! Forged messages.

use std::sync::Arc;

use liqo_auth::{
    crypto::{Nonce, strategy as crypto},
    machine::{Env, Machine, Message, MessageBody, Objects},
    model::{
        AuthParams, AuthzPolicy, Bytes, ClusterId, Identity, IdentitySpec, IdentityType, Metadata,
        Tenant, TenantCondition, TenantSpec, names,
    },
    policy::Policy,
};
use proptest::{
    collection::vec,
    option,
    prelude::{Just, any},
    prop_oneof,
    strategy::{BoxedStrategy, Strategy},
};

use crate::{API_SERVER, Rehearsal, entropy};

impl Rehearsal {
    /// Messages that resemble honest ones. They are made with the keys of both
    /// sides, so that each passes all checks up to the rule that it breaks. Some
    /// messages are honest.
    pub fn forgeries(&self) -> BoxedStrategy<Message> {
        let consumer = self.consumer.cluster_id().clone();
        let provider = self.provider.cluster_id().clone();
        prop_oneof![
            4 => self.forged_tenants().prop_map(MessageBody::from),
            4 => self.forged_identities().prop_map(MessageBody::from),
            1 => forged_nonces().prop_map(MessageBody::from),
        ]
        .prop_map(move |body| match body {
            MessageBody::Tenant(_) => Message::new(&consumer, &provider, body),
            _ => Message::new(&provider, &consumer, body),
        })
        .boxed()
    }

    /// Honest and nearly honest Tenants for the last nonce.
    pub fn forged_tenants(&self) -> BoxedStrategy<Tenant> {
        let consumer = self.consumer.cluster_id();
        let key = &*self.consumer_key;
        let signature = self
            .last_nonce()
            .and_then(|nonce| self.signature_over(nonce));
        let policy = prop_oneof![
            4 => Just(None),
            1 => Just(Some(AuthzPolicy::KeysExchange)),
            1 => Just(Some(AuthzPolicy::TolerateNoHandshake)),
        ];
        let bytes = (
            mostly(key.public_key().to_tenant_field().into(), any::<Bytes>()),
            crypto::any_csr(Arc::clone(&self.consumer_key), consumer).prop_map(Bytes::from),
            mostly(signature.unwrap_or_default(), any::<Bytes>()),
        );
        let spec = (
            mostly(consumer.to_string(), any_text()),
            policy,
            bytes,
            option::weighted(0.1, any_url()),
            option::weighted(0.1, any::<TenantCondition>()),
        );
        let metadata = mostly(
            honest_metadata(consumer.as_str(), consumer),
            any::<Metadata>(),
        );
        (metadata, spec)
            .prop_map(|(metadata, spec)| Tenant {
                metadata,
                spec: TenantSpec {
                    cluster_id: spec.0,
                    authz_policy: spec.1,
                    public_key: spec.2.0,
                    csr: spec.2.1,
                    signature: spec.2.2,
                    proxy_url: spec.3,
                    tenant_condition: spec.4,
                },
                ..Tenant::default()
            })
            .boxed()
    }

    /// Honest and nearly honest Identities for the consumer.
    pub fn forged_identities(&self) -> BoxedStrategy<Identity> {
        let provider = self.provider.cluster_id();
        let consumer = self.consumer.cluster_id();
        let certificate = crypto::any_certificate(
            &self.authority,
            Arc::clone(&self.authority_key),
            &*self.consumer_key,
            consumer,
        );
        let auth_params = (
            mostly(self.authority.ca_bundle().pem().into(), any::<Bytes>()),
            certificate,
            mostly(API_SERVER.to_owned(), any_url()),
            option::weighted(0.1, any_url()),
            mostly(AuthParams::default(), any::<AuthParams>()),
        )
            .prop_map(
                |(ca, certificate, api_server, proxy_url, other)| AuthParams {
                    ca,
                    signed_crt: certificate.into(),
                    api_server,
                    proxy_url,
                    ..other
                },
            );
        let identity_type = mostly(
            IdentityType::ControlPlane,
            Just(IdentityType::ResourceSlice),
        );
        let namespace = mostly(names::tenant_namespace(consumer), any_text());
        let honest = Metadata {
            namespace: names::tenant_namespace(provider),
            ..honest_metadata(&names::identity_name(provider), provider)
        };
        (
            mostly(honest, any::<Metadata>()),
            mostly(provider.to_string(), any_text()),
            identity_type,
            auth_params,
            namespace,
        )
            .prop_map(
                |(metadata, cluster_id, identity_type, auth_params, namespace)| Identity {
                    metadata,
                    spec: IdentitySpec {
                        cluster_id,
                        identity_type,
                        auth_params,
                        namespace: Some(namespace),
                    },
                    ..Identity::default()
                },
            )
            .boxed()
    }

    /// The consumer's signature over a nonce, as if the nonce were the consumer's first
    /// one.
    fn signature_over(&self, nonce: &Nonce) -> Option<Bytes> {
        let (provider, consumer) = (self.provider.cluster_id(), self.consumer.cluster_id());
        let message = Message::new(provider, consumer, nonce.clone());
        let env = Env {
            now: self.now,
            entropy: entropy(self.seed, self.drawn),
        };
        let objects = Objects::new(&entropy(self.seed, self.drawn));
        let step = self.consumer.receive(&objects.view(provider), message, env);
        let mut sent = step.ok()?.outbox.into_iter();
        sent.find_map(|message| match message.body {
            MessageBody::Tenant(tenant) => Some(tenant.spec.signature),
            _ => None,
        })
    }

    fn last_nonce(&self) -> Option<&Nonce> {
        self.messages
            .iter()
            .rev()
            .find_map(|message| match &message.body {
                MessageBody::Nonce(nonce) => Some(nonce),
                _ => None,
            })
    }
}

/// The metadata of an honest object for `peer`, in the peer's tenant namespace.
fn honest_metadata(name: &str, peer: &ClusterId) -> Metadata {
    Metadata {
        name: name.to_owned(),
        namespace: names::tenant_namespace(peer),
        labels: [(names::REMOTE_CLUSTER_ID_LABEL.to_owned(), peer.to_string())].into(),
        ..Metadata::default()
    }
}

/// Any text that an object has in place of a name.
fn any_text() -> impl Strategy<Value = String> {
    any::<Metadata>().prop_map(|metadata| metadata.name)
}

/// A URL, or any text that an Identity has in its place.
fn any_url() -> impl Strategy<Value = String> {
    any::<AuthParams>().prop_map(|params| params.api_server)
}

/// Nonces that have the right form, but that neither side made.
fn forged_nonces() -> BoxedStrategy<Nonce> {
    let other = (crypto::any_nonce_text(), vec(any::<u8>(), 64)).prop_map(|(text, bytes)| {
        use base64::{Engine, engine::general_purpose::STANDARD};

        // The magic number of this library's nonces, followed by arbitrary bytes.
        let bytes = [&[0x6c, 0xa7, 0x51, 0x9e], bytes.get(4..).unwrap_or(&[])].concat();
        let policy = Policy::compatible();
        Nonce::parse(&text, &policy)
            .or_else(|_| Nonce::parse(STANDARD.encode(bytes).as_bytes(), &policy))
            .ok()
    });
    let other = other.prop_filter_map("a nonce", |nonce| nonce);
    prop_oneof![1 => any::<Nonce>(), 3 => other].boxed()
}

/// Returns the honest value in most cases, so that several values can be honest at
/// once.
fn mostly<T: Clone + core::fmt::Debug + 'static>(
    honest: T,
    other: impl Strategy<Value = T> + 'static,
) -> BoxedStrategy<T> {
    prop_oneof![9 => Just(honest), 1 => other].boxed()
}
