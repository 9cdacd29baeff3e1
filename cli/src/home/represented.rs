//! The real cluster that a home represents: what it takes from the home, and what a
//! person has to do there after a change.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use liqo_auth::model::{ClusterId, Kind, Object, ObjectRef, names};

use super::{Home, awaits_signature, content::SecretValue, settings::Signer};
use crate::output::program;

/// The commands that carry the changes of the homes to their clusters. It is shared by all
/// homes that a command opens.
#[derive(Debug, Clone, Default)]
pub(crate) struct Report(Arc<Mutex<BTreeMap<String, Vec<String>>>>);

impl Report {
    /// The commands for each home that has changed.
    pub(crate) fn take(&self) -> BTreeMap<String, Vec<String>> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn set(&self, home: String, commands: Vec<String>) {
        let mut homes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if commands.is_empty() {
            homes.remove(&home);
        } else {
            homes.insert(home, commands);
        }
    }
}

/// What a home had for its cluster when the command opened it.
pub(super) struct Represented {
    before: BTreeMap<ObjectRef, SecretValue>,
    report: Report,
}

impl Home {
    /// Whether the signer of this home is the cluster that it represents.
    pub(crate) fn is_signed_elsewhere(&self) -> bool {
        self.settings.signer == Signer::Kubernetes && !self.is_live()
    }

    /// Reports from now on what a person has to do on the cluster that this home
    /// represents. Nothing is reported of other homes.
    pub(crate) fn report_to(&mut self, report: &Report) {
        if self.settings.for_cluster && !self.is_live() {
            self.represented = Some(Represented {
                before: self.for_cluster(),
                report: report.clone(),
            });
        }
    }

    /// The manifests that the home's cluster takes with `kubectl apply`, in this order. Of
    /// one peer or of all peers, with or without the kubeconfigs, which are secret.
    pub(crate) fn exported(&self, peer: Option<&ClusterId>, secrets: bool) -> Vec<SecretValue> {
        let exported = self.objects().filter(|object| is_exported(object, peer));
        let mut exported: Vec<ObjectRef> = exported.map(Object::id).collect();
        exported.sort_by_key(|id| id.kind != Kind::Namespace);
        let values = exported.iter().filter_map(|id| Some((id, self.value(id)?)));
        values
            .filter(|(id, value)| secrets || !is_secret(id, value))
            .map(|(_, value)| value)
            .map(|value| value.portable().without_status())
            .collect()
    }

    /// Notes what a person has to do on the cluster after the changes so far.
    pub(super) fn report(&self) {
        if let Some(represented) = &self.represented {
            let commands = self.commands(&represented.before);
            represented.report.set(self.site().to_string(), commands);
        }
    }

    /// What the cluster takes, and the answers to replicas that it has.
    fn for_cluster(&self) -> BTreeMap<ObjectRef, SecretValue> {
        let value = |object: &Object| {
            let value = self.value(&object.id())?.portable();
            if is_exported(object, None) {
                return Some(value.without_status());
            }
            is_replica(object).then_some(value)
        };
        self.objects()
            .filter_map(|object| Some((object.id(), value(object)?)))
            .collect()
    }

    fn commands(&self, before: &BTreeMap<ObjectRef, SecretValue>) -> Vec<String> {
        let now = self.for_cluster();
        let options = self.site().options();
        let changed = || {
            let is_new = |id: &ObjectRef, value: &SecretValue| before.get(id) != Some(value);
            now.iter().filter(move |(id, value)| is_new(id, value))
        };
        let mut commands = Vec::new();
        let replica = |id: &ObjectRef| {
            let mut objects = self.objects();
            objects.find(|object| object.id() == *id && is_replica(object))
        };
        if changed().any(|(id, _)| replica(id).is_none()) {
            let has_secret = changed().any(|(id, value)| is_secret(id, value));
            let secrets = if has_secret { " --secrets" } else { "" };
            commands.push(format!(
                "{} export {options}{secrets} | kubectl apply -f -",
                program()
            ));
        }
        for (id, value) in changed() {
            let is_answered = value.get("status").is_some()
                && before.get(id).and_then(|before| before.get("status")) != value.get("status");
            if let Some(peer) = replica(id).and_then(peer_of).filter(|_| is_answered) {
                let kind = id.kind.as_str().to_lowercase();
                commands.push(format!(
                    "{} generate {kind} {} {options} --remote-cluster-id {peer} | {}",
                    program(),
                    id.name,
                    replace_status(&id.namespace)
                ));
            }
            if id.kind == Kind::CertificateSigningRequest {
                commands.push(format!("kubectl certificate approve {}", id.name));
                commands.push(format!(
                    "kubectl wait --timeout 60s --for 'jsonpath={{.status.certificate}}' csr {}",
                    id.name
                ));
                commands.push(format!(
                    "kubectl get csr {} -o yaml | {} apply {options} -f -",
                    id.name,
                    program()
                ));
            }
        }
        for id in before.keys().filter(|id| !now.contains_key(id)) {
            // A request that is signed is not exported any more, and stays. A namespace is
            // not deleted by the library, but may have lost its labels.
            if matches!(id.kind, Kind::CertificateSigningRequest | Kind::Namespace) {
                continue;
            }
            let namespace = match id.namespace.as_str() {
                "" => String::new(),
                namespace => format!(" -n {namespace}"),
            };
            commands.push(format!(
                "kubectl{namespace} delete --ignore-not-found {} {}",
                resource(id.kind),
                id.name
            ));
        }
        commands
    }
}

/// Whether an export needs `--secrets` for it: a Secret, or an Identity with keys of AWS.
fn is_secret(id: &ObjectRef, value: &SecretValue) -> bool {
    id.kind == Kind::Secret || value.pointer("/spec/authParams/awsConfig").is_some()
}

/// The command that writes the status in a file on a cluster.
pub(crate) fn replace_status(namespace: &str) -> String {
    format!("kubectl -n {namespace} replace --subresource status -f -")
}

/// Whether the home's cluster takes the object from the home.
fn is_exported(object: &Object, peer: Option<&ClusterId>) -> bool {
    let metadata = object.metadata();
    let label = |key: &str| metadata.labels.get(key).map(String::as_str);
    let is_peers = |said: Option<&str>| match peer {
        None => said.is_some(),
        Some(peer) => said == Some(peer.as_str()),
    };
    let is_user = || match peer {
        None => label(names::PEERING_USER_LABEL).is_some(),
        Some(peer) => label(names::PEERING_USER_LABEL) == Some(names::peering_user(peer).as_str()),
    };
    if metadata.deletion_timestamp.is_some() {
        return false;
    }
    let of_peer = is_peers(label(names::REMOTE_CLUSTER_ID_LABEL));
    match object {
        Object::Namespace(_) => {
            label(names::TENANT_NAMESPACE_LABEL) == Some(names::TRUE) && of_peer
        }
        Object::Tenant(_) => is_peers(Some(&metadata.name)),
        Object::Identity(identity) => is_peers(Some(&identity.spec.cluster_id)),
        Object::ResourceSlice(_) | Object::Renew(_) => {
            is_peers(label(names::REPLICATION_DESTINATION_LABEL)) && !is_replica(object)
        }
        Object::RoleBinding(_) | Object::ClusterRoleBinding(_) => of_peer || is_user(),
        Object::Secret(secret) => secret.data.contains_key(names::KUBECONFIG) && of_peer,
        Object::CertificateSigningRequest(request) => of_peer && awaits_signature(request),
        _ => false,
    }
}

/// Whether the peer's replicator made the object on the cluster: it takes only the status.
fn is_replica(object: &Object) -> bool {
    let marked = object.metadata().labels.get(names::REPLICATED_LABEL);
    matches!(object.id().kind, Kind::ResourceSlice | Kind::Renew)
        && marked.map(String::as_str) == Some(names::TRUE)
}

fn peer_of(object: &Object) -> Option<&String> {
    let labels = &object.metadata().labels;
    labels.get(names::REPLICATION_ORIGIN_LABEL)
}

/// The name of a kind's resource, as kubectl takes it.
fn resource(kind: Kind) -> String {
    let plural = match kind {
        Kind::Identity => "identities".to_owned(),
        kind => format!("{}s", kind.as_str().to_lowercase()),
    };
    match kind {
        Kind::Tenant | Kind::Identity | Kind::ResourceSlice | Kind::Renew => {
            format!("{plural}.{}", names::API_GROUP)
        }
        _ => plural,
    }
}
