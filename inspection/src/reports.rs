//! The reports about a file, one for each object.

use liqo_auth::model::Object;

use crate::{
    bare_file, identity, input::Input, inspection::Inspection, other_kinds, renew, report::Report,
    resource_slice, rights, secret, signing_request, surroundings, tenant,
};

impl<F> Inspection<'_, F> {
    /// The reports about the objects of a file.
    ///
    /// # Errors
    /// The cluster cannot judge, or the nonce that was given cannot be read.
    pub fn reports(&self, input: &Input) -> Result<Vec<Report>, F> {
        if let Some(bare) = input.bare {
            return Ok(bare_file::inspect(self, input, bare));
        }
        let objects = input.objects.iter();
        objects.map(|object| self.report(input, object)).collect()
    }

    fn report(&self, input: &Input, object: &Object) -> Result<Report, F> {
        Ok(match object {
            Object::Tenant(tenant) => tenant::inspect(self, tenant)?,
            Object::Identity(identity) => identity::inspect(self, identity)?,
            Object::ResourceSlice(slice) => resource_slice::inspect(self, slice),
            Object::Renew(renew) => renew::inspect(self, renew),
            Object::CertificateSigningRequest(request) => signing_request::inspect(self, request),
            Object::Secret(secret) => secret::inspect(self, secret),
            Object::Namespace(namespace) => surroundings::namespace(namespace),
            Object::ConfigMap(config_map) => surroundings::config_map(config_map),
            Object::ForeignCluster(cluster) => surroundings::foreign_cluster(cluster),
            Object::RoleBinding(binding) => rights::role_binding(binding),
            Object::ClusterRoleBinding(binding) => rights::cluster_role_binding(binding),
            Object::Role(role) => rights::role(role),
            Object::ClusterRole(role) => rights::cluster_role(role),
            Object::ServiceAccount(account) => rights::service_account(account),
            Object::Unreadable(unreadable) => other_kinds::inspect(unreadable, &input.text),
            other => other_kinds::unexplained(&other.id().to_string()),
        })
    }
}
