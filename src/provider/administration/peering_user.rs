//! Peering users: whom a provider's administrator lets peer with it, without
//! being an administrator.
//!
//! A peering user has a key and a certificate of its own, may read some of
//! Liqo's configuration and write in one tenant namespace; its kubeconfig is
//! for the consumer's administrator to run `liqoctl peer` with. Source: Liqo
//! `pkg/liqoctl/rest/peering-user`.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    audit::{Decision, Event},
    crypto::{Answer, CertificateChain, ClientCertificateExpectation, Csr, SigningKey, Subject},
    error::{ApiMisuse, Backend, Error, LocalFault, PolicyRefusal, Precondition},
    machine::{Env, Holder, Interest, Step, View, plan::Plan},
    model::{
        Bytes, CertificateSigningRequest, CertificateSigningRequestSpec, ClusterId, ClusterRole,
        Kind, Kubeconfig, Metadata, Namespace, ObjectRef, RbacSubject, Resource, Role, RoleBinding,
        RoleRef, names,
    },
    provider::{
        Claimant, CsrSigner, PrincipalName, Provider, RequestId, SigningRequest,
        credentials::lifetime,
    },
    verify,
};

/// A peering user whose certificate is to be signed. Its key is stored
/// nowhere: if this value is lost, so is the user, and another one is made.
#[derive(Clone)]
pub struct NewPeeringUser {
    provider: Provider,
    key: Arc<dyn SigningKey>,
    request: SigningRequest,
    /// The tenant namespace, and whether it is to be made.
    namespace: String,
    make_namespace: bool,
    /// The Role in Liqo's namespace, and the ClusterRole for the tenant
    /// namespace.
    reader: ObjectRef,
    writer: ObjectRef,
}

/// A peering user with its certificate.
#[derive(Debug)]
#[non_exhaustive]
pub struct PeeringUser {
    /// Its rights, to be carried out before the kubeconfig is handed out.
    pub step: Step,
    /// What its holder uses. It has the private key in it, and is stored
    /// nowhere.
    pub kubeconfig: Kubeconfig,
}

impl Provider {
    /// What to look up, to make or delete the peering user for a peer.
    pub fn peering_user_interests(&self, peer: &ClusterId) -> Vec<Interest> {
        let user = names::peering_user(peer);
        let namespace = names::tenant_namespace(peer);
        let labelled = |kind, label, value: &str| Interest::Labelled {
            kind,
            label,
            value: value.to_owned(),
        };
        let component = |kind| {
            labelled(
                kind,
                names::APP_COMPONENT_LABEL,
                names::PEERING_USER_COMPONENT,
            )
        };
        vec![
            labelled(Kind::RoleBinding, names::PEERING_USER_LABEL, &user),
            labelled(
                Kind::CertificateSigningRequest,
                names::PEERING_USER_LABEL,
                &user,
            ),
            // By name as well: what stands there without its label is in the way.
            Interest::Named {
                kind: Kind::RoleBinding,
                name: names::peering_user_reader(peer),
            },
            Interest::Named {
                kind: Kind::RoleBinding,
                name: names::peering_user_writer(peer),
            },
            Interest::Object(ObjectRef::new(Kind::CertificateSigningRequest, "", user)),
            component(Kind::Role),
            component(Kind::ClusterRole),
            labelled(
                Kind::Namespace,
                names::REMOTE_CLUSTER_ID_LABEL,
                peer.as_str(),
            ),
            Interest::Object(ObjectRef::new(Kind::Namespace, "", namespace)),
        ]
    }

    /// Begins to make a peering user for a consumer's administrator, with a
    /// key that was made for it. Its name ends in 128 random bits, so that no
    /// later user has the rights of an earlier one.
    ///
    /// # Errors
    /// [`LocalFault::PeeringUserExists`] as long as there is one for the peer;
    /// [`Precondition::NoPeeringRole`] or [`LocalFault::Ambiguous`] unless there
    /// is exactly one Role and one ClusterRole for peering users;
    /// [`LocalFault::Conflict`] if something else has the name of what is to be
    /// made; [`PolicyRefusal`] if the name is too long or taken;
    /// [`LocalFault::Backend`] if the key does not sign at once.
    pub fn peering_user(
        &self,
        view: &View<'_>,
        key: Arc<dyn SigningKey>,
        env: Env,
    ) -> Result<NewPeeringUser, Error> {
        let peer = view.peer();
        self.0.check_peer(peer)?;
        check_label(peer)?;
        let reader = only_role::<Role>(view)?;
        let writer = only_role::<ClusterRole>(view)?;
        let namespace = view.tenant_namespace()?;
        if namespace.is_none() {
            verify::default_namespace(peer)?;
        }
        refuse_second(view)?;
        let suffix = env
            .entropy
            .derive("peering user", &[peer.as_str().as_bytes()]);
        let subject = Subject::peering_user(peer, suffix);
        let name = PrincipalName::user(subject.common_name());
        let taken = self
            .0
            .principals
            .is_taken(&name, Claimant::PeeringUser(peer));
        let taken = taken.map_err(|error| Error::backend(Backend::Principals, error))?;
        if taken != Answer::Ready(false) {
            let name = name.name.to_owned();
            return Err(Error::new(PolicyRefusal::NameTaken { name }, None, ""));
        }
        let csr = Csr::make(&subject, &*key)
            .and_then(|answer| Ok(answer.at_once()?))
            .map_err(|error| Error::backend(Backend::Keys, error))?;
        let lifetime = lifetime(&self.0, peer);
        let request = SigningRequest {
            id: RequestId::of_peering_user(&csr, lifetime),
            peer: peer.clone(),
            holder: Holder::ControlPlane,
            subject,
            public_key: key.public_key().clone(),
            csr,
            lifetime,
            now: env.now,
        };
        Ok(NewPeeringUser {
            provider: self.clone(),
            key,
            request,
            namespace: match namespace {
                Some(namespace) => namespace.metadata.name.clone(),
                None => names::tenant_namespace(peer),
            },
            make_namespace: namespace.is_none(),
            reader,
            writer,
        })
    }

    /// Takes the rights of a peer's peering user back, and deletes its request.
    /// Its certificate is valid until it expires, and good for nothing: no
    /// later user has its name. Where there is none, nothing happens.
    ///
    /// # Errors
    /// [`LocalFault::Unreadable`].
    pub fn delete_peering_user(&self, view: &View<'_>) -> Result<Step, Error> {
        let user = names::peering_user(view.peer());
        let mut plan = Plan::new(());
        let mut ids = Vec::new();
        for binding in of_user::<RoleBinding>(view, &user)? {
            plan.withdraw(binding);
            ids.push(binding.id());
        }
        for request in of_user::<CertificateSigningRequest>(view, &user)? {
            plan.delete(request);
            ids.push(request.id());
        }
        let deleted = Event::new(view.peer(), Decision::PeeringUserDeleted { user });
        plan.tell_upon_any(ids, deleted);
        Ok(plan.finish())
    }
}

impl NewPeeringUser {
    /// What is to be signed.
    pub fn request(&self) -> &SigningRequest {
        &self.request
    }

    /// Its name: the CN of its certificate.
    pub fn name(&self) -> &str {
        self.request.subject.common_name()
    }

    /// The request as Liqo leaves it on the API server, for who has it signed
    /// there. By its name and label a second user is refused, and by the label
    /// it is deleted with the user.
    pub fn certificate_signing_request(&self) -> CertificateSigningRequest {
        CertificateSigningRequest {
            metadata: Metadata {
                name: names::peering_user(&self.request.peer),
                ..self.labelled()
            },
            spec: CertificateSigningRequestSpec {
                request: Bytes::from(self.request.csr.pem()),
                signer_name: names::CLIENT_SIGNER.to_owned(),
                usages: names::CLIENT_USAGES.map(str::to_owned).to_vec(),
                expiration_seconds: Some(self.request.expiration_seconds()),
            },
            ..CertificateSigningRequest::default()
        }
    }

    /// Has it signed by a signer; none while its answer is pending.
    ///
    /// # Errors
    /// As [`continue_with`](Self::continue_with);
    /// [`PolicyRefusal::CredentialDenied`]; [`LocalFault::Backend`].
    pub fn have_signed_by(&self, signer: &dyn CsrSigner) -> Result<Option<PeeringUser>, Error> {
        let signing = signer.sign(&self.request);
        match signing.map_err(|error| Error::backend(Backend::Credentials, error))? {
            Answer::Ready(chain) => self.continue_with(&chain).map(Some),
            Answer::Pending => Ok(None),
            Answer::Denied(reason) => Err(Error::new(
                PolicyRefusal::CredentialDenied {
                    reason: crate::error::shortened(&reason),
                },
                None,
                "",
            )),
        }
    }

    /// Goes on with the certificate that the signer gave.
    ///
    /// # Errors
    /// [`ApiMisuse::SignerCertificate`] if it is not for this request;
    /// [`LocalFault::KeyNotExportable`] if no kubeconfig can reach the key.
    pub fn continue_with(&self, chain: &CertificateChain) -> Result<PeeringUser, Error> {
        let expectation = ClientCertificateExpectation {
            subject: &self.request.subject,
            key: &self.request.public_key,
            now: self.request.now,
        };
        let peer = &self.request.peer;
        chain
            .check_client(&expectation, self.provider.0.policy(peer))
            .map_err(|error| Error::new(ApiMisuse::SignerCertificate(error), None, ""))?;
        let endpoint = &self.provider.0.endpoint;
        let kubeconfig = Kubeconfig {
            cluster: peer.to_string(),
            server: endpoint.api_server().to_string(),
            certificate_authority: endpoint.ca(),
            proxy_url: None,
            user: format!("{peer}-user"),
            credential: self
                .key
                .client_key()
                .into_user(Bytes::from(chain.pem()))
                .ok_or_else(|| Error::new(LocalFault::KeyNotExportable, None, ""))?,
            namespace: Some(self.namespace.clone()),
        };
        let mut plan = Plan::new(());
        if self.make_namespace {
            plan.create(Namespace::for_tenant(peer));
        }
        let reader = self.binding(
            names::peering_user_reader(peer),
            &self.reader.namespace,
            RoleRef::role(&self.reader.name),
        );
        let writer = self.binding(
            names::peering_user_writer(peer),
            &self.namespace,
            RoleRef::cluster_role(&self.writer.name),
        );
        let user = self.name().to_owned();
        plan.tell(
            Event::new(peer, Decision::PeeringUserMade { user })
                .about(writer.id())
                .by_key(self.request.public_key.fingerprint()),
        );
        plan.create(reader);
        plan.create(writer);
        let step = plan.finish();
        Ok(PeeringUser { step, kubeconfig })
    }

    fn binding(&self, name: String, namespace: &str, role_ref: RoleRef) -> RoleBinding {
        RoleBinding {
            metadata: Metadata {
                name,
                namespace: namespace.to_owned(),
                ..self.labelled()
            },
            role_ref,
            subjects: vec![RbacSubject::user(self.name())],
        }
    }

    fn labelled(&self) -> Metadata {
        Metadata {
            labels: BTreeMap::from([(
                names::PEERING_USER_LABEL.to_owned(),
                names::peering_user(&self.request.peer),
            )]),
            ..Metadata::default()
        }
    }
}

impl core::fmt::Debug for NewPeeringUser {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        formatter
            .debug_struct("NewPeeringUser")
            .field("name", &self.name())
            .finish_non_exhaustive()
    }
}

/// `liqo-peer-user-<peer>` is the value of a label.
fn check_label(peer: &ClusterId) -> Result<(), Error> {
    const LABEL_VALUE: usize = 63;
    let prefix = names::PEERING_USER_PREFIX.len();
    let (found, limit) = (peer.as_str().len(), LABEL_VALUE - prefix);
    if found <= limit {
        return Ok(());
    }
    Err(Error::new(
        PolicyRefusal::ClusterIdTooLong { found, limit },
        None,
        "metadata.labels[liqo.io/peering-user-name]",
    ))
}

/// The one role for peering users of that kind.
fn only_role<K: Resource>(view: &View<'_>) -> Result<ObjectRef, Error> {
    let mut roles = view.every::<K>()?.filter(|role| {
        let label = role.metadata().labels.get(names::APP_COMPONENT_LABEL);
        label.map(String::as_str) == Some(names::PEERING_USER_COMPONENT)
    });
    let Some(role) = roles.next() else {
        let kind = K::KIND.as_str();
        return Err(Error::new(Precondition::NoPeeringRole { kind }, None, ""));
    };
    match roles.find(|other| other.id() != role.id()) {
        None => Ok(role.id()),
        Some(other) => Err(Error::new(
            LocalFault::Ambiguous {
                other: other.id().to_string(),
            },
            Some(role.id()),
            "",
        )),
    }
}

/// There is no other user for the peer, and nothing in the way of this one.
fn refuse_second(view: &View<'_>) -> Result<(), Error> {
    let peer = view.peer();
    let user = names::peering_user(peer);
    let existing = match of_user::<RoleBinding>(view, &user)?.next() {
        Some(binding) => Some(binding.id()),
        None => of_user::<CertificateSigningRequest>(view, &user)?
            .next()
            .map(Resource::id),
    };
    if let Some(id) = existing {
        return Err(Error::new(LocalFault::PeeringUserExists, Some(id), ""));
    }
    let bindings = [
        names::peering_user_reader(peer),
        names::peering_user_writer(peer),
    ];
    let in_the_way = view
        .every::<RoleBinding>()?
        .find(|binding| bindings.contains(&binding.metadata.name))
        .map(Resource::id);
    let request = || {
        let request = view.find::<CertificateSigningRequest>("", &user);
        Ok::<_, Error>(request?.map(Resource::id))
    };
    match in_the_way.map_or_else(request, |id| Ok(Some(id)))? {
        None => Ok(()),
        Some(id) => Err(Error::new(
            LocalFault::Conflict,
            Some(id),
            "metadata.labels",
        )),
    }
}

fn of_user<'o, K: Resource + 'o>(
    view: &View<'o>,
    user: &str,
) -> Result<impl Iterator<Item = &'o K>, Error> {
    Ok(view.every::<K>()?.filter(move |object| {
        let label = object.metadata().labels.get(names::PEERING_USER_LABEL);
        label.map(String::as_str) == Some(user)
    }))
}
