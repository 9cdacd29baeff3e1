//! Both sides of [Liqo](https://liqo.io)'s inter-cluster authentication, as a
//! state machine without I/O.
//!
//! A **consumer** authenticates before it may use a **provider**'s resources.
//! The library makes and checks every message, and returns the objects to store.
//! The embedder (a controller, a command-line tool, a test) reads and writes the
//! objects and delivers the messages. The library interoperates with
//! unmodified Liqo 1.0 and later on the other side, and with 0.2 to 0.10 if the
//! feature `legacy` is on.
//!
//! ```text
//!        consumer                                                  provider
//!   ┌───────────────────┐                                    ┌───────────────────┐
//!   │ AwaitsNonce       │ ◀───────────── nonce ───────────── │ NeedsNonce        │
//!   │ NeedsSignature    │                                    │                   │
//!   │  sign, make CSR   │ ── Tenant: key, CSR, signature ──▶ │ AwaitsTenant      │
//!   │ AwaitsIdentity    │                                    │ NeedsProof        │
//!   │                   │                                    │  verify, pin      │
//!   │                   │                                    │ NeedsCertificate  │
//!   │                   │                                    │  have CSR signed  │
//!   │                   │                                    │ NeedsRights       │
//!   │ NeedsKubeconfig   │ ◀──── Identity: certificate ────── │  bind, fill status│
//!   │  check, pin       │                                    │ Authenticated     │
//!   │ Authenticated     │                                    │                   │
//!   └───────────────────┘                                    └───────────────────┘
//! ```
//!
//! # The loop
//!
//! The Kubernetes objects of a side are its whole state. The loop is:
//!
//! 1. Look up the objects that [`Machine::interests`] names for the peer, and
//!    make a [`View`] of them. A controller watches the objects of all peers
//!    ([`Machine::watches`]), and a [`machine::Mirror`] makes the view.
//! 2. Call [`Machine::reconcile`], or [`Machine::receive`] with a message from
//!    the peer. Time and randomness are arguments: [`Env`].
//! 3. Apply the [`Step`]'s effects in their order, and stop at the first that
//!    fails. If all were applied, send the messages in the outbox. Report the
//!    refusals to people.
//! 4. Repeat when one of the objects changes, or at the time that [`Wait`] states.
//!
//! A peering begins with [`Provider::invite`], or with the empty Secret
//! `liqo-nonce` by which Liqo asks for a first nonce. A namespace with a peer's
//! label does not begin a peering. A crash between two steps loses nothing: the
//! library derives the phase from the objects that exist. [`Provider::look`] and
//! [`Consumer::look`] return the phase.
//!
//! # A whole exchange
//!
//! ```
//! use std::sync::Arc;
//! use liqo_auth::{
//!     Consumer,
//!     Env,
//!     Machine,
//!     Provider,
//!     consumer::{self, ConsumerConfig},
//!     crypto::{Authority, Entropy, KeyPair, OneKey, RecordKey},
//!     machine::{Objects, Step},
//!     provider::{AuthoritySigner, Endpoint, NameTable},
//! };
//! # use core::time::Duration;
//! # // The example has a fixed time and counted bytes in place of a clock and randomness.
//! # let now = "2026-11-20T13:00:00Z".parse()?;
//! # let drawn = std::cell::Cell::new(0);
//! # let entropy = || { drawn.set(drawn.get() + 1); Entropy::from_bytes([drawn.get(); 32]) };
//! # let env = || Env { now, entropy: entropy() };
//!
//! // The provider: its ID, its API server, and its signer.
//! let authority = Authority::new("cl-provider-ca", now, Duration::from_secs(86_400), &entropy())?;
//! let endpoint = Endpoint::new("https://172.19.0.3:6443".parse()?, Some(authority.ca_bundle()));
//! let provider = Provider::builder("cl-provider".parse()?, endpoint, RecordKey::new([1; 32])?)
//!     .principals(Arc::new(NameTable::default()))
//!     .signer(Arc::new(AuthoritySigner::new(authority, entropy())))
//!     .build();
//!
//! // The consumer: its ID and its key.
//! let key = KeyPair::from_entropy(&entropy());
//! let config = ConsumerConfig::new("cl-consumer".parse()?);
//! let consumer = Consumer::new(config, Arc::new(OneKey(Arc::new(key))));
//!
//! // The objects of both clusters, in memory.
//! let (mut at_provider, mut at_consumer) = (Objects::new(&entropy()), Objects::new(&entropy()));
//! let apply = |objects: &mut Objects, step: &Step| step.effects.iter().try_for_each(|effect| objects.apply(effect));
//!
//! // The provider invites this peer. The consumer answers the nonce with a Tenant.
//! let step = provider.invite(&at_provider.view(consumer.cluster_id()), env())?;
//! apply(&mut at_provider, &step)?;
//! for nonce in step.outbox {
//!     let step = consumer.receive(&at_consumer.view(provider.cluster_id()), nonce, env())?;
//!     apply(&mut at_consumer, &step)?;
//!     for tenant in step.outbox {
//!         let step = provider.receive(&at_provider.view(consumer.cluster_id()), tenant, env())?;
//!         apply(&mut at_provider, &step)?;
//!     }
//! }
//!
//! // The provider reconciles until nothing is left to do, and sends the Identity.
//! let identity = loop {
//!     let step = provider.reconcile(&at_provider.view(consumer.cluster_id()), env())?;
//!     apply(&mut at_provider, &step)?;
//!     if step.is_settled() {
//!         break step.outbox;
//!     }
//! };
//! for identity in identity {
//!     let step = consumer.receive(&at_consumer.view(provider.cluster_id()), identity, env())?;
//!     apply(&mut at_consumer, &step)?;
//! }
//! let step = consumer.reconcile(&at_consumer.view(provider.cluster_id()), env())?;
//! apply(&mut at_consumer, &step)?;
//!
//! let view = at_consumer.view(provider.cluster_id());
//! let consumer::Phase::Authenticated(stored) = consumer.look(&view, now)?.phase else {
//!     panic!("not authenticated");
//! };
//! assert_eq!(
//!     stored.kubeconfig_secret.to_string(),
//!     "Secret liqo-tenant-cl-provider/kubeconfig-controlplane-cl-provider",
//! );
//! # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
//! ```
//!
//! # The parts
//!
//! | to | see |
//! |---|---|
//! | offer resources to other clusters | [`provider`] |
//! | get access to another cluster | [`consumer`] |
//! | peer with Liqo 0.2 to 0.10, which has a shared token only | `legacy` (feature `legacy`) |
//! | drive both sides with the same code | [`machine::Machine`] |
//! | only verify | [`verify`] |
//! | read and write the objects | [`model`] |
//! | keep a key elsewhere, or have another CA sign | [`crypto::SigningKey`], [`provider::CsrSigner`] |
//! | be a provider on EKS | [`provider::AwsIdentities`] |
//! | change which forms and sizes are accepted | [`policy`] |
//! | verify that the provider is the intended one | [`assurance::commitment`] |
//! | tell which version a peer runs | [`assurance::peer_version`] |
//! | understand an error | [`error`] |
//! | apply the rules of Liqo's admission webhooks | [`admission`] |
//! | keep a log of the decisions | [`audit`] |
//! | compare the result of an exchange with the other administrator | [`assurance::transcript`] |
//! | know what a peering waits for, and what a person can do | [`machine::Status::awaits`], [`machine::Awaited::remedy`] |
//! | know when a certificate is due for renewal | [`machine::HolderStatus::renewal_due_at`] |
//! | replace a key by a new one | [`assurance::succession`] |
//! | replicate slices and renewals between two clusters, in place of Liqo's crd-replicator | [`machine::replication`] |
//! | test code that embeds the library | [`machine::Objects`], proptest's `Arbitrary` for the objects (feature `proptest`), the crate `liqo-auth-rehearsal` |
//!
//! # Guarantees
//!
//! - No panic on any input, no `unsafe`, nothing of unbounded size.
//! - No clock, no environment, no file, no socket, no thread.
//! - A refused input changes nothing; its error says what is wrong, where, and
//!   what to do.
//! - No secret in any `Debug`, error or notice; secrets are wiped on drop.
//!
//! # Features
//!
//! All are off by default. Ed25519 and JSON are always available.
//!
//! | feature | adds |
//! |---|---|
//! | `yaml` | manifests in YAML |
//! | `rsa` | RSA keys of 2048 to 4096 bits, by AWS-LC |
//! | `ecdsa` | ECDSA keys on P-256, P-384 and P-521, by AWS-LC |
//! | `rustcrypto` | verification of RSA and ECDSA signatures in Rust, for platforms without AWS-LC; no signing |
//! | `aws-lc-rs` | faster Ed25519 signatures, by AWS-LC |
//! | `legacy` | the shared-token protocol of Liqo 0.2 to 0.10 |
//! | `proptest` | strategies for the objects, for certificate requests and for certificates |
//!
//! [`Wait`]: machine::Wait

pub mod admission;
pub mod assurance;
pub mod audit;
pub mod consumer;
pub mod crypto;
pub mod error;
#[cfg(feature = "legacy")]
pub mod legacy;
pub mod machine;
pub mod model;
pub mod policy;
pub mod provider;
pub mod verify;

#[cfg(test)]
mod tests;

pub use consumer::Consumer;
pub use error::Error;
pub use machine::{Env, Machine, Step, View};
pub use policy::Policy;
pub use provider::Provider;

/// The example of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// The program of the tutorial on embedding, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../docs/tutorials/embedding.md")]
struct Embedding;
