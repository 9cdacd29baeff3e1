//! What gives a peer rights: the bindings of its user and of its group, and the
//! NamespaceMaps by which Liqo binds a group.

use super::namespace_maps::grants;
use crate::{
    model::{Metadata, RbacSubject, names},
    provider::observed::Observed,
};

impl Observed<'_> {
    /// Whether the peer has rights, or would get them by a NamespaceMap.
    pub(crate) fn holds_rights(&self) -> bool {
        let mut in_namespace = self.role_bindings.iter();
        let mut elsewhere = self.role_bindings_elsewhere.iter();
        let mut cluster_wide = self.cluster_role_bindings.iter();
        let mut maps = self.namespace_maps.iter();
        in_namespace.any(|it| self.binds_peer(&it.metadata, &it.subjects))
            || elsewhere.any(|it| self.binds_peer(&it.metadata, &it.subjects))
            || cluster_wide.any(|it| self.binds_peer(&it.metadata, &it.subjects))
            || self.unreadable_given().next().is_some()
            || maps.any(|map| grants(map, self))
    }

    /// Whether a binding gives the peer its rights: by the metadata of the bindings that come
    /// with the credential, or by its subjects.
    ///
    /// Anybody's user or group may have the name of a peer that was never let in. Of such a
    /// peer, only bindings that Liqo has made count.
    pub(super) fn binds_peer(&self, binding: &Metadata, subjects: &[RbacSubject]) -> bool {
        let names_peer =
            |subject: &RbacSubject| subject.is_principal() && subject.name == self.peer.as_str();
        let is_of_liqo = binding.label(names::MANAGED_BY_LABEL) == Some(names::MANAGED_BY_LIQO);
        self.is_given(binding)
            || ((is_of_liqo || self.was_let_in()) && subjects.iter().any(names_peer))
    }

    /// Whether the names of the peer's user and of its group belong to the peer: its record
    /// says that they were looked up. No peer can write the record, and a record that cannot
    /// be read does not keep rights.
    pub(super) fn was_let_in(&self) -> bool {
        self.is_known() || self.unreadable_record.is_some()
    }
}
