//! The cluster's own token, and who is admitted by which.

use std::collections::BTreeMap;

use super::{Foreign, claim::sealed, seen::Seen};
use crate::{
    crypto::{BoxError, Entropy},
    error::{Backend, Error, LocalFault},
    legacy::{AuthToken, record::origin_token_name},
    machine::{Effect, Env, Step, Version, Wait},
    model::{ClusterId, Resource, Secret, SecretBytes, Timestamp, names},
    policy::Forms,
};

/// Finds the cluster's own token, where it is not in the Secret `auth-token`.
///
/// An implementation that finds a token of someone else's lets that one in;
/// one that finds none, or fails, only keeps everyone out.
pub trait TokenStore: Send + Sync {
    /// The token; `None` while there is none.
    ///
    /// # Errors
    /// What kept the store from looking. It is never taken for an absent token.
    fn own_token(&self) -> Result<Option<AuthToken>, BoxError>;
}

/// By what a request is admitted.
pub(super) enum Admission {
    /// Not at all.
    No,
    /// By the cluster's own token, out of this Secret.
    OwnToken,
    /// By something that is not used up.
    Other,
}

impl Foreign {
    /// The token that is good now, out of the Secret or the store.
    pub(super) fn own_token(
        &self,
        secret: Option<&Secret>,
        now: Timestamp,
    ) -> Result<Option<AuthToken>, Error> {
        if let Some(store) = &self.0.token_store {
            return store
                .own_token()
                .map_err(|error| Error::backend(Backend::Tokens, error));
        }
        let Some(secret) = secret else {
            return Ok(None);
        };
        // Liqo's own token has no seal, and a home of 0.2 may create Secrets.
        if self.0.policy.forms() == Forms::Canonical {
            sealed(self, names::AUTH_TOKEN_SECRET).check(secret)?;
        }
        if expiry(secret).is_some_and(|expiry| expiry <= now.unix()) {
            return Ok(None);
        }
        let token = secret.get(names::TOKEN).unwrap_or_default();
        match AuthToken::parse(token, &self.0.policy) {
            Ok(token) => Ok(Some(token)),
            Err(error) => {
                let id = Some(secret.id());
                Err(Error::new(LocalFault::Token(error), id, "data.token"))
            }
        }
    }

    /// Whether a request of this peer with these bytes for a token is let in.
    pub(super) fn admission(
        &self,
        seen: &Seen<'_>,
        peer: &ClusterId,
        given: &[u8],
        now: Timestamp,
    ) -> Result<Admission, Error> {
        if given.is_empty() {
            return Ok(match self.0.allows_empty_token {
                true => Admission::Other,
                false => Admission::No,
            });
        }
        if let Some(secret) = seen.origin_token
            && sealed(self, &origin_token_name(peer)).is_sealed(secret)
            && let Ok(token) = self.parse_stored(secret)
            && token.matches(given)
        {
            return Ok(Admission::Other);
        }
        // The home that came with it before comes again: its answer was lost.
        let claimed = seen.claim.as_ref().is_some_and(|(_, claim)| {
            !claim.is_delivered && self.is_token(claim.token.as_slice(), given)
        });
        let spent = seen.own_token.is_some_and(|secret| {
            secret.get(SPENT_BY) == Some(peer.as_str().as_bytes())
                && sealed(self, names::AUTH_TOKEN_SECRET).is_sealed(secret)
                && self.is_token(secret.get(SPENT).unwrap_or_default(), given)
        });
        match self.own_token(seen.own_token, now) {
            Ok(Some(token)) if token.matches(given) => Ok(Admission::OwnToken),
            _ if claimed || spent => Ok(Admission::Other),
            Ok(_) => Ok(Admission::No),
            Err(error) => Err(error),
        }
    }

    /// A MAC by which a token is known again.
    pub(super) fn token_mac(&self, token: &[u8]) -> [u8; 32] {
        self.0.record_key.mac(TOKEN_DOMAIN, &[token])
    }

    /// Puts a new token where the peer has used this one up.
    pub(super) fn spend(
        &self,
        secret: &Secret,
        peer: &ClusterId,
        given: &[u8],
        env: &Env,
    ) -> Effect {
        let spent = [
            (SPENT, SecretBytes::from(self.token_mac(given).as_slice())),
            (SPENT_BY, SecretBytes::from(peer.as_str().as_bytes())),
        ];
        let spent = spent.map(|(key, value)| (key.to_owned(), value));
        Effect::Replace {
            object: self.new_token(&env.entropy, env.now, spent.into()).into(),
            version: Version::of(&secret.metadata),
        }
    }

    /// Makes the token unless one is there and good.
    pub(super) fn make_token(&self, secret: Option<&Secret>, env: &Env) -> Result<Step, Error> {
        let mut step = Step::default();
        if self.0.token_store.is_some() {
            return Ok(step);
        }
        if self.own_token(secret, env.now)?.is_some() {
            let expiry = secret.and_then(expiry);
            step.wait = Wait {
                wake_at: expiry.and_then(|expiry| Timestamp::from_unix(expiry).ok()),
                awaiting: Vec::new(),
            };
            return Ok(step);
        }
        let object = self
            .new_token(&env.entropy, env.now, BTreeMap::new())
            .into();
        step.effects.push(match secret {
            None => Effect::Create(object),
            Some(present) => Effect::Replace {
                object,
                version: Version::of(&present.metadata),
            },
        });
        Ok(step)
    }

    fn new_token(
        &self,
        entropy: &Entropy,
        now: Timestamp,
        mut data: BTreeMap<String, SecretBytes>,
    ) -> Secret {
        let token = AuthToken::make(entropy);
        data.insert(names::TOKEN.to_owned(), token.expose().as_bytes().into());
        if let Some(lifetime) = self.0.token_lifetime {
            let expiry = (now + lifetime).unix().to_string();
            data.insert(EXPIRES.to_owned(), expiry.into_bytes().into());
        }
        sealed(self, names::AUTH_TOKEN_SECRET).write(None, data)
    }

    fn parse_stored(&self, secret: &Secret) -> Result<AuthToken, crate::crypto::TokenError> {
        AuthToken::parse(secret.get(names::TOKEN).unwrap_or_default(), &self.0.policy)
    }

    fn is_token(&self, mac: &[u8], given: &[u8]) -> bool {
        self.0.record_key.verify(TOKEN_DOMAIN, &[given], mac)
    }
}

/// When the token ends, in seconds since the Unix epoch. What cannot be read
/// has ended.
fn expiry(secret: &Secret) -> Option<i64> {
    let text = secret.get(EXPIRES)?;
    let expiry = core::str::from_utf8(text)
        .ok()
        .and_then(|text| text.parse().ok());
    Some(expiry.unwrap_or(i64::MIN))
}

const EXPIRES: &str = "expires";
const SPENT: &str = "spent";
const SPENT_BY: &str = "spentBy";
const TOKEN_DOMAIN: &str = "liqo-auth legacy token v1";
