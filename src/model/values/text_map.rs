//! Labels and annotations.

use std::collections::BTreeMap;

use litemap::LiteMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The labels or the annotations of an object: texts by their keys, sorted by key.
///
/// An object has few of them, and a controller holds many objects. So all texts are in
/// one vector, which needs less memory than a [`BTreeMap`]. The methods are those of
/// [`LiteMap`].
///
/// # Examples
/// ```
/// use liqo_auth::model::TextMap;
///
/// let mut labels = TextMap::from([("b", "2"), ("a", "1")]);
/// labels.insert("c".to_owned(), "3".to_owned());
/// assert_eq!(labels.get("a").unwrap(), "1");
/// assert_eq!(serde_json::to_string(&labels)?, r#"{"a":"1","b":"2","c":"3"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(
    Clone,
    Default,
    PartialEq,
    Eq,
    derive_more::Debug,
    derive_more::Deref,
    derive_more::DerefMut,
    derive_more::IntoIterator,
)]
#[debug("{_0:?}")]
#[into_iterator(owned, ref)]
pub struct TextMap(LiteMap<String, String>);

impl<K: Into<String>, V: Into<String>> FromIterator<(K, V)> for TextMap {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(texts: I) -> Self {
        let texts = texts.into_iter();
        Self(texts.map(|(key, text)| (key.into(), text.into())).collect())
    }
}

impl<K: Into<String>, V: Into<String>, const N: usize> From<[(K, V); N]> for TextMap {
    fn from(texts: [(K, V); N]) -> Self {
        texts.into_iter().collect()
    }
}

impl Serialize for TextMap {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(&self.0)
    }
}

impl<'de> Deserialize<'de> for TextMap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // A LiteMap would also read a list of pairs.
        BTreeMap::<String, String>::deserialize(deserializer).map(Self::from_iter)
    }
}
