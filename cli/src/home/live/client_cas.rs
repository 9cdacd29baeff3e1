//! The CAs by which a cluster's API server lets clients in.
//!
//! The API server publishes them for other API servers, in a ConfigMap that no peer can write. It
//! adds its CAs there and removes none, so that several API servers can share it: a CA that is
//! gone stays until it has expired, or until somebody deletes the ConfigMap, which the API server
//! then makes anew. So a CA that is missing there is trusted by no API server.

use std::{fmt::Display, time::Duration};

use futures::{FutureExt, Stream, StreamExt};
use kube::{Client, api::DynamicObject};
use liqo_auth::{
    crypto::{CaBundle, CertificateError},
    model::{Kind, Object, ObjectRef},
    policy::Policy,
};
use liqo_auth_kube::{find, follow, get};
use tokio::time::sleep;

use super::failure;
use crate::{
    failure::{Failure, Result},
    home::{Ground, Home},
};

impl Home {
    /// Reads the CAs by which a cluster's API server lets clients in. Returns why they could not
    /// be read: then they are unknown, and nothing is decided by them.
    pub(crate) fn learn_client_cas(&mut self) -> Option<String> {
        let Ground::Cluster(live) = &self.ground else {
            return None;
        };
        match live.runtime.block_on(published(&live.client)) {
            Ok(cas) => {
                self.settings.client_cas.clone_from(&cas);
                self.written_settings.client_cas = cas;
                None
            }
            Err(failure) => Some(failure.to_string()),
        }
    }
}

/// The CAs, as the API server says them now. None if it says none.
async fn published(client: &Client) -> Result<Option<CaBundle>> {
    let found = get(client, &place()).await.map_err(failure)?;
    let Some(Object::ConfigMap(config_map)) = found else {
        let unreadable = found.as_ref().and_then(Object::as_unreadable);
        return match unreadable {
            Some(unreadable) => Err(unread(&unreadable.reason)),
            None => Ok(None),
        };
    };
    let cas = config_map.data.get(KEY).map(|pem| parse(pem)).transpose();
    cas.map_err(|error| unread(&error))
}

fn unread(why: &impl Display) -> Failure {
    Failure::at_odds(format!("{}: {why}", place()))
}

/// The API server's ConfigMap. Everybody who verifies its clients as well may read it, by the
/// Role `extension-apiserver-authentication-reader`.
fn place() -> ObjectRef {
    ObjectRef::new(
        Kind::ConfigMap,
        "kube-system",
        "extension-apiserver-authentication",
    )
}

/// The CAs, as they are now and after each change, from when the account may read them. None
/// while they are unknown.
pub(super) fn over_time(client: &Client) -> impl Stream<Item = Option<CaBundle>> {
    let followed = client.clone();
    let states = may_read(client.clone()).into_stream();
    let states = states.flat_map(move |()| follow(&followed, &place()));
    states.map(|shown| shown.as_ref().and_then(client_cas))
}

/// Waits until the account may read the ConfigMap. A watch that is refused would be logged at
/// each attempt.
async fn may_read(client: Client) {
    // An API server that has just started may not know the account's rights yet.
    let mut pause = Duration::from_secs(1);
    let mut is_said = false;
    while let Err(error) = find(&client, &place()).await {
        if !error.is_forbidden() {
            return;
        }
        if !is_said {
            tracing::warn!(%error, "the client CAs are not read: no certificate is compared with them");
            is_said = true;
        }
        sleep(pause).await;
        pause = LONGEST_PAUSE.min(2 * pause);
    }
}

/// The CAs in the API server's ConfigMap. None if it does not say them, or not readably.
fn client_cas(config_map: &DynamicObject) -> Option<CaBundle> {
    read(config_map.data.pointer("/data")?.get(KEY)?.as_str()?)
}

fn read(pem: &str) -> Option<CaBundle> {
    let cas = parse(pem).inspect_err(|error| {
        tracing::warn!(object = %place(), %error, "the client CAs cannot be read: no certificate is compared with them");
    });
    cas.ok()
}

fn parse(pem: &str) -> Result<CaBundle, CertificateError> {
    CaBundle::from_pem(pem.as_bytes(), &Policy::compatible())
}

const LONGEST_PAUSE: Duration = Duration::from_secs(5 * 60);
/// The file that `--client-ca-file` names.
const KEY: &str = "client-ca-file";

#[cfg(test)]
mod tests {
    use liqo_auth::crypto::{Authority, Entropy};
    use serde_json::json;

    use super::*;

    #[test]
    fn the_cas_are_those_of_the_api_server() {
        let now = "2026-11-20T13:00:00Z".parse().unwrap();
        let entropy = Entropy::from_bytes([1; 32]);
        let ca = Authority::new("ca", now, Duration::from_secs(60), &entropy).unwrap();
        let said = |data: serde_json::Value| {
            let object = json!({
                "metadata": { "name": place().name, "namespace": place().namespace },
                "data": data,
            });
            client_cas(&serde_json::from_value(object).unwrap())
        };
        let pem = core::str::from_utf8(ca.ca_bundle().pem()).unwrap();
        let data = json!({ KEY: pem, "requestheader-client-ca-file": "another" });
        assert_eq!(said(data).as_ref(), Some(ca.ca_bundle()));
        for data in [json!({}), json!({ KEY: "no CA" }), json!(null)] {
            assert_eq!(said(data), None);
        }
    }
}
