//! Reads the files and the standard input that a person gives to a command.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use anyhow::Context;
use liqo_auth::policy::Limits;
use zeroize::Zeroizing;

use crate::{
    failure::{Failure, Result},
    output,
};

/// The content of a file, or of standard input for `-`.
pub(crate) fn read(path: &Path) -> Result<Zeroizing<Vec<u8>>> {
    let shown = name(path);
    if path == Path::new("-") {
        return bounded(io::stdin().lock(), &shown);
    }
    let unreadable = |error| Failure::usage(format!("{shown} cannot be read: {error}"));
    let file = File::open(path).map_err(unreadable)?;
    if file.metadata().map_err(unreadable)?.is_dir() {
        return Err(Failure::usage(format!("{shown} is a folder: name a file")));
    }
    bounded(file, &shown)
}

/// The name of a file in messages.
pub(crate) fn name(path: &Path) -> String {
    if path == Path::new("-") {
        return "standard input".to_owned();
    }
    output::path(path)
}

/// The text of a token in a file, or in standard input for `-`, without the white
/// space around it.
pub(crate) fn token(path: &Path) -> Result<Zeroizing<Vec<u8>>> {
    Ok(Zeroizing::new(read(path)?.trim_ascii().to_vec()))
}

/// The text of a nonce: the argument, or standard input for `-`, without the white
/// space around it.
pub(crate) fn nonce(argument: &str) -> Result<Zeroizing<Vec<u8>>> {
    let text = match argument {
        "-" => read(Path::new("-"))?,
        text => Zeroizing::new(text.as_bytes().to_vec()),
    };
    Ok(Zeroizing::new(text.trim_ascii().to_vec()))
}

/// The most bytes of a file.
pub(crate) fn most_bytes() -> usize {
    let of_object = Limits::default().object;
    of_object.saturating_mul(liqo_auth::model::manifest::OBJECTS)
}

fn bounded(mut source: impl Read, shown: &str) -> Result<Zeroizing<Vec<u8>>> {
    let limit = most_bytes();
    let room = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    let mut content = Zeroizing::new(Vec::new());
    source
        .by_ref()
        .take(room)
        .read_to_end(&mut content)
        .with_context(|| format!("{shown} cannot be read"))?;
    if content.len() > limit {
        return Err(Failure::usage(format!(
            "{shown} has more than {limit} bytes, as nothing of the exchange has. Name another file, or a part of this one"
        )));
    }
    Ok(content)
}
