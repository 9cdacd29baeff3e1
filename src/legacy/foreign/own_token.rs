//! The cluster's own token, and the tokens that admit a request.

use std::collections::BTreeMap;

use super::{configuration::Configuration, look::Look};
use crate::{
    crypto::BoxError,
    error::{Backend, Error},
    legacy::{
        AuthToken,
        objects::token_in,
        record::{FieldSeal, origin_token_name},
    },
    machine::{Env, plan::Plan},
    model::{ClusterId, Secret, SecretBytes, Timestamp, names},
    policy::Forms,
};

/// Finds the cluster's own token, if that token is not in the Secret `auth-token`.
///
/// The returned token admits every cluster that knows it, so the token must be
/// secret. If the store does not return a token or fails, the cluster's own token admits
/// no cluster.
pub trait TokenStore: Send + Sync {
    /// The token, or `None` if no token exists.
    ///
    /// # Errors
    /// The store could not be read. An error never counts as an absent token.
    fn own_token(&self) -> Result<Option<AuthToken>, BoxError>;
}

/// How a request is admitted.
pub(super) enum Admission<'a> {
    /// The request is not admitted.
    No,
    /// The token in this Secret admits the request, and works for one home cluster
    /// only.
    Once(&'a Secret),
    /// A token that can be used again, or the empty token, admits the request.
    Yes,
}

impl<'a> Look<'a> {
    /// Whether a request of this peer with this token is admitted. The token may be
    /// any bytes.
    pub(super) fn admission(&self, given: &[u8], now: Timestamp) -> Result<Admission<'a>, Error> {
        let (configuration, observed) = (self.configuration, self.observed);
        if given.is_empty() {
            return Ok(match configuration.settings.allow_empty_token_from_anyone {
                true => Admission::Yes,
                false => Admission::No,
            });
        }
        let is_origin_token = observed.origin_token.is_some_and(|secret| {
            let seal = configuration.seal(origin_token_name(self.peer()), Some(self.peer()));
            seal.holds(secret)
                && token_in(secret, &configuration.settings.policy)
                    .is_ok_and(|token| token.matches(given))
        });
        // This home cluster has used up the token, and asks again.
        let has_spent = observed.own_token.is_some_and(|secret| {
            secret.get(SPENT_BY) == Some(self.peer().as_str().as_bytes())
                && configuration.own_token_seal().holds(secret)
                && configuration.is_token(secret.get(SPENT).unwrap_or_default(), given)
        });
        if is_origin_token || has_spent {
            return Ok(Admission::Yes);
        }
        // This home cluster showed the previous token. Its answer was lost, and it
        // asks again.
        let has_claimed = observed.claim().is_some_and(|claim| {
            !claim.is_delivered && configuration.is_token(claim.token.as_slice(), given)
        });
        match configuration.own_token(observed.own_token, now) {
            Ok(Some(token)) if token.matches(given) => Ok(match observed.own_token {
                Some(secret) if configuration.serves_once() => Admission::Once(secret),
                _ => Admission::Yes,
            }),
            _ if has_claimed => Ok(Admission::Yes),
            Ok(_) => Ok(Admission::No),
            Err(error) => Err(error),
        }
    }
}

impl Configuration {
    /// The valid token from the Secret or from the store.
    pub(super) fn own_token(
        &self,
        secret: Option<&Secret>,
        now: Timestamp,
    ) -> Result<Option<AuthToken>, Error> {
        if let Some(store) = &self.settings.token_store {
            return store
                .own_token()
                .map_err(|error| Error::backend(Backend::Tokens, error));
        }
        let Some(secret) = secret else {
            return Ok(None);
        };
        // A home cluster of 0.2 may create Secrets, so the strict policy requires a
        // seal. A token that Liqo made has no seal.
        if self.settings.policy.forms == Forms::Canonical {
            self.own_token_seal().check(secret)?;
        }
        if expiry(secret).is_some_and(|expiry| expiry <= now.unix()) {
            return Ok(None);
        }
        token_in(secret, &self.settings.policy).map(Some)
    }

    /// Makes the token, unless a valid one exists.
    pub(super) fn make_token(
        &self,
        secret: Option<&Secret>,
        env: &Env,
        plan: &mut Plan<()>,
    ) -> Result<(), Error> {
        if self.settings.token_store.is_some() {
            return Ok(());
        }
        if self.own_token(secret, env.now)?.is_some() {
            let expiry = secret.and_then(expiry);
            plan.wake_by(expiry.and_then(|expiry| Timestamp::from_unix(expiry).ok()));
        } else {
            plan.put(secret, self.new_token(env, BTreeMap::new()));
        }
        Ok(())
    }

    /// The token that replaces the one that this peer has used up.
    pub(super) fn next_token(&self, peer: &ClusterId, spent: &[u8], env: &Env) -> Secret {
        let spent = [
            (SPENT, SecretBytes::from(self.token_mac(spent).as_slice())),
            (SPENT_BY, SecretBytes::from(peer.as_str().as_bytes())),
        ];
        self.new_token(
            env,
            spent.map(|(key, value)| (key.to_owned(), value)).into(),
        )
    }

    /// A MAC by which a token is recognized.
    pub(super) fn token_mac(&self, token: &[u8]) -> [u8; 32] {
        self.record_key.mac(TOKEN_DOMAIN, &[token])
    }

    fn is_token(&self, mac: &[u8], given: &[u8]) -> bool {
        self.record_key.verify(TOKEN_DOMAIN, &[given], mac)
    }

    /// Whether the token works only once. Only a token in the Secret can be
    /// replaced.
    fn serves_once(&self) -> bool {
        self.settings.single_use_token && self.settings.token_store.is_none()
    }

    fn new_token(&self, env: &Env, mut data: BTreeMap<String, SecretBytes>) -> Secret {
        let token = AuthToken::make(&env.entropy);
        data.insert(names::TOKEN.to_owned(), token.expose().as_bytes().into());
        if let Some(lifetime) = self.settings.token_lifetime {
            let expiry = (env.now + lifetime).unix().to_string();
            data.insert(EXPIRES.to_owned(), expiry.into_bytes().into());
        }
        self.own_token_seal().seal(data)
    }

    fn own_token_seal(&self) -> FieldSeal<'_> {
        self.seal(names::AUTH_TOKEN_SECRET.to_owned(), None)
    }
}

/// When the token expires, in seconds since the Unix epoch. A time that cannot be
/// read counts as past.
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
