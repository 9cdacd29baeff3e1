//! A file, with what is in it.

use liqo_auth::{
    model::{Object, manifest},
    policy::Limits,
};
use zeroize::Zeroizing;

use crate::recognition::{self, Recognised};

/// A file, with its objects.
#[derive(Debug)]
pub struct Input {
    /// The name, for people.
    pub name: String,
    pub(crate) text: Zeroizing<Vec<u8>>,
    pub(crate) objects: Vec<Object>,
    /// What the file is, if it is no manifest.
    pub(crate) bare: Option<Recognised>,
}

impl Input {
    /// Reads the file of that name.
    ///
    /// # Errors
    /// The sentence why nothing can be said of it.
    pub fn read(name: String, text: Zeroizing<Vec<u8>>) -> Result<Self, String> {
        let bare = Recognised::of(&text);
        let objects = match bare {
            Some(Recognised::Utf16 | Recognised::Tab { .. }) => {
                let hint = recognition::hint(&text);
                return Err(format!("{name} cannot be read.{hint}"));
            }
            Some(Recognised::Empty) => Vec::new(),
            Some(_) => {
                return Ok(Self {
                    name,
                    text,
                    objects: Vec::new(),
                    bare,
                });
            }
            None => manifest::read(&text, &Limits::default())
                .map_err(|error| format!("{name} is not a manifest: {error}"))?,
        };
        if objects.is_empty() {
            return Err(format!("{name} does not contain an object"));
        }
        Ok(Self {
            name,
            text,
            objects,
            bare: None,
        })
    }
}
