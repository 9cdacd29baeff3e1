//! The request to an API server that carries out an effect.

use core::fmt::Write as _;

use serde_json::{Value, json};

use super::{Effect, Part, Version, json::written};
use crate::{
    error::{ApiMisuse, Error},
    model::{Kind, Object, ObjectForm, ObjectRef, SecretBytes, wipe},
};

/// A request to a Kubernetes API server that carries out an [`Effect`].
///
/// `path` begins at the server's root and has no query. `body` is JSON. It is wiped
/// when the request is dropped, because it may hold a secret.
///
/// # Examples
/// ```
/// use liqo_auth::{machine::{Effect, Method}, model::Namespace};
///
/// let effect = Effect::Create(Namespace::for_tenant(&"cl-consumer".parse()?).into());
/// let request = effect.request()?;
/// assert_eq!((request.method, request.path.as_str()), (Method::Post, "/api/v1/namespaces"));
/// assert_eq!(request.content_type, "application/json");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ApiRequest {
    /// The HTTP method.
    pub method: Method,
    /// The path, percent-encoded, such as `/api/v1/namespaces/liqo/secrets/a`.
    pub path: String,
    /// The value of the header `Content-Type`.
    pub content_type: &'static str,
    /// The body.
    pub body: SecretBytes,
}

/// The HTTP method of an [`ApiRequest`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, derive_more::Display)]
#[display("{}", self.as_str())]
pub enum Method {
    /// `POST` to a collection.
    Post,
    /// `PUT` to an object.
    Put,
    /// `PATCH` of an object, or of one of its subresources.
    Patch,
    /// `DELETE` of an object.
    Delete,
}

impl Effect {
    /// The request to an API server that carries out this effect.
    ///
    /// | effect | method and path | checked by the API server |
    /// |---|---|---|
    /// | `Create` | `POST` to the collection | the name is free: 409 `AlreadyExists` |
    /// | `Replace` | `PUT` to the object | `uid` and `resourceVersion` in the object's metadata: 409 |
    /// | `Patch` | `PATCH` of the object, `/status` or `/approval` | `metadata.resourceVersion` in the patch: 409 |
    /// | `Delete` | `DELETE` of the object | `uid` and `resourceVersion` in `DeleteOptions`: 409 |
    ///
    /// A patch is a JSON merge patch (`application/merge-patch+json`). It names
    /// the resource version, not the UID: an API server answers a wrong UID with
    /// 422 on the object and ignores the UID on `/status`. The resource version
    /// is enough, since no two objects of one cluster share one.
    ///
    /// An unknown field of the [`Version`] is not sent, so the API server does not
    /// check it.
    ///
    /// # Errors
    /// [`ApiMisuse::NotAddressable`], if no request can carry out the effect: the
    /// kind is unknown, the namespace does not fit the kind, a name cannot be a
    /// part of a path, or the object to write could not be read.
    pub fn request(&self) -> Result<ApiRequest, Error> {
        let id = self.id();
        let collection = collection_path(&id)?;
        let path = with_segment(&collection, &id.name, &id)?;
        Ok(match self {
            Self::Create(object) => {
                let body = pinned(object, &Version::default())?;
                ApiRequest::json(Method::Post, collection, body)
            }
            Self::Replace { object, version } => {
                ApiRequest::json(Method::Put, path, pinned(object, version)?)
            }
            Self::Patch {
                version,
                part,
                patch,
                ..
            } => {
                let mut patch = patch.clone();
                pin(&mut patch, &version.resource_version);
                let body = written(&patch);
                wipe(&mut patch);
                let path = match part {
                    Part::Main => path,
                    Part::Status => path + "/status",
                    Part::Approval => path + "/approval",
                };
                ApiRequest {
                    content_type: "application/merge-patch+json",
                    ..ApiRequest::json(Method::Patch, path, body)
                }
            }
            Self::Delete { version, .. } => {
                let options = json!({
                    "apiVersion": "v1",
                    "kind": "DeleteOptions",
                    "preconditions": version,
                });
                ApiRequest::json(Method::Delete, path, written(&options))
            }
        })
    }
}

impl ApiRequest {
    /// The request in its [JSON form](super::json). The bytes are wiped when they
    /// are dropped, since the body may hold a secret.
    pub fn to_json(&self) -> SecretBytes {
        let (path, method) = (Value::from(self.path.as_str()), self.method);
        let head = format!(
            r#"{{"contentType":"{}","method":"{method}","path":{path},"body":"#,
            self.content_type
        );
        let mut text = Vec::with_capacity(head.len() + self.body.expose().len() + 1);
        text.extend_from_slice(head.as_bytes());
        text.extend_from_slice(self.body.expose());
        text.push(b'}');
        SecretBytes::from(text)
    }

    fn json(method: Method, path: String, body: SecretBytes) -> Self {
        Self {
            method,
            path,
            content_type: "application/json",
            body,
        }
    }
}

impl Method {
    /// The method as HTTP writes it, such as `POST`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }
}

/// The JSON of an object to write, with the version in its metadata.
fn pinned(object: &Object, version: &Version) -> Result<SecretBytes, Error> {
    if let Object::Unreadable(unreadable) = object {
        return Err(not_addressable(&unreadable.id));
    }
    let found = object.metadata();
    if found.uid == version.uid && found.resource_version == version.resource_version {
        return Ok(written(&ObjectForm(object)));
    }
    let mut object = object.clone();
    let metadata = object.metadata_mut();
    metadata.uid.clone_from(&version.uid);
    metadata
        .resource_version
        .clone_from(&version.resource_version);
    Ok(written(&ObjectForm(&object)))
}

/// Sets the resource version in the metadata of a patch. The patch does not name the UID.
fn pin(patch: &mut Value, resource_version: &str) {
    let Value::Object(fields) = patch else {
        return;
    };
    let metadata = fields.entry("metadata").or_insert_with(|| json!({}));
    if let Value::Object(metadata) = metadata {
        metadata.remove("uid");
        metadata.remove("resourceVersion");
        if !resource_version.is_empty() {
            metadata.insert("resourceVersion".to_owned(), resource_version.into());
        }
    }
}

fn collection_path(id: &ObjectRef) -> Result<String, Error> {
    let kind = id.kind;
    if kind == Kind::Other || kind.is_namespaced() == id.namespace.is_empty() {
        return Err(not_addressable(id));
    }
    let root = if kind.group().is_empty() {
        "/api/"
    } else {
        "/apis/"
    };
    let mut path = root.to_owned() + kind.api_version();
    if kind.is_namespaced() {
        path = with_segment(&(path + "/namespaces"), &id.namespace, id)?;
    }
    path.push('/');
    path.push_str(kind.plural());
    Ok(path)
}

/// The path with one more segment, percent-encoded (RFC 3986, section 2.1).
///
/// Kubernetes refuses the names `.` and `..` and names with `/` or `%`. A proxy
/// might decode such a name too early and reach another object.
fn with_segment(path: &str, segment: &str, id: &ObjectRef) -> Result<String, Error> {
    if matches!(segment, "" | "." | "..") || segment.contains(['/', '%']) {
        return Err(not_addressable(id));
    }
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:@".contains(&byte);
    if segment.bytes().all(is_plain) {
        return Ok([path, "/", segment].concat());
    }
    let mut path = [path, "/"].concat();
    for byte in segment.bytes() {
        if is_plain(byte) {
            path.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(path, "%{byte:02X}");
        }
    }
    Ok(path)
}

fn not_addressable(id: &ObjectRef) -> Error {
    Error::new(ApiMisuse::NotAddressable, Some(id.clone()), "metadata")
}
