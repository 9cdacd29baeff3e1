//! Storing the kubeconfig of an Identity.

use std::collections::BTreeMap;

use super::holder_context::HolderContext;
use crate::{
    audit::{Decision, Event},
    consumer::{AcceptedIdentity, record::Plan},
    error::{Error, LocalFault},
    machine::Awaited,
    model::{
        AuthParams, Identity, Kind, Kubeconfig, LocalObjectReference, Metadata, ObjectRef,
        OwnerReference, Resource, Secret, SecretBytes, UserCredential, names,
    },
    verify::Credentials,
};

impl HolderContext<'_> {
    /// Pins the API server, the CA and the provider's key, stores the kubeconfig,
    /// references it in the Identity's status, and opens the channel of the next certificate.
    ///
    /// # Errors
    /// [`LocalFault::KeyNotExportable`] if a kubeconfig cannot contain or reference
    /// the key.
    pub(crate) fn store(
        &self,
        accepted: &AcceptedIdentity,
        plan: &mut Plan<'_>,
    ) -> Result<(), Error> {
        let Some(identity) = self.identity else {
            return Ok(());
        };
        if identity.metadata.uid.is_empty() {
            plan.await_for(Awaited::Uid(identity.id()));
            return Ok(());
        }
        let mut wanted = self.secret(identity, accepted, &kubeconfig(identity, accepted)?);
        if !self.has(&wanted) {
            if let Some(present) = self.kubeconfig {
                if present.metadata.deletion_timestamp.is_some() {
                    plan.await_for(Awaited::End(present.id()));
                    return Ok(());
                }
                // Finalizers of other owners stay. All other content belongs to this
                // library.
                let finalizers = &mut wanted.metadata.finalizers;
                finalizers.clone_from(&present.metadata.finalizers);
            }
            plan.put(self.kubeconfig, wanted);
        }
        plan.edit(identity, |identity| {
            identity.status.kubeconfig_secret_ref = Some(reference(identity));
        });
        self.record_identity(accepted, plan);
        self.open_channel(identity, accepted, plan)
    }

    /// Records the certificate and the pins of its Identity.
    pub(crate) fn record_identity(&self, accepted: &AcceptedIdentity, plan: &mut Plan<'_>) {
        let observed = self.look.observed;
        let receipt = accepted.received(&self.holder, observed.record(), self.look.now);
        let certificate = receipt.map(|receipt| receipt.certificate);
        let known = self.recorded().map(|received| received.certificate);
        let is_new = certificate.is_some() && known != certificate;
        // After a release of the pins, only a new certificate sets them again.
        let is_released = observed.record().is_some_and(|record| record.released)
            && certificate.is_some()
            && !is_new;
        plan.records.change(|record| {
            if self.is_of_control_plane() && !is_released {
                accepted.record_pins(record);
            }
            if let Some(receipt) = receipt {
                record.set_received(&self.holder, receipt);
            }
        });
        if is_new && let Some(identity) = self.identity {
            let decision = Decision::IdentityTaken { certificate };
            let taken = Event::new(self.look.peer(), decision).about(identity.id());
            plan.tell(taken.by_key(accepted.key().fingerprint()));
        }
        if self.is_of_control_plane() {
            accepted.notices().for_each(|notice| plan.notify(notice));
        }
    }

    /// The kubeconfig, if it is stored and the Identity's status references it.
    pub(crate) fn stored(&self, accepted: &AcceptedIdentity) -> Result<Option<Kubeconfig>, Error> {
        let Some(identity) = self.identity else {
            return Ok(None);
        };
        let kubeconfig = kubeconfig(identity, accepted)?;
        let named = identity.status.kubeconfig_secret_ref.as_ref();
        let is_stored = self.has(&self.secret(identity, accepted, &kubeconfig))
            && named == Some(&reference(identity));
        Ok(is_stored.then_some(kubeconfig))
    }

    /// Whether the stored Secret has the kubeconfig of this Identity.
    pub(crate) fn has_kubeconfig(
        &self,
        identity: &Identity,
        accepted: &AcceptedIdentity,
    ) -> Result<bool, Error> {
        let kubeconfig = kubeconfig(identity, accepted)?;
        Ok(self.has(&self.secret(identity, accepted, &kubeconfig)))
    }

    /// The Secret of the kubeconfig, stored or not.
    pub(crate) fn kubeconfig_id(&self) -> ObjectRef {
        let metadata = self.identity.map(|identity| &identity.metadata);
        let (namespace, name) = metadata.map_or(("", ""), |metadata| {
            (metadata.namespace.as_str(), metadata.name.as_str())
        });
        ObjectRef::new(Kind::Secret, namespace, names::kubeconfig_secret(name))
    }

    /// Whether the Secret has the kubeconfig, and stays where Liqo finds it. By the annotation,
    /// Liqo's replicator knows where to write at the provider.
    fn has(&self, wanted: &Secret) -> bool {
        let remote = |secret: &Secret| {
            let annotations = &secret.metadata.annotations;
            annotations
                .get(names::REMOTE_TENANT_NAMESPACE_ANNOTATION)
                .cloned()
        };
        self.kubeconfig.is_some_and(|present| {
            let mut labels = wanted.metadata.labels.iter();
            present.metadata.deletion_timestamp.is_none()
                && remote(present) == remote(wanted)
                && labels.all(|(label, value)| present.metadata.label(label) == Some(value))
                && present.data.len() == wanted.data.len()
                && wanted.data.iter().all(|(key, value)| {
                    let present = present.get(key);
                    present == Some(value.expose())
                        || key == names::KUBECONFIG
                            && present.is_some_and(|it| has_same_content(it, value.expose()))
                })
        })
    }

    fn secret(
        &self,
        identity: &Identity,
        accepted: &AcceptedIdentity,
        kubeconfig: &Kubeconfig,
    ) -> Secret {
        let identity_type = identity.spec.identity_type.to_string();
        let labels = [
            (names::REMOTE_CLUSTER_ID_LABEL, self.look.peer().as_str()),
            (names::IDENTITY_TYPE_LABEL, &identity_type),
        ];
        let annotation = accepted.identity.namespace.as_ref().map(|namespace| {
            (
                names::REMOTE_TENANT_NAMESPACE_ANNOTATION.to_owned(),
                namespace.to_string(),
            )
        });
        let mut data = aws_keys(&identity.spec.auth_params);
        data.insert(names::KUBECONFIG.to_owned(), kubeconfig.to_yaml());
        Secret {
            metadata: Metadata {
                annotations: annotation.into_iter().collect(),
                owner_references: vec![OwnerReference::controller(identity)],
                ..Metadata::labelled(
                    names::kubeconfig_secret(&identity.metadata.name),
                    identity.metadata.namespace.as_str(),
                    labels,
                )
            },
            data,
            ..Secret::default()
        }
    }
}

/// Whether a stored kubeconfig has the same content as the kubeconfig of this
/// library. A kubeconfig of Liqo 1.0 has one more line, which has no effect.
fn has_same_content(present: &[u8], ours: &[u8]) -> bool {
    const NOTHING: &[u8] = b"preferences: {}\n";
    let lines = |text| <[u8]>::split_inclusive(text, |byte| *byte == b'\n');
    let says_nothing = lines(present).position(|line| line == NOTHING);
    let rest = lines(present).enumerate();
    let rest = rest.filter(|(at, _)| Some(*at) != says_nothing);
    rest.map(|(_, line)| line).eq(lines(ours))
}

fn reference(identity: &Identity) -> LocalObjectReference {
    LocalObjectReference {
        name: names::kubeconfig_secret(&identity.metadata.name),
    }
}

fn kubeconfig(identity: &Identity, accepted: &AcceptedIdentity) -> Result<Kubeconfig, Error> {
    let auth_params = &identity.spec.auth_params;
    let verified = &accepted.identity;
    let credential = match &verified.credentials {
        Credentials::Certificate(_) => accepted
            .key
            .client_key()
            .into_user(auth_params.signed_crt.clone())
            .ok_or_else(|| Error::new(LocalFault::KeyNotExportable, None, ""))?,
        // The reader makes an EKS token from the AWS keys, so it does not need a private key.
        Credentials::Aws(_) => UserCredential::Elsewhere,
    };
    Ok(Kubeconfig {
        cluster: identity.spec.cluster_id.clone(),
        user: identity.metadata.name.clone(),
        server: auth_params.api_server.clone(),
        certificate_authority: auth_params.ca.clone(),
        credential,
        proxy_url: verified
            .proxy_url
            .as_ref()
            .map(|url| url.as_str().to_owned()),
        namespace: verified.namespace.as_ref().map(ToString::to_string),
    })
}

/// The other fields of the Secret, for EKS. Liqo makes an EKS token from them.
fn aws_keys(auth_params: &AuthParams) -> BTreeMap<String, SecretBytes> {
    let Some(config) = &auth_params.aws_config else {
        return BTreeMap::new();
    };
    [
        (names::AWS_ACCESS_KEY_ID, config.aws_access_key_id.as_str()),
        (
            names::AWS_SECRET_ACCESS_KEY,
            config.aws_secret_access_key.expose(),
        ),
        (names::AWS_REGION, config.aws_region.as_str()),
        (names::AWS_EKS_CLUSTER_ID, config.aws_cluster_name.as_str()),
        (names::AWS_IAM_USER_ARN, config.aws_user_arn.as_str()),
    ]
    .map(|(key, value)| (key.to_owned(), SecretBytes::from(value.as_bytes())))
    .into()
}
