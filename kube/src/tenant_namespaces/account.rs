//! The ServiceAccount of a controller, and its RoleBindings in tenant namespaces.

use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use kube::{Client, api::ListParams};
use liqo_auth::{
    machine::{Effect, Version},
    model::{Kind, Metadata, ObjectRef, RbacSubject, Resource, RoleBinding, RoleRef},
};
use tokio::time::sleep;

use crate::{
    Applied, Error, apply,
    error::{in_time, succeeds_in_time},
    object,
};

/// The ServiceAccount of a controller. It gets its rights on the Secrets of a tenant
/// namespace by a RoleBinding there.
pub(crate) struct Account {
    client: Client,
    /// Liqo's namespace, which is the account's as well.
    namespace: String,
    name: String,
    /// The tenant namespaces in which the RoleBinding is known to be in force.
    bound: Mutex<BTreeSet<String>>,
}

impl Account {
    pub(crate) fn new(client: Client, namespace: String, name: String) -> Self {
        Self {
            client,
            namespace,
            name,
            bound: Mutex::default(),
        }
    }

    /// Liqo's namespace.
    pub(crate) fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Binds the account in a tenant namespace, and waits until the RoleBinding is in force.
    /// Does nothing if that is known.
    ///
    /// # Errors
    /// [`Error::Request`] or [`Error::TimedOut`].
    pub(crate) async fn bind(&self, namespace: &str) -> Result<(), Error> {
        if self.bound().contains(namespace) {
            return Ok(());
        }
        let binding = RoleBinding {
            metadata: Metadata {
                name: BINDING.to_owned(),
                namespace: namespace.to_owned(),
                ..Metadata::default()
            },
            role_ref: RoleRef::cluster_role(TENANT_ROLE),
            subjects: vec![RbacSubject::service_account(&self.namespace, &self.name)],
        };
        let id = binding.id();
        if let Applied::Written(_) = apply(&self.client, &Effect::Create(binding.into())).await? {
            tracing::info!(binding = %id, "the account may use the Secrets there");
        }
        self.until_in_force(namespace).await?;
        self.bound().insert(namespace.to_owned());
        Ok(())
    }

    /// Binds the account in a namespace where the API server has refused a request, although
    /// the RoleBinding was known to be in force.
    ///
    /// # Errors
    /// As [`bind`](Self::bind).
    pub(crate) async fn bind_again(&self, namespace: &str) -> Result<(), Error> {
        self.bound().remove(namespace);
        self.bind(namespace).await
    }

    /// Removes the RoleBinding from a namespace that is no tenant namespace any more. A
    /// deleted namespace has none.
    ///
    /// # Errors
    /// [`Error::Request`] or [`Error::TimedOut`].
    pub(crate) async fn release(&self, namespace: &str) -> Result<(), Error> {
        self.bound().remove(namespace);
        let id = ObjectRef::new(Kind::RoleBinding, namespace, BINDING);
        let version = Version::default();
        apply(&self.client, &Effect::Delete { id, version }).await?;
        Ok(())
    }

    /// Waits until the API server's authorizer, which has a watch of its own, knows the
    /// RoleBinding.
    async fn until_in_force(&self, namespace: &str) -> Result<(), Error> {
        let api = object::api(&self.client, Kind::Secret, Some(namespace));
        let one = ListParams::default().limit(1);
        let request = format!("list Secrets in {namespace}");
        let mut delay = SOON;
        for _ in 0..PROBES {
            match in_time(request.clone(), api.list_metadata(&one)).await? {
                Err(kube::Error::Api(status)) if status.is_forbidden() => sleep(delay).await,
                Err(error) => return Err(Error::request(request, error)),
                Ok(_) => return Ok(()),
            }
            delay *= 2;
        }
        succeeds_in_time(request, api.list_metadata(&one)).await?;
        Ok(())
    }

    fn bound(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.bound.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The ClusterRole with the rights on Secrets, which `deploy/` installs.
const TENANT_ROLE: &str = "liqo-auth-tenant";
/// The name of the RoleBinding in each tenant namespace.
const BINDING: &str = "liqo-auth";
/// The delay after the first probe. It doubles after each, so that all take three seconds.
const SOON: Duration = Duration::from_millis(25);
const PROBES: u32 = 7;
