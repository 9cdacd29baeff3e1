//! The metadata of Kubernetes objects.

use crate::model::{Resource, TextMap, Timestamp, reading::absent::api_types};

api_types! {
    /// The metadata of an object, as far as the exchange needs it. Empty fields are
    /// not written.
    ///
    /// Source: Kubernetes `metav1.ObjectMeta`.
    pub struct Metadata {
        /// The name, unique within a kind and namespace.
        pub name: String,
        /// The prefix to which the API server adds a random suffix, if `name` is empty.
        pub generate_name: String,
        /// The namespace; empty for an object without one.
        pub namespace: String,
        /// The UID, which differs from that of an earlier object of the same name.
        pub uid: String,
        /// The version that the API server compares on a write. The text is opaque.
        pub resource_version: String,
        /// The generation of the spec; 0 if unknown.
        pub generation: i64,
        /// When the API server created the object.
        pub creation_timestamp: Option<Timestamp>,
        /// When the deletion was requested. The object stays until its finalizers are
        /// removed.
        pub deletion_timestamp: Option<Timestamp>,
        /// Labels, which selectors use.
        pub labels: TextMap,
        /// Annotations, which selectors do not use.
        pub annotations: TextMap,
        /// The finalizers. A deleted object exists until the last finalizer is removed.
        pub finalizers: Vec<String>,
        /// The owners. The garbage collector deletes the object when no owner exists
        /// any more.
        pub owner_references: Vec<OwnerReference>,
    }
}

impl Metadata {
    /// The metadata of a new object with these labels.
    pub(crate) fn labelled<const N: usize>(
        name: impl Into<String>,
        namespace: impl Into<String>,
        labels: [(&str, &str); N],
    ) -> Self {
        Self {
            name: name.into(),
            namespace: namespace.into(),
            labels: labels.into(),
            ..Self::default()
        }
    }

    /// Whether an object of the same kind is this one, by its name and namespace.
    pub(crate) fn is_of(&self, other: &Self) -> bool {
        self.name == other.name && self.namespace == other.namespace
    }

    /// Sets these labels, beside the others.
    pub(crate) fn set_labels(&mut self, labels: &[(&str, &str)]) {
        let owned = |(label, value): &(&str, &str)| ((*label).to_owned(), (*value).to_owned());
        self.labels.extend(labels.iter().map(owned));
    }

    /// Whether each of these labels has its value.
    pub(crate) fn has_labels(&self, labels: &[(&str, &str)]) -> bool {
        let mut labels = labels.iter();
        labels.all(|(label, value)| self.label(label) == Some(value))
    }

    /// The value of a label.
    pub(crate) fn label(&self, label: &str) -> Option<&str> {
        // An object has few labels. The lengths of most keys differ, so few are compared.
        let mut labels = self.labels.iter();
        let found = labels.find(|(key, _)| key.as_str() == label);
        found.map(|(_, value)| value.as_str())
    }

    /// Whether this annotation cordons a resource slice, as Liqo reads its value.
    pub(crate) fn is_cordoned_by(&self, annotation: &str) -> bool {
        let value = self.annotations.get(annotation);
        value.is_some_and(|value| !["false", "False", "0"].contains(&value.as_str()))
    }
}

api_types! {
    /// A reference to the owner of an object.
    ///
    /// Source: Kubernetes `metav1.OwnerReference`.
    pub struct OwnerReference {
        /// The owner's API version, such as `authentication.liqo.io/v1beta1`.
        always pub api_version: String,
        /// The owner's kind.
        always pub kind: String,
        /// The owner's name.
        always pub name: String,
        /// The owner's UID.
        always pub uid: String,
        /// Whether the owner is the controller of this object.
        pub controller: Option<bool>,
        /// Whether the owner's foreground deletion waits for this object's deletion.
        pub block_owner_deletion: Option<bool>,
    }
}

impl OwnerReference {
    /// The reference to the object that controls another one, as
    /// controller-runtime's `SetControllerReference` makes it.
    pub fn controller<K: Resource>(owner: &K) -> Self {
        let metadata = owner.metadata();
        Self {
            api_version: K::KIND.api_version().to_owned(),
            kind: K::KIND.to_string(),
            name: metadata.name.clone(),
            uid: metadata.uid.clone(),
            controller: Some(true),
            block_owner_deletion: Some(true),
        }
    }
}
