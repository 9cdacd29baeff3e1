//! Required roles and bindings.

use crate::{
    error::{Error, LocalFault},
    model::{ClusterRole, ClusterRoleBinding, Resource, Role, RoleBinding},
};

/// An object that grants rights.
pub(crate) trait Grants: Resource {
    /// The field with the granted rights, as the place of an error.
    const FIELD: &'static str;

    /// Whether both objects grant the same rights.
    fn grants_as(&self, other: &Self) -> bool;
}

/// The wanted object, or `None` if an object of its name exists and grants exactly
/// the same rights.
///
/// # Errors
/// [`LocalFault::Conflict`] if the existing object grants other rights.
pub(crate) fn missing<'a, K: Grants + 'a>(
    wanted: K,
    present: impl IntoIterator<Item = &'a K>,
) -> Result<Option<K>, Error> {
    let id = wanted.id();
    match present.into_iter().find(|present| present.id() == id) {
        None => Ok(Some(wanted)),
        Some(present) if present.grants_as(&wanted) => Ok(None),
        Some(_) => Err(Error::new(LocalFault::Conflict, Some(id), K::FIELD)),
    }
}

macro_rules! grants {
    ($($Kind:ident: $($field:ident),+; $path:literal)*) => {$(
        impl Grants for $Kind {
            const FIELD: &'static str = $path;

            fn grants_as(&self, other: &Self) -> bool {
                $(self.$field == other.$field)&&+
            }
        }
    )*};
}

grants! {
    Role: rules; "rules"
    ClusterRole: rules; "rules"
    RoleBinding: role_ref, subjects; "subjects"
    ClusterRoleBinding: role_ref, subjects; "subjects"
}
