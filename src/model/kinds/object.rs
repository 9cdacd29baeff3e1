//! One object of any kind, and what names it.

use core::fmt;

use serde::Serialize;
use serde_json::Value;

use crate::{
    model::{
        CertificateSigningRequest, ClusterRole, ClusterRoleBinding, ConfigMap, ForeignCluster,
        Identity, Metadata, Namespace, Renew, ResourceSlice, Role, RoleBinding, Secret,
        ServiceAccount, Tenant,
        names::{API_VERSION, API_VERSION_ALPHA},
        reading::{
            excerpt::Excerpt,
            unreadable::{self, ObjectError, Unreadable},
        },
    },
    policy::Limits,
};

/// What names an object: its kind, namespace and name.
///
/// # Examples
/// ```
/// use liqo_auth::model::{Kind, ObjectRef};
///
/// let nonce = ObjectRef::new(Kind::Secret, "liqo-tenant-x", "liqo-nonce");
/// assert_eq!(nonce.to_string(), "Secret liqo-tenant-x/liqo-nonce");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectRef {
    /// The kind.
    pub kind: Kind,
    /// The namespace; empty for none.
    pub namespace: String,
    /// The name.
    pub name: String,
}

/// A kind of which there is a type here.
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

    /// The metadata, to change it.
    fn metadata_mut(&mut self) -> &mut Metadata;

    /// The object, if it is of this kind.
    fn from_object(object: &Object) -> Option<&Self>;

    /// The object, to change it, if it is of this kind.
    fn from_object_mut(object: &mut Object) -> Option<&mut Self>;

    /// What names the object.
    fn id(&self) -> ObjectRef {
        let metadata = self.metadata();
        ObjectRef::new(Self::KIND, &metadata.namespace, &metadata.name)
    }
}

impl ObjectRef {
    /// The reference to an object; `namespace` is empty for none.
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
        /// The kinds of objects that the exchange consists of.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Kind {
            $(
                #[doc = concat!("A [`", stringify!($Kind), "`](struct@crate::model::", stringify!($Kind), ").")]
                $Kind,
            )*
            /// Another kind, or one that could not be told.
            Other,
        }

        /// One object of any kind. The large kinds are boxed, so that the others
        /// take no more room than they need.
        ///
        /// # Examples
        /// ```
        /// use liqo_auth::model::{Kind, Object, ObjectRef};
        ///
        /// let object = Object::from_value(serde_json::json!({
        ///     "apiVersion": "v1",
        ///     "kind": "Secret",
        ///     "metadata": { "namespace": "liqo-tenant-x", "name": "liqo-nonce" },
        /// }));
        /// assert_eq!(object.id(), ObjectRef::new(Kind::Secret, "liqo-tenant-x", "liqo-nonce"));
        /// assert!(object.as_secret().is_some());
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
        #[derive(Debug, Clone, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Object {
            $(
                #[doc = concat!("A [`", stringify!($Kind), "`](struct@crate::model::", stringify!($Kind), ").")]
                $Kind($Held),
            )*
            /// What could not be read.
            Unreadable(Unreadable),
        }

        impl Kind {
            /// Every kind of which there is a type here.
            pub const ALL: &[Self] = &[$(Self::$Kind),*];

            /// The API version that is written: group and version, or the
            /// version alone in the core group; empty for [`Kind::Other`].
            pub const fn api_version(self) -> &'static str {
                match self {
                    $(Self::$Kind => $api_version,)*
                    Self::Other => "",
                }
            }

            /// Whether objects of this kind lie in a namespace.
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
            /// What names the object; of an unreadable one, as much as could
            /// be told.
            pub fn id(&self) -> ObjectRef {
                match self {
                    $(Self::$Kind(object) => object.id(),)*
                    Self::Unreadable(unreadable) => unreadable.id.clone(),
                }
            }

            /// What names the object, borrowed: kind, namespace and name.
            pub(crate) fn key(&self) -> (Kind, &str, &str) {
                match self {
                    $(Self::$Kind(object) => {
                        let metadata = &object.metadata;
                        (Kind::$Kind, metadata.namespace.as_str(), metadata.name.as_str())
                    })*
                    Self::Unreadable(Unreadable { id, .. }) => {
                        (id.kind, id.namespace.as_str(), id.name.as_str())
                    }
                }
            }

            /// The metadata, of an object that could be read.
            pub const fn metadata(&self) -> Option<&Metadata> {
                match self {
                    $(Self::$Kind(object) => Some(&object.metadata),)*
                    Self::Unreadable(_) => None,
                }
            }

            /// The metadata, to change it.
            pub const fn metadata_mut(&mut self) -> Option<&mut Metadata> {
                match self {
                    $(Self::$Kind(object) => Some(&mut object.metadata),)*
                    Self::Unreadable(_) => None,
                }
            }

            fn of_kind(kind: Kind, value: &Value) -> Result<Self, ObjectError> {
                match kind {
                    $(Kind::$Kind => unreadable::deserialize::<$Kind>(value).map(Self::from),)*
                    Kind::Other => Err(ObjectError::NotAnObject),
                }
            }

            fn fields(&self) -> Value {
                match self {
                    $(Self::$Kind(object) => serialize(object),)*
                    Self::Unreadable(unreadable) => unreadable.stub(),
                }
            }

            const fn type_meta(&self) -> (&str, &str) {
                match self {
                    $(Self::$Kind(_) => (Kind::$Kind.api_version(), Kind::$Kind.as_str()),)*
                    Self::Unreadable(unreadable) => {
                        (unreadable.api_version.as_str(), unreadable.kind.as_str())
                    }
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

            impl From<$Kind> for Object {
                fn from(object: $Kind) -> Self {
                    Self::$Kind(object.into())
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
}

impl Object {
    /// The object that a JSON value holds. It never fails: what cannot be
    /// read becomes [`Object::Unreadable`], with as much of its name as could
    /// be told. Fields that are not known are ignored.
    ///
    /// The strings of the value are wiped, since some may be secrets.
    pub fn from_value(value: Value) -> Self {
        Self::from_value_within(value, &Limits::default())
    }

    /// As [`Object::from_value`], with a limit of one's own on the size of
    /// the object.
    pub fn from_value_within(mut value: Value, limits: &Limits) -> Self {
        let object = Self::read(&value, limits)
            .unwrap_or_else(|reason| Self::Unreadable(Unreadable::of(&value, reason)));
        unreadable::wipe(&mut value);
        object
    }

    /// The object as JSON, with its API version and kind. What is empty is
    /// left out; only `status` of a Tenant or an Identity stays as `{}`, as
    /// Liqo's own tools write it.
    ///
    /// The values of a Secret are in it: wipe it after use. Of what could not
    /// be read only its name is left.
    pub fn to_value(&self) -> Value {
        let mut value = self.fields();
        let (api_version, kind) = self.type_meta();
        if let Value::Object(fields) = &mut value {
            fields.insert("apiVersion".into(), api_version.into());
            fields.insert("kind".into(), kind.into());
        }
        value
    }

    /// The Namespace, if it is one.
    pub fn as_namespace(&self) -> Option<&Namespace> {
        Namespace::from_object(self)
    }

    /// The Secret, if it is one.
    pub fn as_secret(&self) -> Option<&Secret> {
        Secret::from_object(self)
    }

    /// The Tenant, if it is one.
    pub fn as_tenant(&self) -> Option<&Tenant> {
        Tenant::from_object(self)
    }

    /// The Identity, if it is one.
    pub fn as_identity(&self) -> Option<&Identity> {
        Identity::from_object(self)
    }

    /// The metadata; of an object that cannot be read, what is left of it.
    pub(crate) fn any_metadata(&self) -> &Metadata {
        match self {
            Self::Unreadable(unreadable) => &unreadable.metadata,
            object => object.metadata().unwrap_or(&NO_METADATA),
        }
    }

    /// What could not be read, if it is that.
    pub const fn as_unreadable(&self) -> Option<&Unreadable> {
        match self {
            Self::Unreadable(unreadable) => Some(unreadable),
            _ => None,
        }
    }

    fn read(value: &Value, limits: &Limits) -> Result<Self, ObjectError> {
        unreadable::check_values(value, limits.object_values)?;
        unreadable::check_size(value, limits.object)?;
        let kind = unreadable::kind_of(value)?;
        Self::of_kind(kind, value)
    }
}

impl From<Unreadable> for Object {
    fn from(unreadable: Unreadable) -> Self {
        Self::Unreadable(unreadable)
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

    /// The kind of that name in that group, at whatever version.
    pub(in crate::model) fn find(api_version: &str, name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|kind| kind.as_str() == name && kind.group() == group(api_version))
    }

    /// Whether objects of that version are read.
    pub(in crate::model) fn reads(self, api_version: &str) -> bool {
        api_version == self.api_version()
            || (self.api_version() == API_VERSION && api_version == API_VERSION_ALPHA)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// Every object that can be read has metadata of its own.
static NO_METADATA: Metadata = Metadata::EMPTY;
const RBAC_API_VERSION: &str = "rbac.authorization.k8s.io/v1";

/// The group of an API version; the core group is empty.
fn group(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

fn serialize<T: Serialize>(object: &T) -> Value {
    // Maps with text as keys always can be JSON.
    serde_json::to_value(object).unwrap_or_default()
}
