//! NamespaceMaps: the namespaces that a consumer offloads.

use crate::model::{Metadata, reading::absent::api_types};

api_types! {
    /// The namespaces that a consumer offloads to this cluster. For each of them, Liqo
    /// makes a namespace here, and binds the group in the label `liqo.io/originID` there.
    ///
    /// This library reads the metadata only, and never writes a NamespaceMap as a whole.
    /// The peer can write its NamespaceMaps. Source: Liqo
    /// `offloadingv1beta1.NamespaceMap`.
    pub struct NamespaceMap {
        /// Name, tenant namespace, labels and finalizers.
        always pub metadata: Metadata,
    }
}
