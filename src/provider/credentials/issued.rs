//! The authenticated phase: what the peer has, and the Identity to hand out.

use std::collections::BTreeMap;

use super::{Credential, Renewal};
use crate::{
    assurance::commitment::COMMITMENT_ANNOTATION,
    crypto::{CertificateChain, Nonce, PublicKey},
    model::{Identity, IdentitySpec, IdentityType, Metadata, NamespaceName, Timestamp, names},
    provider::{look::Look, rights::Granted},
    verify::{Credentials, VerifiedTenant},
};

/// The peer has a certificate or an AWS user, rights, and an Identity that can
/// be handed out.
#[derive(Clone)]
pub struct Issued {
    pub(in crate::provider) verified: VerifiedTenant,
    pub(in crate::provider) nonce: Nonce,
    pub(in crate::provider) credential: Credential,
    /// Whether Liqo left the exchange complete: this library's record is still
    /// to be made.
    pub(in crate::provider) is_adopted: bool,
    identity: Identity,
    renewal: Renewal,
}

impl Issued {
    pub(in crate::provider) fn new(granted: &Granted<'_>, nonce: Nonce) -> Self {
        Self {
            verified: granted.verified.clone(),
            nonce,
            credential: granted.credential.clone(),
            is_adopted: !granted.look.observed.is_known(),
            identity: identity(&granted.look, granted),
            renewal: granted.holding.renewal(granted.credential),
        }
    }

    /// What the consumer is to apply. Like `liqoctl generate identity`, it has
    /// no namespace unless one is given: the consumer's tenant namespace.
    pub fn identity(&self, namespace: Option<&NamespaceName>) -> Identity {
        let mut identity = self.identity.clone();
        identity.metadata.namespace = namespace.map(ToString::to_string).unwrap_or_default();
        identity
    }

    /// What the peer authenticates by.
    pub fn credentials(&self) -> &Credentials {
        self.credential.shown()
    }

    /// When the certificate expires; AWS keys do not.
    pub fn valid_until(&self) -> Option<Timestamp> {
        self.credential.valid_until()
    }

    /// The certificate that was issued; none where an AWS user stands in its
    /// place.
    pub fn certificate(&self) -> Option<&CertificateChain> {
        self.credential.chain()
    }

    /// The peer's key.
    pub fn public_key(&self) -> &PublicKey {
        self.verified.public_key()
    }

    /// Where the renewal of the certificate stands.
    pub fn renewal(&self) -> &Renewal {
        &self.renewal
    }
}

/// The Identity, with the provider's commitment where there is one.
fn identity(look: &Look<'_>, granted: &Granted<'_>) -> Identity {
    let provider = &look.configuration.cluster_id;
    let commitment = look
        .observed
        .record()
        .and_then(|record| record.proof.as_ref()?.commitment.as_ref())
        .map(|commitment| commitment.annotation().to_owned());
    Identity {
        metadata: Metadata {
            name: names::identity_name(provider),
            labels: BTreeMap::from([(
                names::REMOTE_CLUSTER_ID_LABEL.to_owned(),
                provider.to_string(),
            )]),
            annotations: commitment
                .map(|commitment| (COMMITMENT_ANNOTATION.to_owned(), commitment))
                .into_iter()
                .collect(),
            ..Metadata::default()
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
