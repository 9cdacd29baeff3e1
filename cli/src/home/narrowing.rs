//! The reading of a cluster for one peering: what belongs to other peers is left out where
//! a request can leave it out.

use liqo_auth::{
    machine::{Requirement, Watch},
    model::{ClusterId, Kind, Object, names},
};

/// Whether a watch selects the library's records, all of which have a label.
pub(super) fn is_of_records(watch: &Watch, namespace: &str) -> bool {
    let labels = [Requirement::Exists(names::RECORD_PEER_LABEL)];
    watch.kind == Kind::Secret
        && watch.namespace.as_deref() == Some(namespace)
        && watch.labels == labels
}

/// Whether a watch selects only objects that belong to one peer each. Those in namespaces
/// are in the peer's tenant namespace. A Tenant may be elsewhere.
pub(super) fn is_of_peers(watch: &Watch) -> bool {
    use Kind::{CertificateSigningRequest, Identity, NamespaceMap, Renew, ResourceSlice, Secret};
    let kinds = [
        CertificateSigningRequest,
        Identity,
        NamespaceMap,
        Renew,
        ResourceSlice,
        Secret,
    ];
    watch.namespace.is_none() && kinds.contains(&watch.kind)
}

/// Watches for the objects of one peer: in its namespaces, and its requests for
/// certificates. There are none of a peer that has neither a namespace nor a record.
pub(super) fn narrowed(watches: Vec<Watch>, peer: &ClusterId, objects: &[Object]) -> Vec<Watch> {
    let of_peer = |kind: Kind, label: &str| {
        let found = objects
            .iter()
            .filter(move |object| object.id().kind == kind);
        let peers = found.filter(move |object| {
            let labelled = object.metadata().labels.get(label);
            labelled.map(String::as_str) == Some(peer.as_str())
        });
        peers
            .map(|object| object.id().name)
            .collect::<Vec<String>>()
    };
    let namespaces = of_peer(Kind::Namespace, names::REMOTE_CLUSTER_ID_LABEL);
    let is_new =
        namespaces.is_empty() && of_peer(Kind::Secret, names::RECORD_PEER_LABEL).is_empty();
    let mut narrowed = Vec::new();
    for watch in watches {
        if watch.kind != Kind::CertificateSigningRequest {
            let mut in_namespace = |name: &String| narrowed.push(watch.clone().in_namespace(name));
            namespaces.iter().for_each(&mut in_namespace);
        } else if !is_new {
            narrowed.push(watch);
        }
    }
    narrowed
}

#[cfg(test)]
mod tests {
    use liqo_auth::model::{Metadata, Namespace, Secret};

    use super::*;

    fn watches() -> Vec<Watch> {
        let kinds = [Kind::Secret, Kind::CertificateSigningRequest];
        kinds.map(Watch::all).to_vec()
    }

    #[test]
    fn nothing_is_read_of_a_peer_that_is_new() {
        let (rome, turin) = ("rome".parse().unwrap(), "turin".parse().unwrap());
        let of_turin = Namespace::for_tenant(&turin).into();
        assert_eq!(narrowed(watches(), &rome, &[of_turin]), []);
    }

    #[test]
    fn the_objects_in_its_namespace_are_read() {
        let rome = "rome".parse().unwrap();
        let of_rome = Namespace::for_tenant(&rome).into();
        assert_eq!(
            narrowed(watches(), &rome, &[of_rome]),
            [
                Watch::all(Kind::Secret).in_namespace("liqo-tenant-rome"),
                Watch::all(Kind::CertificateSigningRequest),
            ]
        );
    }

    #[test]
    fn the_requests_of_a_peer_that_has_ended_are_read() {
        let rome: ClusterId = "rome".parse().unwrap();
        let record = Secret {
            metadata: Metadata {
                labels: [(names::RECORD_PEER_LABEL.to_owned(), rome.to_string())].into(),
                ..Metadata::default()
            },
            ..Secret::default()
        };
        assert_eq!(
            narrowed(watches(), &rome, &[record.into()]),
            [Watch::all(Kind::CertificateSigningRequest)]
        );
    }

    #[test]
    fn a_tenant_may_be_in_any_namespace() {
        assert!(!is_of_peers(&Watch::all(Kind::Tenant)));
        assert!(is_of_peers(&Watch::all(Kind::Identity)));
        assert!(is_of_peers(&Watch::all(Kind::NamespaceMap)));
        assert!(!is_of_peers(&Watch::all(Kind::Secret).in_namespace("liqo")));
    }

    #[test]
    fn the_watch_of_the_records_is_known() {
        let records = Watch::all(Kind::Secret).in_namespace("liqo");
        let records = records.with(Requirement::Exists(names::RECORD_PEER_LABEL));
        assert!(is_of_records(&records, "liqo"));
        assert!(!is_of_records(&records, "elsewhere"));
        assert!(!is_of_records(&Watch::all(Kind::Secret), "liqo"));
    }
}
