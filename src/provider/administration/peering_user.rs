//! Peering users: users who may peer with a provider without being its
//! administrator.
//!
//! A peering user has its own key and certificate. It may read some of Liqo's
//! configuration and write in one tenant namespace. The consumer's administrator
//! runs `liqoctl peer` with the kubeconfig of the peering user. Source: Liqo
//! `pkg/liqoctl/rest/peering-user`.

use std::sync::Arc;

use crate::{
    audit::{Decision, Event},
    crypto::{CertificateChain, ClientCertificateExpectation, Csr, SigningKey, Subject},
    error::{ApiMisuse, Backend, Error, LocalFault, PolicyRefusal, Precondition},
    machine::{Env, Holder, Step, View, plan::Plan, view::only},
    model::{
        Bytes, CertificateSigningRequest, ClusterId, ClusterRole, Kubeconfig, Metadata, Namespace,
        ObjectRef, RbacSubject, Resource, Role, RoleBinding, RoleRef, names,
    },
    policy::LABEL_VALUE,
    provider::{
        Claimant, PrincipalName, Provider, RequestId, SigningRequest, credentials::lifetime,
        principals::are_free,
    },
    verify,
};

/// A peering user whose certificate must be signed. The user's key is not stored. If
/// this value is lost, make another peering user.
#[derive(Clone, derive_more::Debug)]
#[debug("NewPeeringUser {{ name: {:?}, .. }}", self.name())]
pub struct NewPeeringUser {
    provider: Provider,
    key: Arc<dyn SigningKey>,
    request: SigningRequest,
    /// The tenant namespace, and whether it must be created.
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
    /// The step that grants the user's rights. Apply this step before you hand over
    /// the kubeconfig.
    pub step: Step,
    /// The user's kubeconfig. It contains the private key, and is not stored.
    pub kubeconfig: Kubeconfig,
}

impl Provider {
    /// Starts to make a peering user for a consumer's administrator. `key` must be a
    /// new key that only this user has. The name of the user ends in 128 random
    /// bits, so that no later user has the rights of an earlier one.
    ///
    /// # Errors
    /// [`LocalFault::PeeringUserExists`] if the peer already has a peering user;
    /// [`Precondition::NoPeeringRole`] or [`LocalFault::Ambiguous`] unless there is
    /// exactly one Role and one ClusterRole for peering users;
    /// [`LocalFault::Conflict`] if another object has the name of an object to
    /// create; [`PolicyRefusal`] if the name is too long or taken;
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
        let name = subject.common_name();
        let user = [PrincipalName::User(name)];
        let claimant = Claimant::PeeringUser(peer);
        if are_free(&self.0.principals, &user, claimant)? != Some(true) {
            let name = name.to_owned();
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
            namespace: Namespace::name_for(namespace, peer),
            make_namespace: namespace.is_none(),
            reader,
            writer,
        })
    }

    /// Withdraws the rights of a peer's peering user, and deletes its request. The
    /// certificate stays valid until it expires, but does not give rights, since no later
    /// user has the same name. If the peer has no peering user, nothing happens.
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
    /// The request to sign.
    pub fn request(&self) -> &SigningRequest {
        &self.request
    }

    fn name(&self) -> &str {
        self.request.subject.common_name()
    }

    /// The request as Liqo stores it on the API server, for a caller that has it
    /// signed there. Its name and label prevent a second user.
    /// [`Provider::delete_peering_user`] finds the request by its label and deletes
    /// it together with the user.
    pub fn certificate_signing_request(&self) -> CertificateSigningRequest {
        CertificateSigningRequest {
            metadata: self.labelled(names::peering_user(&self.request.peer), ""),
            spec: self.request.to_kubernetes(),
            ..CertificateSigningRequest::default()
        }
    }

    /// Completes the peering user with the certificate that a signer issued for the
    /// request.
    ///
    /// # Errors
    /// [`ApiMisuse::SignerCertificate`] if the certificate is not for this request;
    /// [`LocalFault::KeyNotExportable`] if a kubeconfig cannot contain or reference
    /// the key.
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
        let configuration = &self.provider.0;
        let kubeconfig = Kubeconfig {
            cluster: peer.to_string(),
            server: configuration.settings.api_server.to_string(),
            certificate_authority: configuration.ca(),
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
            metadata: self.labelled(name, namespace),
            role_ref,
            subjects: vec![RbacSubject::user(self.name())],
        }
    }

    fn labelled(&self, name: String, namespace: &str) -> Metadata {
        let user = names::peering_user(&self.request.peer);
        Metadata::labelled(name, namespace, [(names::PEERING_USER_LABEL, &user)])
    }
}

/// Checks that `liqo-peer-user-<peer>` is short enough for the value of a label.
fn check_label(peer: &ClusterId) -> Result<(), Error> {
    let prefix = names::PEERING_USER_PREFIX.len();
    let (found, limit) = (peer.as_str().len(), LABEL_VALUE - prefix);
    if found <= limit {
        return Ok(());
    }
    let field = "metadata.labels[liqo.io/peering-user-name]";
    let refusal = PolicyRefusal::ClusterIdTooLong { found, limit };
    Err(Error::new(refusal, None, field))
}

/// The only role of the kind `K` for peering users.
fn only_role<K: Resource>(view: &View<'_>) -> Result<ObjectRef, Error> {
    let role = only(view.every::<K>()?.filter(|role| {
        let component = role.metadata().label(names::APP_COMPONENT_LABEL);
        component == Some(names::PEERING_USER_COMPONENT)
    }))?;
    let kind = K::KIND.as_str();
    let missing = || Error::new(Precondition::NoPeeringRole { kind }, None, "");
    role.map(Resource::id).ok_or_else(missing)
}

/// Checks that the peer has no peering user yet, and that no other object has the
/// name of an object of the new user.
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
    let mut bound = view.every::<RoleBinding>()?;
    let binding = bound.find(|binding| bindings.contains(&binding.metadata.name));
    let in_the_way = match binding {
        Some(binding) => Some(binding.id()),
        None => view
            .find::<CertificateSigningRequest>("", &user)?
            .map(Resource::id),
    };
    match in_the_way {
        None => Ok(()),
        id => Err(Error::new(LocalFault::Conflict, id, "metadata.labels")),
    }
}

fn of_user<'o, K: Resource + 'o>(
    view: &View<'o>,
    user: &str,
) -> Result<impl Iterator<Item = &'o K>, Error> {
    let every = view.every::<K>()?;
    Ok(
        every
            .filter(move |object| object.metadata().label(names::PEERING_USER_LABEL) == Some(user)),
    )
}
