//! The signer of certificate requests.

use core::time::Duration;

use serde::{Serialize, Serializer};

use crate::{
    crypto::{
        Answer, Authority, BoxError, CertificateChain, Csr, Entropy, PublicKey, RequestId, Subject,
    },
    machine::Holder,
    model::{Bytes, CertificateSigningRequestSpec, ClusterId, Timestamp, names},
};

/// Signs certificate requests. An implementation may be your own CA, a service or a
/// person. For Kubernetes' own signer see
/// [`kubernetes_signer`](crate::provider::ProviderConfig::kubernetes_signer).
///
/// The provider asks the signer only for requests whose proof is on record. It may
/// ask again for the same [`RequestId`], after a crash or while the answer is
/// pending. A signer that stores its answers by that ID never signs twice. The
/// provider checks the certificate before use.
///
/// # Examples
/// A CA that answers later. A task of the program takes the requests to it, and stores its
/// answers:
/// ```
/// use std::{collections::BTreeMap, sync::{Arc, Mutex}};
/// use liqo_auth::{
///     crypto::{Answer, BoxError, CertificateChain, RequestId},
///     machine::Awaited,
///     provider::{CsrSigner, SigningRequest},
/// };
/// # use core::time::Duration;
/// # use liqo_auth::{
/// #     Consumer, Env, Provider,
/// #     consumer::ConsumerConfig,
/// #     crypto::{Authority, Entropy, KeyPair, OneKey, RecordKey},
/// #     machine::{Machine, Message, Objects, Stage, Step},
/// #     model::ClusterId,
/// #     provider::{Endpoint, NameTable},
/// # };
///
/// /// The requests to the CA, by their IDs.
/// #[derive(Default)]
/// struct Desk(Mutex<BTreeMap<RequestId, Ticket>>);
///
/// enum Ticket {
///     Open(Box<SigningRequest>),
///     Answered(Answer<CertificateChain>),
/// }
///
/// impl CsrSigner for Desk {
///     fn sign(&self, request: &SigningRequest) -> Result<Answer<CertificateChain>, BoxError> {
///         let mut tickets = self.0.lock().map_err(|_| "the task of the CA has failed")?;
///         let open = || Ticket::Open(Box::new(request.clone()));
///         Ok(match tickets.entry(request.id).or_insert_with(open) {
///             Ticket::Open(_) => Answer::Pending,
///             Ticket::Answered(answer) => answer.clone(),
///         })
///     }
/// }
///
/// impl Desk {
///     /// The program's task: `ask` is the CA, which issues a certificate or refuses.
///     fn work(
///         &self,
///         ask: impl Fn(&SigningRequest) -> Answer<CertificateChain>,
///     ) -> Result<(), BoxError> {
///         let mut tickets = self.0.lock().map_err(|_| "a caller has failed")?;
///         for ticket in tickets.values_mut() {
///             if let Ticket::Open(request) = ticket {
///                 *ticket = Ticket::Answered(ask(request));
///             }
///         }
///         Ok(())
///     }
/// }
///
/// # fn settle(
/// #     machine: &dyn Machine,
/// #     objects: &mut Objects,
/// #     peer: &ClusterId,
/// #     arrived: Vec<Message>,
/// #     env: impl Fn() -> Env,
/// # ) -> Result<Step, BoxError> {
/// #     for message in arrived {
/// #         let step = machine.receive(&objects.view(peer), message, env())?;
/// #         step.effects.iter().try_for_each(|effect| objects.apply(effect))?;
/// #     }
/// #     loop {
/// #         let step = machine.reconcile(&objects.view(peer), env())?;
/// #         step.effects.iter().try_for_each(|effect| objects.apply(effect))?;
/// #         if step.is_settled() {
/// #             return Ok(step);
/// #         }
/// #     }
/// # }
/// # let now = "2026-11-20T13:00:00Z".parse()?;
/// # let entropy = |byte| Entropy::from_bytes([byte; 32]);
/// # let ca = Authority::new("cl-provider-ca", now, Duration::from_secs(86_400), &entropy(1))?;
/// # let endpoint = Endpoint::new("https://172.19.0.3:6443".parse()?, Some(ca.ca_bundle()));
/// let desk = Arc::new(Desk::default());
/// let provider = Provider::builder("cl-provider".parse()?, endpoint, RecordKey::new([1; 32])?)
///     .principals(Arc::new(NameTable::default()))
///     .signer(desk.clone())
///     .build();
/// # let keys = Arc::new(OneKey(Arc::new(KeyPair::from_entropy(&entropy(3)))));
/// # let consumer = Consumer::new(ConsumerConfig::new("cl-consumer".parse()?), keys);
/// # let env = || Env { now, entropy: entropy(4) };
/// # let (peer, own) = (consumer.cluster_id(), provider.cluster_id());
/// # let (mut objects, mut theirs) = (Objects::new(&entropy(8)), Objects::new(&entropy(9)));
/// # let step = provider.invite(&objects.view(peer), env())?;
/// # step.effects.iter().try_for_each(|effect| objects.apply(effect))?;
/// # let nonce = settle(&provider, &mut objects, peer, Vec::new(), env)?.outbox;
/// # let tenant = settle(&consumer, &mut theirs, own, nonce, env)?.outbox;
/// // The consumer's Tenant has arrived. The provider has its request signed, and waits.
/// let step = settle(&provider, &mut objects, peer, tenant, env)?;
/// assert!(matches!(step.wait.awaiting[..], [Awaited::Credential(_)]));
///
/// # let ask = |request: &SigningRequest| {
/// #     let (csr, subject, key) = (&request.csr, &request.subject, &request.public_key);
/// #     match ca.issue(csr, subject, key, now, request.lifetime, &entropy(5)) {
/// #         Ok(chain) => Answer::Ready(chain),
/// #         Err(error) => Answer::Denied(error.to_string()),
/// #     }
/// # };
/// desk.work(ask)?;
/// // Now the provider has an Identity for the consumer.
/// let step = settle(&provider, &mut objects, peer, Vec::new(), env)?;
/// assert_eq!(step.outbox.len(), 1);
/// # let status = Machine::look(&provider, &objects.view(peer), now)?;
/// # assert_eq!(status.control_plane.stage, Stage::Authenticated);
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
pub trait CsrSigner: Send + Sync {
    /// Returns the certificate with its intermediates. The answer may also be pending
    /// or denied.
    ///
    /// # Errors
    /// The reason why the signer cannot answer. The step fails and can be tried
    /// again.
    fn sign(&self, request: &SigningRequest) -> Result<Answer<CertificateChain>, BoxError>;
}

/// A function signs.
impl<F> CsrSigner for F
where
    F: Fn(&SigningRequest) -> Result<Answer<CertificateChain>, BoxError> + Send + Sync,
{
    fn sign(&self, request: &SigningRequest) -> Result<Answer<CertificateChain>, BoxError> {
        self(request)
    }
}

/// A request for a certificate. As data, it is the question `certificate` of
/// [the JSON forms](crate::machine::json). A caller in another language answers this
/// question with its next call.
///
/// # Examples
/// ```
/// use liqo_auth::{
///     crypto::{Answer, BoxError, CertificateChain},
///     model::read_document,
///     provider::{CsrSigner, SigningRequest},
/// };
///
/// /// Another language's callback: JSON in, JSON out.
/// struct Callback(fn(String) -> String);
///
/// impl CsrSigner for Callback {
///     fn sign(&self, request: &SigningRequest) -> Result<Answer<CertificateChain>, BoxError> {
///         let question = serde_json::to_string(request)?;
///         Ok(read_document((self.0)(question).as_bytes())?)
///     }
/// }
/// # let _ = Callback(|_| r#"{ "type": "pending" }"#.to_owned());
/// ```
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename = "certificate", rename_all = "camelCase")]
#[non_exhaustive]
pub struct SigningRequest {
    /// The ID of the request. It does not change while the request does not change.
    pub id: RequestId,
    /// The peer that gets the certificate.
    pub peer: ClusterId,
    /// The holder of the certificate: the peer's control plane, or one of its
    /// slices. For a peering user, this is the control plane.
    pub holder: Holder,
    /// The request itself, verified.
    pub csr: Csr,
    /// The subject that the certificate has to have.
    pub subject: Subject,
    /// The key that the certificate has to carry.
    pub public_key: PublicKey,
    /// The requested lifetime. The signer may choose a shorter one, or a longer one
    /// that the peer's policy allows.
    #[serde(rename = "lifetimeSeconds", serialize_with = "seconds")]
    pub lifetime: Duration,
    /// The present time.
    pub now: Timestamp,
}

impl SigningRequest {
    /// The lifetime as `spec.expirationSeconds` of a Kubernetes
    /// CertificateSigningRequest: in seconds, and at least 600, since the API
    /// does not accept less. Source: Kubernetes `certificates.k8s.io/v1`
    /// `CertificateSigningRequestSpec`.
    pub fn expiration_seconds(&self) -> i32 {
        i32::try_from(self.lifetime.as_secs())
            .unwrap_or(i32::MAX)
            .max(SHORTEST_KUBERNETES_LIFETIME)
    }

    /// The request as Kubernetes' own signer gets it.
    pub(crate) fn to_kubernetes(&self) -> CertificateSigningRequestSpec {
        CertificateSigningRequestSpec {
            request: Bytes::from(self.csr.pem()),
            signer_name: names::CLIENT_SIGNER.to_owned(),
            usages: names::CLIENT_USAGES.map(str::to_owned).to_vec(),
            expiration_seconds: Some(self.expiration_seconds()),
        }
    }
}

fn seconds<S: Serializer>(lifetime: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(lifetime.as_secs())
}

/// Signs at once with an [`Authority`] in memory. It stores nothing: for a repeated
/// request, it issues another certificate with another serial number.
pub struct AuthoritySigner {
    authority: Authority,
    serial_numbers: Entropy,
}

impl AuthoritySigner {
    /// Signs with `authority`; serial numbers are derived from `entropy`.
    pub fn new(authority: Authority, entropy: Entropy) -> Self {
        Self {
            authority,
            serial_numbers: entropy,
        }
    }
}

impl CsrSigner for AuthoritySigner {
    fn sign(&self, request: &SigningRequest) -> Result<Answer<CertificateChain>, BoxError> {
        let now = request.now.unix().to_be_bytes();
        let serial_number = self
            .serial_numbers
            .derive("serial number", &[request.id.as_bytes(), &now]);
        let chain = self.authority.issue(
            &request.csr,
            &request.subject,
            &request.public_key,
            request.now,
            request.lifetime,
            &Entropy::from_bytes(serial_number),
        )?;
        Ok(Answer::Ready(chain))
    }
}

/// The minimum that Kubernetes accepts for `spec.expirationSeconds`.
const SHORTEST_KUBERNETES_LIFETIME: i32 = 600;
