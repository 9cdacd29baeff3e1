//! Which providers get keys of their own.

use std::sync::Arc;

use super::{
    Consumer,
    credentials::{holder_context::HolderContext, identity_state::IdentityState},
    keys::Keys,
    look::Look,
    observed::Observed,
};
use crate::{
    crypto::{Csr, Nonce, SigningKey, Subject},
    error::Error,
    machine::View,
    model::{Kind, Object, RoleBinding, Secret, Timestamp, names},
};

impl Consumer {
    /// Whether a provider that has no key of its own yet gets one, or this cluster's key.
    /// A key store asks before the first signature for the provider, and keeps the answer.
    ///
    /// A peering that runs with this cluster's key keeps it. Otherwise the `setting`
    /// decides, if there is one. Without a setting, a key that was in use before an end
    /// comes back, since the provider may have pinned it. A new provider gets a key of its
    /// own if it is a consumer of this cluster as well: it may then read the Secrets in its
    /// tenant namespace, where the kubeconfig has the private key. Such a provider has a
    /// record, a Tenant or a peering user in the view.
    ///
    /// # Errors
    /// As [`look`](Self::look).
    pub fn takes_own_key(
        &self,
        view: &View<'_>,
        cluster_key: &Arc<dyn SigningKey>,
        setting: Option<bool>,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let configuration = &*self.0;
        configuration.check_peer(view.peer())?;
        let observed = Observed::of(configuration, view)?;
        let keys = Keys {
            current: Arc::clone(cluster_key),
            predecessor: None,
        };
        let look = Look {
            configuration,
            view,
            observed: &observed,
            keys: Some(&keys),
            now,
        };
        let was_in_use = look.has_requested_by(&**cluster_key);
        if look.runs_with(&keys, was_in_use) {
            return Ok(false);
        }
        if let Some(setting) = setting {
            return Ok(setting);
        }
        Ok(!was_in_use && look.is_of_a_consumer()?)
    }
}

impl Look<'_> {
    /// Whether the recorded certificate request is by this key.
    fn has_requested_by(&self, key: &dyn SigningKey) -> bool {
        let subject = Subject::control_plane(self.configuration.cluster_id());
        let kept = self.observed.kept_request();
        kept.is_some_and(|pem| Csr::verify(pem, &subject, key.public_key(), self.policy()).is_ok())
    }

    /// Whether a peering is under way with this key. The peer may have written the Identity
    /// and the nonce. So the record decides. Liqo does not make a record: then the stored
    /// kubeconfig has the private key, or the stored signature is by the key and over a
    /// nonce that names both clusters. A signature over another nonce may be one that this
    /// cluster gave to another provider.
    fn runs_with(&self, keys: &Keys, has_request: bool) -> bool {
        let observed = self.observed;
        let has_ended = observed.record().is_some_and(|it| it.ended.is_some());
        let is_begun = observed.identity.is_some() || observed.has_signature();
        if has_ended || !is_begun {
            return false;
        }
        let is_signed = || {
            let nonce = self
                .stored_nonce()
                .filter(|_| observed.kept_request().is_none());
            nonce.is_some_and(|nonce| {
                self.is_of_these_clusters(&nonce)
                    && self
                        .signing(keys, &nonce)
                        .was_signed_by(Some(&*keys.current))
            })
        };
        let is_held = || {
            let state = HolderContext::of_control_plane(*self).identity_state(keys, None);
            matches!(state, Ok(IdentityState::Held(_)))
        };
        has_request || is_signed() || is_held()
    }

    fn is_of_these_clusters(&self, nonce: &Nonce) -> bool {
        let consumer = self.configuration.cluster_id();
        let structured = nonce.structured();
        structured.is_some_and(|nonce| nonce.is_for(self.peer(), consumer))
    }

    /// Whether the provider's side of this cluster may let the peer in by this Tenant: by its
    /// name, or by its label. A Tenant in the tenant namespace counts in any case.
    fn may_let_in(&self, tenant: &Object) -> bool {
        let (peer, (_, namespace, name)) = (self.peer().as_str(), tenant.key());
        let label = tenant.metadata().label(names::REMOTE_CLUSTER_ID_LABEL);
        name == peer || label == Some(peer) || namespace == self.observed.namespace_name()
    }

    /// Whether the provider is a consumer of this cluster as well, or was one.
    pub(super) fn is_of_a_consumer(&self) -> Result<bool, Error> {
        let (view, peer) = (self.view, self.peer());
        let record = names::provider_record(peer);
        let user = names::peering_user(peer);
        let is_of_user = |binding: &RoleBinding| {
            binding.metadata.label(names::PEERING_USER_LABEL) == Some(user.as_str())
        };
        Ok(view
            .find::<Secret>(self.configuration.namespace(), &record)?
            .is_some()
            || view.present(Kind::Tenant).any(|it| self.may_let_in(it))
            || view.readable::<RoleBinding>().any(is_of_user))
    }
}
