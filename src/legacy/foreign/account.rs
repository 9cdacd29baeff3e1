//! Giving a service account: the form of 0.2.

use std::collections::BTreeMap;

use super::{
    Answer, Foreign,
    claim::Claim,
    seen::{AccountObjects, Seen, account_token},
};
use crate::{
    error::{Error, LocalFault},
    legacy::{HttpResponse, IdentityRequest},
    machine::{Awaited, Effect, Step},
    model::{
        ClusterId, ClusterRole, ClusterRoleBinding, Kind, Metadata, NamespaceName, ObjectRef,
        OwnerReference, PolicyRule, RbacSubject, Resource, Role, RoleBinding, RoleRef, Secret,
        ServiceAccount, ServiceAccountKubeconfig, names,
    },
};

impl Foreign {
    /// The next thing to do for a peer whose token is right.
    pub(super) fn give_account(
        &self,
        seen: &Seen<'_>,
        request: &IdentityRequest,
    ) -> Result<Answer, Error> {
        let Some(namespace) = &self.0.accounts else {
            // Such a request is not read then.
            return Ok(Answer::second_identity(request));
        };
        let objects = &seen.account;
        let is_going = |account: &ServiceAccount| account.metadata.deletion_timestamp.is_some();
        if objects.account.is_some_and(is_going) {
            // It is given anew once it is gone.
            return Ok(Answer {
                response: Some(HttpResponse::unavailable()),
                ..Answer::default()
            });
        }
        let make = |namespace| self.claim_account(seen, request, namespace);
        let (secret, claim, account) = match (&seen.claim, objects.account) {
            (None, None) => return make(namespace),
            // Left by Liqo: its home has an identity.
            (None, Some(_)) => return Ok(Answer::second_identity(request)),
            (Some((_, claim)), _) if !claim.is_of_accounts() => {
                return Ok(Answer::second_identity(request));
            }
            // Somebody deleted the account, so that it is given again.
            (Some(_), None) => return make(namespace),
            (Some((secret, claim)), Some(account)) => (secret, claim, account),
        };
        let uid = account.metadata.uid.as_str();
        if uid.is_empty() {
            return Ok(Answer::step(Step::awaiting(Awaited::Uid(account.id()))));
        }
        if claim.account != uid && !claim.account.is_empty() {
            // Another account than the one that was given.
            return Ok(Answer::second_identity(request));
        }
        if claim.is_delivered {
            return Ok(Answer::second_identity(request));
        }
        let mut step = Step::default();
        if claim.account.is_empty() {
            let mut claim = claim.clone();
            uid.clone_into(&mut claim.account);
            step.effects
                .push(claim.write(self, &request.peer, Some(secret)));
        }
        step.effects
            .extend(missing_rights(&request.peer, account, objects)?);
        let token = objects.token.and_then(|secret| secret.get(names::TOKEN));
        if objects.token.is_none() {
            let secret = token_secret(&request.peer, account);
            step.effects.push(Effect::Create(secret.into()));
        }
        if !step.effects.is_empty() {
            return Ok(Answer::step(step));
        }
        match token.map(core::str::from_utf8) {
            Some(Ok(token)) if !token.is_empty() => {
                let response = self.kubeconfig(account, token);
                Ok(Answer::issued(request, response))
            }
            _ => {
                let name = account_token(&request.peer);
                let id = ObjectRef::new(Kind::Secret, namespace.as_str(), name);
                Ok(Answer::step(Step::awaiting(Awaited::Token(id))))
            }
        }
    }

    fn claim_account(
        &self,
        seen: &Seen<'_>,
        request: &IdentityRequest,
        namespace: &NamespaceName,
    ) -> Result<Answer, Error> {
        self.check_principals(&request.peer)?;
        let token = self.token_mac(request.token.expose().as_bytes());
        let mut claim = Claim::new(request.version, &[], &token);
        if let Some(cluster) = seen.foreign_cluster {
            claim.foreign_cluster.clone_from(&cluster.metadata.uid);
        }
        let present = seen.claim.as_ref().map(|(secret, _)| *secret);
        let mut step = Step::default();
        step.effects.push(claim.write(self, &request.peer, present));
        step.effects.push(Effect::Create(
            ServiceAccount {
                metadata: Metadata {
                    finalizers: vec![names::GARBAGE_COLLECTION_FINALIZER.to_owned()],
                    ..metadata(&request.peer, namespace.as_str())
                },
                ..ServiceAccount::default()
            }
            .into(),
        ));
        Ok(Answer::step(step))
    }

    fn kubeconfig(&self, account: &ServiceAccount, token: &str) -> HttpResponse {
        let endpoint = &self.0.endpoint;
        let kubeconfig = ServiceAccountKubeconfig {
            cluster: CLUSTER.to_owned(),
            server: endpoint.api_server().as_str().to_owned(),
            certificate_authority: endpoint.ca(),
            user: account.metadata.name.clone(),
            token: token.into(),
        };
        HttpResponse::text(201, kubeconfig.to_yaml())
    }
}

/// The roles and their bindings; one of that name is taken only if it grants
/// exactly what it should.
fn missing_rights(
    peer: &ClusterId,
    account: &ServiceAccount,
    objects: &AccountObjects<'_>,
) -> Result<Vec<Effect>, Error> {
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
    let effects = [
        missing(role, objects.role, |one, other| one.rules == other.rules)?,
        missing(role_binding, objects.role_binding, |one, other| {
            one.role_ref == other.role_ref && one.subjects == other.subjects
        })?,
        missing(cluster_role, objects.cluster_role, |one, other| {
            one.rules == other.rules
        })?,
        missing(
            cluster_role_binding,
            objects.cluster_role_binding,
            |one, other| one.role_ref == other.role_ref && one.subjects == other.subjects,
        )?,
    ];
    Ok(effects.into_iter().flatten().collect())
}

fn missing<K: Resource>(
    wanted: K,
    present: Option<&K>,
    grants_the_same: impl Fn(&K, &K) -> bool,
) -> Result<Option<Effect>, Error> {
    match present {
        None => Ok(Some(Effect::Create(wanted.into()))),
        Some(present) if grants_the_same(present, &wanted) => Ok(None),
        Some(present) => {
            let id = Some(present.id());
            Err(Error::new(LocalFault::Conflict, id, "rules"))
        }
    }
}

/// What makes a cluster of today issue a token that does not expire, as one of
/// the time of 0.2 did by itself.
fn token_secret(peer: &ClusterId, account: &ServiceAccount) -> Secret {
    Secret {
        metadata: Metadata {
            name: account_token(peer),
            annotations: BTreeMap::from([(
                names::SERVICE_ACCOUNT_NAME_ANNOTATION.to_owned(),
                account.metadata.name.clone(),
            )]),
            owner_references: vec![owner(account)],
            ..metadata(peer, &account.metadata.namespace)
        },
        secret_type: Some(names::SERVICE_ACCOUNT_TOKEN.to_owned()),
        ..Secret::default()
    }
}

fn metadata(peer: &ClusterId, namespace: &str) -> Metadata {
    Metadata {
        name: names::remote_account(peer),
        namespace: namespace.to_owned(),
        labels: BTreeMap::from([
            (names::LIQO_MANAGED_LABEL.to_owned(), names::TRUE.to_owned()),
            (
                names::DISCOVERY_CLUSTER_ID_LABEL.to_owned(),
                peer.to_string(),
            ),
        ]),
        ..Metadata::default()
    }
}

fn owner(account: &ServiceAccount) -> OwnerReference {
    OwnerReference {
        controller: None,
        block_owner_deletion: None,
        ..OwnerReference::controller(account)
    }
}

/// What Liqo 0.2 calls the cluster in a kubeconfig.
const CLUSTER: &str = "service-cluster";
