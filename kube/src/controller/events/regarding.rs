//! The object that an event regards.

use k8s_openapi::api::core::v1::ObjectReference;
use liqo_auth::{
    machine::{Awaited, Notice, View},
    model::{Kind, Object, ObjectRef, names},
};

/// The object that an event regards: an object in a tenant namespace, or this namespace.
/// Kubernetes wants an event in the namespace of its object.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::controller) struct Regarding(ObjectReference);

impl Regarding {
    /// The tenant namespace itself.
    pub(in crate::controller) fn namespace(name: &str) -> Self {
        Self(ObjectReference {
            // Otherwise the event would be in the namespace `default`.
            namespace: Some(name.to_owned()),
            ..reference(Kind::Namespace, name)
        })
    }

    /// This object, with its UID if the view has it. Without an object in this namespace, the
    /// namespace itself.
    pub(in crate::controller) fn of(
        namespace: &str,
        object: Option<&ObjectRef>,
        view: Option<&View<'_>>,
    ) -> Self {
        let Some(id) = object.filter(|id| is_in(namespace, id)) else {
            return Self::namespace(namespace);
        };
        let mut present = view.into_iter().flat_map(View::objects);
        let present = present.find(|object| object.id() == *id);
        Self(ObjectReference {
            namespace: Some(namespace.to_owned()),
            uid: present.map(uid).filter(|uid| !uid.is_empty()),
            ..reference(id.kind, &id.name)
        })
    }

    pub(super) fn reference(&self) -> &ObjectReference {
        &self.0
    }

    pub(super) fn in_namespace(&self) -> &str {
        self.0.namespace.as_deref().unwrap_or_default()
    }
}

fn reference(kind: Kind, name: &str) -> ObjectReference {
    ObjectReference {
        api_version: Some(kind.api_version().to_owned()),
        kind: Some(kind.to_string()),
        name: Some(name.to_owned()),
        ..ObjectReference::default()
    }
}

/// Whether an event in the namespace can regard the object. An event has a name that begins
/// with that of its object.
fn is_in(namespace: &str, id: &ObjectRef) -> bool {
    id.namespace == namespace
        && id.kind != Kind::Other
        && (1..=LONGEST_NAME).contains(&id.name.len())
}

fn uid(object: &Object) -> String {
    object.metadata().uid.clone()
}

/// The object of a notice in this tenant namespace. `None` if it is about the whole peering.
pub(in crate::controller) fn object_of(
    notice: &Notice,
    view: &View<'_>,
    namespace: &str,
) -> Option<ObjectRef> {
    let named = |kind, name: &str| Some(ObjectRef::new(kind, namespace, name));
    match notice {
        Notice::SignedNonceIsStale | Notice::NonceAskedAfterEnd => {
            named(Kind::Secret, names::NONCE_SECRET)
        }
        Notice::ConditionHeld { .. } | Notice::NoClusterRole { .. } | Notice::RenewalNotCarried => {
            tenant(view, namespace)
        }
        Notice::ProviderUnproven
        | Notice::ProviderKeyFirstSeen { .. }
        | Notice::IssuedByAnotherCa
        | Notice::NewKeyAwaitsNonce => named(Kind::Identity, &names::identity_name(view.peer())),
        Notice::CertificateDue { identity, .. } | Notice::CannotRenew { identity, .. } => {
            Some(identity.clone())
        }
        Notice::KubeconfigNotNamed { secret, .. } => Some(secret.clone()),
        Notice::GrantUnconfirmed { slice, .. } | Notice::SliceCordonHeld { slice } => {
            Some(slice.clone())
        }
        Notice::SignaturesWait { .. } => None,
    }
}

/// The object that an administrator has to decide on in this tenant namespace. `None` if it is
/// the whole peering.
pub(in crate::controller) fn object_awaited(
    awaited: &Awaited,
    view: &View<'_>,
    namespace: &str,
) -> Option<ObjectRef> {
    match awaited {
        Awaited::Approval => tenant(view, namespace),
        _ => None,
    }
}

fn tenant(view: &View<'_>, namespace: &str) -> Option<ObjectRef> {
    let mut all = view.objects().map(Object::id);
    all.find(|id| id.kind == Kind::Tenant && id.namespace == namespace)
}

/// The longest name of an object that an event can regard: the name of an event has at most
/// 253 characters, and ends with a dot and a time.
const LONGEST_NAME: usize = 220;

#[cfg(test)]
mod tests {
    use liqo_auth::{
        model::{Metadata, Tenant, TenantCondition, Timestamp},
        verify::claimed_consumer,
    };

    use super::*;

    fn tenant() -> Object {
        let metadata = Metadata {
            name: "rome".to_owned(),
            namespace: ROME.to_owned(),
            uid: "u-1".to_owned(),
            ..Metadata::default()
        };
        Tenant {
            metadata,
            ..Tenant::default()
        }
        .into()
    }

    fn shown(regarding: &Regarding) -> [Option<&str>; 5] {
        let reference = regarding.reference();
        [
            &reference.api_version,
            &reference.kind,
            &reference.namespace,
            &reference.name,
            &reference.uid,
        ]
        .map(Option::as_deref)
    }

    #[test]
    fn an_event_regards_an_object_of_its_namespace() {
        let peer = "rome".parse().unwrap();
        let tenant = tenant();
        let view = View::of(&peer, [&tenant]);
        let of = |id: ObjectRef| Regarding::of(ROME, Some(&id), Some(&view));
        assert_eq!(
            shown(&of(tenant.id())),
            [
                Some("authentication.liqo.io/v1beta1"),
                Some("Tenant"),
                Some(ROME),
                Some("rome"),
                Some("u-1")
            ]
        );
        // It is gone, or no watch shows it.
        let nonce = ObjectRef::new(Kind::Secret, ROME, "liqo-nonce");
        assert_eq!(
            shown(&of(nonce.clone())),
            [
                Some("v1"),
                Some("Secret"),
                Some(ROME),
                Some("liqo-nonce"),
                None
            ]
        );
        assert_eq!(Regarding::of(ROME, Some(&nonce), None), of(nonce));
        let slice = |name: String| ObjectRef::new(Kind::ResourceSlice, ROME, name);
        let longest = slice("a".repeat(220));
        assert_eq!(shown(&of(longest.clone()))[3], Some(&*longest.name));
    }

    #[test]
    fn an_event_about_anything_else_regards_the_tenant_namespace() {
        let namespace = Regarding::namespace(ROME);
        assert_eq!(
            shown(&namespace),
            [Some("v1"), Some("Namespace"), Some(ROME), Some(ROME), None]
        );
        assert_eq!(namespace.in_namespace(), ROME);
        assert_eq!(Regarding::of(ROME, None, None), namespace);
        for other in [
            ObjectRef::new(Kind::Tenant, "liqo-tenant-turin", "rome"),
            ObjectRef::new(Kind::CertificateSigningRequest, "", "rome"),
            ObjectRef::new(Kind::Other, ROME, "rome"),
            ObjectRef::new(Kind::Secret, ROME, ""),
            ObjectRef::new(Kind::ResourceSlice, ROME, "a".repeat(221)),
        ] {
            assert_eq!(
                Regarding::of(ROME, Some(&other), None),
                namespace,
                "{other}"
            );
        }
    }

    #[test]
    fn a_notice_has_the_object_that_it_speaks_of() {
        let peer = "rome".parse().unwrap();
        let (tenant, elsewhere) = (tenant(), {
            let mut tenant = Tenant::default();
            tenant.metadata.name = "rome".to_owned();
            tenant.metadata.namespace = "elsewhere".to_owned();
            Object::from(tenant)
        });
        let of = |notice: &Notice, objects: &[&Object]| {
            let view = View::of(&peer, objects.iter().copied());
            object_of(notice, &view, ROME)
        };
        let nonce = Some(ObjectRef::new(Kind::Secret, ROME, "liqo-nonce"));
        let identity = Some(ObjectRef::new(Kind::Identity, ROME, "controlplane-rome"));
        let slice = ObjectRef::new(Kind::ResourceSlice, ROME, "mypool");
        let of_slice = ObjectRef::new(Kind::Identity, ROME, "resourceslice-mypool-rome");
        let (until, condition) = (Timestamp::EPOCH, TenantCondition::Drained);
        for (notice, expected) in [
            (Notice::SignedNonceIsStale, nonce.clone()),
            (Notice::NonceAskedAfterEnd, nonce),
            (Notice::ConditionHeld { condition }, Some(tenant.id())),
            (
                Notice::NoClusterRole { label_value: "a" },
                Some(tenant.id()),
            ),
            (Notice::RenewalNotCarried, Some(tenant.id())),
            (Notice::ProviderUnproven, identity.clone()),
            (
                Notice::ProviderKeyFirstSeen {
                    fingerprint: format!("SHA256:{}", "0a".repeat(32)).parse().unwrap(),
                },
                identity.clone(),
            ),
            (Notice::IssuedByAnotherCa, identity.clone()),
            (Notice::NewKeyAwaitsNonce, identity),
            (
                Notice::KubeconfigNotNamed {
                    secret: ObjectRef::new(Kind::Secret, ROME, "cplane-secret"),
                    digest: format!("SHA256:{}", "0a".repeat(32)).parse().unwrap(),
                },
                Some(ObjectRef::new(Kind::Secret, ROME, "cplane-secret")),
            ),
            (
                Notice::CertificateDue {
                    identity: of_slice.clone(),
                    until,
                },
                Some(of_slice.clone()),
            ),
            (
                Notice::CannotRenew {
                    identity: of_slice.clone(),
                    until,
                    error: claimed_consumer(&Tenant::default()).unwrap_err(),
                },
                Some(of_slice),
            ),
            (
                Notice::GrantUnconfirmed {
                    slice: slice.clone(),
                    resources: [].into(),
                },
                Some(slice.clone()),
            ),
            (
                Notice::SliceCordonHeld {
                    slice: slice.clone(),
                },
                Some(slice),
            ),
            (Notice::SignaturesWait { until }, None),
        ] {
            assert_eq!(of(&notice, &[&elsewhere, &tenant]), expected, "{notice:?}");
        }
        assert_eq!(of(&Notice::RenewalNotCarried, &[&elsewhere]), None);
    }

    const ROME: &str = "liqo-tenant-rome";
}
