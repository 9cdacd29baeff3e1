//! What a request names.

use serde_json::Value;

use super::store;

/// Where a request goes to.
pub struct Target {
    /// Such as `apis/authentication.liqo.io/v1beta1`.
    pub group: String,
    pub namespace: String,
    pub plural: String,
    pub name: String,
    pub subresource: String,
}

impl Target {
    pub fn parse(path: &str) -> Option<Self> {
        let mut parts = path.trim_matches('/').split('/').map(decoded);
        let root = parts.next()?;
        let group = if root == "api" {
            format!("api/{}", parts.next()?)
        } else {
            format!("{root}/{}/{}", parts.next()?, parts.next()?)
        };
        let mut rest: Vec<String> = parts.collect();
        let mut namespace = String::new();
        if rest.first().is_some_and(|first| first == "namespaces") && rest.len() > 2 {
            namespace = rest.remove(1);
            rest.remove(0);
        }
        let mut rest = rest.into_iter();
        Some(Self {
            group,
            namespace,
            plural: rest.next()?,
            name: rest.next().unwrap_or_default(),
            subresource: rest.next().unwrap_or_default(),
        })
    }

    pub fn of(object: &Value) -> Self {
        let text = |pointer: &str| {
            let value = object.pointer(pointer).and_then(Value::as_str);
            value.unwrap_or_default().to_owned()
        };
        let (version, kind) = (text("/apiVersion"), text("/kind"));
        Self {
            group: format!(
                "{}/{version}",
                if version.contains('/') { "apis" } else { "api" }
            ),
            namespace: text("/metadata/namespace"),
            plural: store::plural(&kind).to_owned(),
            name: text("/metadata/name"),
            subresource: String::new(),
        }
    }
}

pub(super) fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => {
                let digits = [rest.next().unwrap(), rest.next().unwrap()];
                let digits = String::from_utf8(digits.to_vec()).unwrap();
                bytes.push(u8::from_str_radix(&digits, 16).unwrap());
            }
            b'+' => bytes.push(b' '),
            other => bytes.push(other),
        }
    }
    String::from_utf8(bytes).unwrap()
}
