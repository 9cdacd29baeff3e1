//! One object of any kind, and references to objects.

use core::fmt;

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::{
    model::{
        CertificateSigningRequest, ClusterRole, ClusterRoleBinding, ConfigMap, ForeignCluster,
        Identity, Metadata, Namespace, NamespaceMap, Renew, ResourceSlice, Role, RoleBinding,
        Secret, ServiceAccount, Tenant,
        names::{API_VERSION, API_VERSION_ALPHA},
        reading::{
            bounded,
            excerpt::Excerpt,
            unreadable::{self, ObjectError, Unreadable},
        },
    },
    policy::Limits,
};

/// A reference to an object: its kind, namespace and name.
///
/// # Examples
/// ```
/// use liqo_auth::model::{Kind, ObjectRef};
///
/// let nonce = ObjectRef::new(Kind::Secret, "liqo-tenant-x", "liqo-nonce");
/// assert_eq!(nonce.to_string(), "Secret liqo-tenant-x/liqo-nonce");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct ObjectRef {
    /// The kind.
    pub kind: Kind,
    /// The namespace; empty for an object without one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
}

/// A type of this module that represents one kind.
///
/// # Examples
/// ```
/// use liqo_auth::model::{Kind, Tenant, Resource};
///
/// assert_eq!(Tenant::KIND, Kind::Tenant);
/// assert_eq!(Kind::Tenant.api_version(), "authentication.liqo.io/v1beta1");
/// ```
pub trait Resource: Sized + Into<Object> {
    /// The kind.
    const KIND: Kind;

    /// The metadata.
    fn metadata(&self) -> &Metadata;

    /// The metadata, to be changed in place.
    fn metadata_mut(&mut self) -> &mut Metadata;

    /// This object, if it is of this kind.
    fn from_object(object: &Object) -> Option<&Self>;

    /// This object, to be changed in place, if it is of this kind.
    fn from_object_mut(object: &mut Object) -> Option<&mut Self>;

    /// The reference to the object.
    fn id(&self) -> ObjectRef {
        let metadata = self.metadata();
        ObjectRef::new(Self::KIND, &metadata.namespace, &metadata.name)
    }
}

impl ObjectRef {
    /// The reference to an object. `namespace` is empty for an object without one.
    pub fn new(kind: Kind, namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            kind,
            namespace: namespace.into(),
            name: name.into(),
        }
    }
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ", self.kind)?;
        if !self.namespace.is_empty() {
            write!(formatter, "{}/", Excerpt(&self.namespace))?;
        }
        write!(formatter, "{}", Excerpt(&self.name))
    }
}

macro_rules! kinds {
    ($($Kind:ident($Held:ty), $api_version:expr, $plural:literal, $namespaced:literal;)*) => {
        /// The kinds of objects that the exchange uses.
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, derive_more::Display,
        )]
        #[display("{}", self.as_str())]
        #[non_exhaustive]
        pub enum Kind {
            $(
                #[doc = concat!("A [`", stringify!($Kind), "`](struct@crate::model::", stringify!($Kind), ").")]
                $Kind,
            )*
            /// Another kind, or an unknown kind.
            #[serde(rename = "Object")]
            Other,
        }

        /// One object of any kind. The large kinds are boxed, to keep the enum small.
        ///
        /// # Examples
        /// ```
        /// use liqo_auth::model::{Kind, Object, ObjectRef, Resource, Secret};
        ///
        /// let object = Object::from_value(serde_json::json!({
        ///     "apiVersion": "v1",
        ///     "kind": "Secret",
        ///     "metadata": { "namespace": "liqo-tenant-x", "name": "liqo-nonce" },
        /// }));
        /// assert_eq!(object.id(), ObjectRef::new(Kind::Secret, "liqo-tenant-x", "liqo-nonce"));
        /// assert!(Secret::from_object(&object).is_some());
        ///
        /// let broken = Object::from_value(serde_json::json!({
        ///     "apiVersion": "v1",
        ///     "kind": "Secret",
        ///     "metadata": { "namespace": "liqo-tenant-x", "name": "liqo-nonce" },
        ///     "data": 5,
        /// }));
        /// assert_eq!(broken.id(), object.id());
        /// assert_eq!(
        ///     broken.as_unreadable().unwrap().reason.to_string(),
        ///     "data: found a number, expected a map"
        /// );
        /// ```
        #[derive(Debug, Clone, PartialEq, Eq, derive_more::From)]
        #[non_exhaustive]
        pub enum Object {
            $(
                #[doc = concat!("A [`", stringify!($Kind), "`](struct@crate::model::", stringify!($Kind), ").")]
                #[from($Kind)]
                $Kind($Held),
            )*
            /// An object that could not be read.
            #[from]
            Unreadable(Unreadable),
        }

        impl Kind {
            /// Every kind that has a type in this module.
            pub const ALL: &[Self] = &[$(Self::$Kind),*];

            /// The API version that this library writes: group and version, or only
            /// the version for the core group; empty for [`Kind::Other`].
            pub const fn api_version(self) -> &'static str {
                match self {
                    $(Self::$Kind => $api_version,)*
                    Self::Other => "",
                }
            }

            /// Whether objects of this kind are in a namespace.
            pub const fn is_namespaced(self) -> bool {
                match self {
                    $(Self::$Kind => $namespaced,)*
                    Self::Other => false,
                }
            }

            /// The name of the kind in an API server's paths, such as
            /// `secrets`; empty for [`Kind::Other`].
            pub const fn plural(self) -> &'static str {
                match self {
                    $(Self::$Kind => $plural,)*
                    Self::Other => "",
                }
            }

            /// The name of the kind, such as `Secret`.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$Kind => stringify!($Kind),)*
                    Self::Other => "Object",
                }
            }
        }

        impl Object {
            /// The metadata; for an unreadable object, the parts that are known.
            pub fn metadata(&self) -> &Metadata {
                match self {
                    $(Self::$Kind(object) => &object.metadata,)*
                    Self::Unreadable(unreadable) => &unreadable.metadata,
                }
            }

            /// The object as if nobody had deleted it.
            pub(crate) fn undeleted(mut self) -> Self {
                self.metadata_mut().deletion_timestamp = None;
                self
            }

            /// The metadata, to be changed in place.
            pub fn metadata_mut(&mut self) -> &mut Metadata {
                match self {
                    $(Self::$Kind(object) => &mut object.metadata,)*
                    Self::Unreadable(unreadable) => &mut unreadable.metadata,
                }
            }

            fn kind(&self) -> Kind {
                match self {
                    $(Self::$Kind(_) => Kind::$Kind,)*
                    Self::Unreadable(unreadable) => unreadable.id.kind,
                }
            }

            fn of_kind(kind: Kind, value: &Value) -> Result<Self, ObjectError> {
                match kind {
                    $(Kind::$Kind => unreadable::deserialize::<$Kind>(value).map(Self::from),)*
                    Kind::Other => Err(ObjectError::NotAnObject),
                }
            }
        }

        impl Serialize for ObjectForm<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self.0 {
                    $(Object::$Kind(object) => TypedForm::<$Kind>::of(object).serialize(serializer),)*
                    Object::Unreadable(unreadable) => unreadable.stub().serialize(serializer),
                }
            }
        }

        $(
            impl Resource for $Kind {
                const KIND: Kind = Kind::$Kind;

                fn metadata(&self) -> &Metadata {
                    &self.metadata
                }

                fn metadata_mut(&mut self) -> &mut Metadata {
                    &mut self.metadata
                }

                fn from_object(object: &Object) -> Option<&Self> {
                    match object {
                        Object::$Kind(object) => Some(object),
                        _ => None,
                    }
                }

                fn from_object_mut(object: &mut Object) -> Option<&mut Self> {
                    match object {
                        Object::$Kind(object) => Some(object),
                        _ => None,
                    }
                }
            }
        )*
    };
}

kinds! {
    Namespace(Namespace), "v1", "namespaces", false;
    Secret(Secret), "v1", "secrets", true;
    ConfigMap(ConfigMap), "v1", "configmaps", true;
    Tenant(Box<Tenant>), API_VERSION, "tenants", true;
    Identity(Box<Identity>), API_VERSION, "identities", true;
    ResourceSlice(Box<ResourceSlice>), API_VERSION, "resourceslices", true;
    Renew(Box<Renew>), API_VERSION, "renews", true;
    RoleBinding(RoleBinding), RBAC_API_VERSION, "rolebindings", true;
    ClusterRoleBinding(ClusterRoleBinding), RBAC_API_VERSION, "clusterrolebindings", false;
    ClusterRole(ClusterRole), RBAC_API_VERSION, "clusterroles", false;
    CertificateSigningRequest(Box<CertificateSigningRequest>), "certificates.k8s.io/v1", "certificatesigningrequests", false;
    ServiceAccount(ServiceAccount), "v1", "serviceaccounts", true;
    Role(Role), RBAC_API_VERSION, "roles", true;
    ForeignCluster(Box<ForeignCluster>), "discovery.liqo.io/v1alpha1", "foreignclusters", false;
    NamespaceMap(NamespaceMap), "offloading.liqo.io/v1beta1", "namespacemaps", true;
}

impl Object {
    /// The object in a JSON value. This never fails: a value that cannot be read
    /// becomes [`Object::Unreadable`], with the parts of its name that are known.
    /// Unknown fields are ignored.
    ///
    /// The strings of the value are wiped, since some may be secrets.
    pub fn from_value(value: Value) -> Self {
        Self::from_value_within(value, &Limits::default())
    }

    /// As [`Object::from_value`], but with these limits on the size of the object.
    pub(crate) fn from_value_within(mut value: Value, limits: &Limits) -> Self {
        let object = Self::read(&value, limits)
            .unwrap_or_else(|reason| Self::Unreadable(Unreadable::of(&value, reason)));
        unreadable::wipe(&mut value);
        object
    }

    /// The object as JSON, with its API version and kind. Empty fields are left
    /// out, except `status` of a Tenant or an Identity: Liqo's own tools write it
    /// as `{}`.
    ///
    /// The JSON contains the values of a Secret: wipe it after use. For an unreadable
    /// object, the JSON contains only the API version, kind, namespace and name.
    pub fn to_value(&self) -> Value {
        // The serialization of a map with text keys cannot fail.
        serde_json::to_value(ObjectForm(self)).unwrap_or_default()
    }

    /// The bytes of the object's JSON, or of what is kept of one that is unreadable.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Unreadable(unreadable) => unreadable::json_bytes(&*unreadable.metadata),
            object => unreadable::json_bytes(&ObjectForm(object)),
        }
    }

    /// The kind, namespace and name of the object. For an unreadable object, an unknown
    /// name or namespace is empty, and an unknown kind is [`Kind::Other`].
    pub fn id(&self) -> ObjectRef {
        let (kind, namespace, name) = self.key();
        ObjectRef::new(kind, namespace, name)
    }

    /// The kind, namespace and name of the object, as in [`id`](Self::id).
    pub(crate) fn key(&self) -> (Kind, &str, &str) {
        let (namespace, name) = match self {
            Self::Unreadable(Unreadable { id, .. }) => (&id.namespace, &id.name),
            object => {
                let metadata = object.metadata();
                (&metadata.namespace, &metadata.name)
            }
        };
        (self.kind(), namespace, name)
    }

    /// The unreadable object, if it is one.
    pub const fn as_unreadable(&self) -> Option<&Unreadable> {
        match self {
            Self::Unreadable(unreadable) => Some(unreadable),
            _ => None,
        }
    }

    fn read(value: &Value, limits: &Limits) -> Result<Self, ObjectError> {
        bounded::check(value, limits)?;
        unreadable::check_values(value, limits.object_values)?;
        unreadable::check_size(value, limits.object)?;
        let kind = unreadable::kind_of(value)?;
        Self::of_kind(kind, value)
    }
}

impl Kind {
    /// The API group; empty for the core group and for [`Kind::Other`].
    ///
    /// # Examples
    /// ```
    /// use liqo_auth::model::Kind;
    ///
    /// let (group, version) = (Kind::Tenant.group(), Kind::Tenant.version());
    /// assert_eq!((group, version), ("authentication.liqo.io", "v1beta1"));
    /// assert_eq!((Kind::Secret.group(), Kind::Secret.version()), ("", "v1"));
    /// assert_eq!(Kind::Tenant.plural(), "tenants");
    /// ```
    pub fn group(self) -> &'static str {
        group(self.api_version())
    }

    /// The version within the group, such as `v1beta1`; empty for
    /// [`Kind::Other`].
    pub fn version(self) -> &'static str {
        let api_version = self.api_version();
        api_version
            .split_once('/')
            .map_or(api_version, |(_, version)| version)
    }

    /// The kind of that name in that group, in any version.
    pub(crate) fn find(api_version: &str, name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|kind| kind.as_str() == name && kind.group() == group(api_version))
    }

    /// Whether this library reads objects of that version.
    pub(crate) fn reads(self, api_version: &str) -> bool {
        api_version == self.api_version()
            || (self.api_version() == API_VERSION && api_version == API_VERSION_ALPHA)
    }
}

const RBAC_API_VERSION: &str = "rbac.authorization.k8s.io/v1";

/// The group of an API version; the core group is empty.
fn group(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// The JSON of an object, as [`Object::to_value`] describes it. It is written from the
/// object itself, so that no copy of a secret is made.
pub(crate) struct ObjectForm<'a>(pub(crate) &'a Object);

/// The JSON of an object of one kind.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TypedForm<'a, T> {
    api_version: &'static str,
    kind: &'static str,
    #[serde(flatten)]
    fields: &'a T,
}

impl<'a, T: Resource> TypedForm<'a, T> {
    pub(crate) fn of(fields: &'a T) -> Self {
        Self {
            api_version: T::KIND.api_version(),
            kind: T::KIND.as_str(),
            fields,
        }
    }
}
