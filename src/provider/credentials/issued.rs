//! The issued credential of a peer, and the Identity that carries it.

use super::{Credential, HolderContext, Renewal};
use crate::{
    assurance::commitment::COMMITMENT_ANNOTATION,
    crypto::Nonce,
    error::Error,
    model::{Identity, IdentitySpec, IdentityType, Metadata, NamespaceName, Tenant, names},
    provider::{record::Record, rights::Granted},
    verify::VerifiedTenant,
};

/// The issued certificate or AWS user of a peer, and the Identity that carries it.
#[derive(Clone)]
#[non_exhaustive]
pub struct Issued {
    /// The verified Tenant.
    pub tenant: VerifiedTenant,
    /// The credential with which the peer authenticates.
    pub credential: Credential,
    /// The state of the certificate's renewal.
    pub renewal: Renewal,
    /// The refusal of the certificate by the API server, if the renewal is due for it.
    pub(crate) not_trusted: Option<Error>,
    pub(crate) nonce: Nonce,
    /// Whether Liqo completed the exchange. Then the provider must still make the
    /// record.
    pub(crate) is_adopted: bool,
    identity: Identity,
}

impl Issued {
    pub(crate) fn new(granted: &Granted<'_>, nonce: Nonce) -> Self {
        let renewal = granted.context.renewal(granted.credential);
        Self {
            tenant: granted.verified.clone(),
            nonce,
            credential: granted.credential.clone(),
            is_adopted: !granted.context.look.observed.is_known(),
            identity: identity(granted),
            not_trusted: granted.context.due_for_trust(granted.credential, &renewal),
            renewal,
        }
    }

    /// The objects that the peer gets with this credential.
    pub(crate) fn granted<'s>(
        &'s self,
        tenant: &'s Tenant,
        context: &'s HolderContext<'s>,
    ) -> Granted<'s> {
        Granted {
            tenant,
            verified: &self.tenant,
            context,
            credential: &self.credential,
        }
    }

    /// The Identity that the consumer must apply. `namespace` is the consumer's
    /// tenant namespace. Without a namespace, the Identity has none, as from
    /// `liqoctl generate identity`.
    pub fn identity(&self, namespace: Option<&NamespaceName>) -> Identity {
        let mut identity = self.identity.clone();
        identity.metadata.namespace = namespace.map(ToString::to_string).unwrap_or_default();
        identity
    }
}

/// The Identity, with the provider's commitment if there is one.
fn identity(granted: &Granted<'_>) -> Identity {
    let look = &granted.context.look;
    let provider = look.configuration.cluster_id();
    let labels = [(names::REMOTE_CLUSTER_ID_LABEL, provider.as_str())];
    let commitment = look.observed.record().and_then(Record::commitment);
    let annotation = |text: &str| (COMMITMENT_ANNOTATION.to_owned(), text.to_owned());
    Identity {
        metadata: Metadata {
            annotations: commitment.map(annotation).into_iter().collect(),
            ..Metadata::labelled(names::identity_name(provider), "", labels)
        },
        spec: IdentitySpec {
            cluster_id: provider.to_string(),
            identity_type: IdentityType::ControlPlane,
            auth_params: granted.auth_params(),
            namespace: Some(look.observed.namespace_name()),
        },
        ..Identity::default()
    }
}
