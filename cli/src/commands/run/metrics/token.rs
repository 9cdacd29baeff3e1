//! The token of those who may read the metrics.

use std::path::PathBuf;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use axum::http::HeaderValue;
use zeroize::Zeroizing;

use crate::{
    failure::{Failure, Result},
    input,
};

/// A bearer token in a file. The file is read for each request, so that a new token counts at
/// once.
pub(in crate::commands::run) struct Token(PathBuf);

impl Token {
    /// # Errors
    /// The file cannot be read, or is empty.
    pub(in crate::commands::run) fn in_file(file: PathBuf) -> Result<Self> {
        let token = Self(file);
        token.read()?;
        Ok(token)
    }

    /// Whether this header has the token.
    pub(super) fn is_in(&self, authorization: Option<&HeaderValue>) -> bool {
        let Some(shown) = authorization.and_then(bearer) else {
            return false;
        };
        match self.read() {
            Ok(token) => verify_slices_are_equal(&token, shown).is_ok(),
            Err(failure) => {
                tracing::warn!(%failure, "nobody can read the metrics");
                false
            }
        }
    }

    fn read(&self) -> Result<Zeroizing<Vec<u8>>> {
        let token = input::token(&self.0)?;
        if token.is_empty() {
            let shown = self.0.display();
            return Err(Failure::usage(format!("{shown} has no token")));
        }
        Ok(token)
    }
}

/// The token of a header. The scheme may have any case (RFC 9110, section 11.1).
fn bearer(header: &HeaderValue) -> Option<&[u8]> {
    let (scheme, token) = header.as_bytes().split_at_checked(SCHEME.len())?;
    scheme
        .eq_ignore_ascii_case(SCHEME)
        .then(|| token.trim_ascii())
}

const SCHEME: &[u8] = b"Bearer ";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_of_the_file_counts_and_no_other() {
        let file = std::env::temp_dir().join(format!("liqo-auth-token-{}", std::process::id()));
        std::fs::write(&file, "one\n").unwrap();
        let token = Token::in_file(file.clone()).unwrap();
        let is_in = |header: &str| token.is_in(Some(&HeaderValue::from_str(header).unwrap()));
        assert!(is_in("Bearer one") && is_in("bearer one"));
        for wrong in [
            "",
            "Bearer",
            "Bearer ",
            "Bearer on",
            "Bearer one2",
            "Basic one",
            "one",
        ] {
            assert!(!is_in(wrong), "{wrong}");
        }
        assert!(!token.is_in(None));

        std::fs::write(&file, "two\n").unwrap();
        assert!(is_in("Bearer two") && !is_in("Bearer one"));
        // Without a token, nobody is let in.
        std::fs::write(&file, "\n").unwrap();
        assert!(!is_in("Bearer ") && !is_in("Bearer two"));
        std::fs::remove_file(&file).unwrap();
        assert!(!is_in("Bearer two"));
        assert!(Token::in_file(file).is_err());
    }
}
