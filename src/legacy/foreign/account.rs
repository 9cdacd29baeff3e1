//! Giving a service account (the form of 0.2).

use super::{
    look::{ClaimState, Form, Look, Plan},
    observed::account_token,
};
use crate::{
    error::{ApiMisuse, Error, LocalFault, PolicyRefusal},
    legacy::{HttpResponse, IdentityRequest},
    machine::{Awaited, missing::missing},
    model::{
        ClusterId, ClusterRole, ClusterRoleBinding, Kind, Kubeconfig, Metadata, NamespaceName,
        Object, ObjectRef, OwnerReference, PolicyRule, RbacSubject, Resource, Role, RoleBinding,
        RoleRef, Secret, ServiceAccount, UserCredential, names,
    },
};

/// A request for a service account.
pub(super) struct AccountForm<'a> {
    look: Look<'a>,
    request: &'a IdentityRequest,
    /// The namespace of the service accounts.
    namespace: &'a NamespaceName,
}

impl Form for AccountForm<'_> {
    fn claim_state(&self) -> ClaimState {
        let observed = self.look.observed;
        let (claim, account) = match (observed.claim(), observed.account.account) {
            // A new account is given once the old one is gone.
            (_, Some(account)) if account.metadata.deletion_timestamp.is_some() => {
                return ClaimState::Leaving;
            }
            (Some(claim), _) if !claim.is_of_accounts() => return ClaimState::Taken,
            // The account was made by Liqo, so the home cluster has an identity.
            (None, Some(_)) => return ClaimState::Taken,
            // The peer is new, or an administrator deleted the account so that it is
            // given again.
            (_, None) => return ClaimState::Unclaimed,
            (Some(claim), Some(account)) => (claim, account),
        };
        let uid = account.metadata.uid.as_str();
        let is_other = !uid.is_empty() && !claim.account.is_empty() && claim.account != uid;
        if is_other || claim.is_delivered {
            ClaimState::Taken
        } else {
            ClaimState::Claimed
        }
    }

    fn claim(&self, plan: &mut Plan<'_>) {
        self.look.record_claim(self.request, &[], plan);
        plan.create(ServiceAccount {
            metadata: Metadata {
                finalizers: vec![names::GARBAGE_COLLECTION_FINALIZER.to_owned()],
                ..metadata(&self.request.peer, self.namespace.as_str())
            },
            ..ServiceAccount::default()
        });
    }

    fn give(&self, plan: &mut Plan<'_>) -> Result<Option<HttpResponse>, Error> {
        let objects = &self.look.observed.account;
        let Some(account) = objects.account else {
            return Ok(None);
        };
        let uid = &account.metadata.uid;
        if uid.is_empty() {
            plan.await_for(Awaited::Uid(account.id()));
            return Ok(None);
        }
        plan.records
            .peer
            .change(|claim| claim.account.clone_from(uid));
        self.grant(account, plan)?;
        let wanted = token_secret(&self.request.peer, account);
        match objects.token {
            None => plan.create(wanted),
            Some(present) if is_of_account(present, &wanted) => {}
            // The Secret is not this account's token. Another home cluster may
            // create Secrets here.
            Some(present) => {
                return Err(Error::found_in(present, "type", LocalFault::Conflict));
            }
        }
        let token = objects.token.and_then(|secret| secret.get(names::TOKEN));
        match token.map(core::str::from_utf8) {
            Some(Ok(token)) if !token.is_empty() => Ok(Some(self.response(account, token))),
            _ => {
                let name = account_token(&self.request.peer);
                let id = ObjectRef::new(Kind::Secret, self.namespace.as_str(), name);
                plan.await_for(Awaited::Token(id));
                Ok(None)
            }
        }
    }
}

impl<'a> AccountForm<'a> {
    /// The form for a request. The cluster ID must not be the name of another
    /// owner's Secret.
    ///
    /// The role of 0.2 lets a home cluster read the Secret with the name of its
    /// cluster ID, and the home cluster chooses that ID. So the namespace must not
    /// contain this cluster's own Secrets, and the ID is checked until the role
    /// exists. After that, a Secret with that name belongs to the home cluster: the
    /// role lets it create one.
    pub(super) fn of(
        look: Look<'a>,
        request: &'a IdentityRequest,
        namespace: &'a NamespaceName,
    ) -> Result<Self, Error> {
        if namespace.as_str() == look.configuration.settings.namespace {
            let misuse = ApiMisuse::AccountsInOwnNamespace;
            return Err(Error::new(misuse, None, ""));
        }
        let objects = &look.observed.account;
        let id = request.peer.as_str();
        if objects.role.is_none() && (objects.namesake.is_some() || is_reserved(id)) {
            let refusal = PolicyRefusal::SecretNameTaken {
                name: id.to_owned(),
            };
            return Err(Error::new(refusal, None, "clusterID"));
        }
        Ok(Self {
            look,
            request,
            namespace,
        })
    }

    /// Creates the roles and their bindings.
    fn grant(&self, account: &ServiceAccount, plan: &mut Plan<'_>) -> Result<(), Error> {
        let (peer, objects) = (&self.request.peer, &self.look.observed.account);
        let namespace = account.metadata.namespace.as_str();
        let role = Role {
            metadata: Metadata {
                owner_references: vec![owner(account)],
                ..metadata(peer, namespace)
            },
            rules: vec![
                PolicyRule::on("", "secrets", &["create"]),
                PolicyRule::on("", "secrets", &["get", "delete"]).named(peer.as_str()),
            ],
        };
        let group = names::DISCOVERY_API_GROUP;
        let cluster_role = ClusterRole {
            metadata: metadata(peer, ""),
            rules: vec![
                PolicyRule::on(group, "peeringrequests", &["create"]),
                PolicyRule::on(group, "peeringrequests", &["get", "delete", "update"])
                    .named(peer.as_str()),
            ],
        };
        let subjects = vec![RbacSubject::service_account(
            namespace,
            &account.metadata.name,
        )];
        let role_binding = RoleBinding {
            metadata: role.metadata.clone(),
            role_ref: RoleRef::role(&role.metadata.name),
            subjects: subjects.clone(),
        };
        let cluster_role_binding = ClusterRoleBinding {
            metadata: cluster_role.metadata.clone(),
            role_ref: RoleRef::cluster_role(&cluster_role.metadata.name),
            subjects,
        };
        let rights = [
            missing(role, objects.role)?.map(Object::from),
            missing(role_binding, objects.role_binding)?.map(Object::from),
            missing(cluster_role, objects.cluster_role)?.map(Object::from),
            missing(cluster_role_binding, objects.cluster_role_binding)?.map(Object::from),
        ];
        for object in rights.into_iter().flatten() {
            plan.create(object);
        }
        Ok(())
    }

    fn response(&self, account: &ServiceAccount, token: &str) -> HttpResponse {
        let endpoint = &self.look.configuration.endpoint;
        let kubeconfig = Kubeconfig {
            cluster: CLUSTER.to_owned(),
            server: endpoint.api_server().as_str().to_owned(),
            certificate_authority: endpoint.ca(),
            proxy_url: None,
            user: account.metadata.name.clone(),
            credential: UserCredential::Token(token.into()),
            namespace: None,
        };
        HttpResponse::text(201, kubeconfig.to_yaml())
    }
}

/// A Secret for which Kubernetes issues a token that does not expire. At the time of
/// 0.2, Kubernetes created such a Secret by itself.
fn token_secret(peer: &ClusterId, account: &ServiceAccount) -> Secret {
    Secret {
        metadata: Metadata {
            name: account_token(peer),
            annotations: [(
                names::SERVICE_ACCOUNT_NAME_ANNOTATION,
                account.metadata.name.as_str(),
            )]
            .into(),
            owner_references: vec![owner(account)],
            ..metadata(peer, &account.metadata.namespace)
        },
        secret_type: Some(names::SERVICE_ACCOUNT_TOKEN.to_owned()),
        ..Secret::default()
    }
}

/// Whether Kubernetes fills the Secret with a token of the account.
fn is_of_account(present: &Secret, wanted: &Secret) -> bool {
    let account = names::SERVICE_ACCOUNT_NAME_ANNOTATION;
    let account = |secret: &Secret| secret.metadata.annotations.get(account).cloned();
    present.secret_type == wanted.secret_type && account(present) == account(wanted)
}

/// Whether this library, Liqo or Kubernetes may create a Secret with that name.
fn is_reserved(name: &str) -> bool {
    let prefixes = ["remote-", "liqo-"];
    let exact = [names::AUTH_TOKEN_SECRET, names::CLUSTER_KEYS_SECRET];
    prefixes.iter().any(|prefix| name.starts_with(prefix))
        || exact.contains(&name)
        // Kubernetes names the token of a service account like this.
        || name.contains("-token-")
}

fn metadata(peer: &ClusterId, namespace: &str) -> Metadata {
    let labels = [
        (names::LIQO_MANAGED_LABEL, names::TRUE),
        (names::DISCOVERY_CLUSTER_ID_LABEL, peer.as_str()),
    ];
    Metadata::labelled(names::remote_account(peer), namespace, labels)
}

fn owner(account: &ServiceAccount) -> OwnerReference {
    OwnerReference {
        controller: None,
        block_owner_deletion: None,
        ..OwnerReference::controller(account)
    }
}

/// The name of the cluster in a kubeconfig of Liqo 0.2.
const CLUSTER: &str = "service-cluster";
