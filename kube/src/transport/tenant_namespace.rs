//! The peer's tenant namespace for this cluster.

use kube::{
    Api,
    api::{DynamicObject, ListParams},
};
use liqo_auth::{
    machine::Effect,
    model::{Kind, Namespace, Object, ObjectRef, names},
};

use super::RemoteCluster;
use crate::{Applied, Error, apply, error::in_time, object};

impl RemoteCluster {
    /// The name of the peer's tenant namespace for this cluster. The namespace is
    /// created if it does not exist.
    pub(super) async fn tenant_namespace(&self) -> Result<String, Error> {
        if let Some(name) = self.existing_namespace().await? {
            return Ok(name);
        }
        let wanted = Namespace::for_tenant(&self.own);
        let default_name = wanted.metadata.name.clone();
        match apply(&self.client, &Effect::Create(wanted.into())).await? {
            Applied::Written(_) => Ok(default_name),
            _ => {
                let id = ObjectRef::new(Kind::Namespace, "", &default_name);
                match object::get(&self.client, &id).await? {
                    Some(found) => self.own_namespace(&found),
                    None => Err(Error::Conflict(id)),
                }
            }
        }
    }

    /// The name of this namespace, if it exists. A peering user has no right to list
    /// namespaces, so the namespace with the default name is read instead. A namespace
    /// with the default name and without the labels may belong to someone else, and is
    /// not used.
    pub(super) async fn existing_namespace(&self) -> Result<Option<String>, Error> {
        let label = |(key, value): (String, String)| format!("{key}={value}");
        let selector = format!(
            "{},{}",
            label(self.label(&self.own)),
            names::TENANT_NAMESPACE_LABEL
        );
        let default_name = Namespace::for_tenant(&self.own).metadata.name;
        let id = ObjectRef::new(Kind::Namespace, "", default_name);
        let api: Api<DynamicObject> = object::api(&self.client, Kind::Namespace, None);
        let labelled = ListParams::default().labels(&selector);
        let request = "list tenant namespaces".to_owned();
        let found: Vec<String> = match in_time(request.clone(), api.list(&labelled)).await? {
            Ok(list) => list
                .items
                .into_iter()
                .filter_map(|it| it.metadata.name)
                .collect(),
            Err(kube::Error::Api(status)) if status.is_forbidden() => {
                let found = object::get(&self.client, &id).await?;
                let found = found.map(|found| self.own_namespace(&found)).transpose()?;
                found.into_iter().collect()
            }
            Err(error) => return Err(Error::request(request, error)),
        };
        match &found[..] {
            [] => Ok(None),
            [name] => Ok(Some(name.clone())),
            several => Err(Error::Setup {
                object: id,
                problem: format!(
                    "{} has {} tenant namespaces for {}; delete all but one",
                    self.peer,
                    several.len(),
                    self.own
                ),
            }),
        }
    }

    /// The name of an existing namespace, if its labels say that it is the tenant
    /// namespace for this cluster.
    fn own_namespace(&self, found: &Object) -> Result<String, Error> {
        let id = found.id();
        let labels = [
            self.label(&self.own),
            (
                names::TENANT_NAMESPACE_LABEL.to_owned(),
                names::TRUE.to_owned(),
            ),
        ];
        let stored = &found.metadata().labels;
        let has = |(key, value): &(String, String)| stored.get(key) == Some(value);
        if labels.iter().all(has) {
            return Ok(id.name);
        }
        let [(peer, own), (tenant, yes)] = &labels;
        let problem = format!(
            "it is not labelled as the tenant namespace of {own}; delete it, or add the labels {peer}={own} and {tenant}={yes}"
        );
        Err(Error::Setup {
            object: id,
            problem,
        })
    }
}
