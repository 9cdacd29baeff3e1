//! A login at a provider, with the identity that a peering has given.

use std::{io, time::Duration};

use anyhow::Result;
use futures::{StreamExt as _, stream};
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use kube::{Api, Client, api::PostParams};
use liqo_auth::{
    model::{Kubeconfig, UserCredential},
    policy::Addresses,
};
use liqo_auth_kube::{client_within, config_of_identity};
use rustls::CertificateError;
use tokio::time::sleep;

use crate::{
    failure::Failure,
    home::{Ground, Home, with_user_agent},
};

/// What the provider's API server says to an identity.
pub(crate) enum Login {
    /// It lets the identity in, and the identity may list its slices.
    Succeeds,
    /// It lets the identity in, and gives it no rights.
    WithoutRights,
    /// It does not accept the credential.
    Fails,
    /// It was not asked, or did not answer.
    NotTried(String),
    /// It shows a certificate that is not the provider's, or not valid.
    NotTrusted(NotTrusted),
}

/// The certificate that an API server shows is not taken for that of the provider.
pub(crate) struct NotTrusted {
    pub(crate) why: Distrust,
    /// The error of the connection, in one sentence.
    pub(crate) reason: String,
}

/// What is wrong with the certificate of an API server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Distrust {
    /// The CA of the Identity has not issued it.
    Issuer,
    /// It is for other names.
    Name,
    /// It has expired, or is not valid yet.
    Time,
}

impl Home {
    /// Says that nobody has looked whether these providers let this cluster in. None in a folder:
    /// a home has no API server, so no identity of a cluster logs in at one.
    pub(crate) fn unlooked(&self, providers: &[&str]) -> Option<String> {
        let says = self.is_live() && !providers.is_empty();
        says.then(|| {
            format!(
                "Nobody has looked whether this cluster is let in by {}.",
                providers.join(", ")
            )
        })
    }

    /// Logs in at the provider's API server with the kubeconfig of a verified Identity. A home
    /// in a folder does not ask an API server.
    pub(crate) fn log_in(&self, kubeconfig: &Kubeconfig, addresses: &Addresses) -> Login {
        let Ground::Cluster(live) = &self.ground else {
            return Login::NotTried("a home does not ask an API server".to_owned());
        };
        live.runtime.block_on(login(kubeconfig, addresses))
    }

    /// Logs in at each of these, as [`log_in`](Self::log_in) at one of them. A home in a folder
    /// asks none.
    pub(crate) fn log_in_at(&self, providers: &[Kubeconfig], addresses: &Addresses) -> Vec<Login> {
        let Ground::Cluster(live) = &self.ground else {
            return Vec::new();
        };
        let logins = providers.iter().map(|provider| login(provider, addresses));
        let logins = stream::iter(logins).buffered(AT_ONCE);
        live.runtime.block_on(logins.collect())
    }
}

async fn login(kubeconfig: &Kubeconfig, addresses: &Addresses) -> Login {
    if let UserCredential::Exec(_) = &kubeconfig.credential {
        return Login::NotTried("another program gives the credential".to_owned());
    }
    match client(kubeconfig, addresses) {
        Ok(client) => tried(client, kubeconfig.namespace.as_deref()).await,
        Err(error) => Login::NotTried(Failure::from(error).to_string()),
    }
}

fn client(kubeconfig: &Kubeconfig, addresses: &Addresses) -> Result<Client> {
    let mut config = with_user_agent(config_of_identity(kubeconfig)?);
    config.connect_timeout = Some(PATIENCE);
    config.read_timeout = Some(PATIENCE);
    Ok(client_within(config, addresses)?)
}

/// Tries to log in. An API server learns of new bindings a moment later, so a login without
/// rights is tried again.
async fn tried(client: Client, namespace: Option<&str>) -> Login {
    for _ in 0..TRIES {
        match may_list_slices(client.clone(), namespace).await {
            Ok(true) => return Login::Succeeds,
            Ok(false) => sleep(PAUSE).await,
            Err(kube::Error::Api(status)) if status.code == 401 => return Login::Fails,
            Err(error) => return unanswered(error.into()),
        }
    }
    Login::WithoutRights
}

fn unanswered(error: anyhow::Error) -> Login {
    let why = error.chain().find_map(distrust);
    let reason = Failure::from(error).to_string();
    match why {
        None => Login::NotTried(reason),
        Some(why) => Login::NotTrusted(NotTrusted { why, reason }),
    }
}

/// What TLS finds wrong with the server's certificate, if that is this cause.
fn distrust(cause: &(dyn std::error::Error + 'static)) -> Option<Distrust> {
    // One of these may be in another one, of which it is no source.
    let mut inner = cause.downcast_ref::<io::Error>()?.get_ref()?;
    while let Some(error) = inner.downcast_ref::<io::Error>() {
        inner = error.get_ref()?;
    }
    let rustls::Error::InvalidCertificate(fault) = inner.downcast_ref()? else {
        return None;
    };
    Some(match fault {
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            Distrust::Name
        }
        CertificateError::Expired
        | CertificateError::ExpiredContext { .. }
        | CertificateError::NotValidYet
        | CertificateError::NotValidYetContext { .. } => Distrust::Time,
        _ => Distrust::Issuer,
    })
}

/// Whether the client may list its slices at the provider.
async fn may_list_slices(client: Client, namespace: Option<&str>) -> kube::Result<bool> {
    let review = SelfSubjectAccessReview {
        spec: SelfSubjectAccessReviewSpec {
            resource_attributes: Some(ResourceAttributes {
                group: Some("authentication.liqo.io".to_owned()),
                resource: Some("resourceslices".to_owned()),
                verb: Some("list".to_owned()),
                namespace: namespace.map(str::to_owned),
                ..ResourceAttributes::default()
            }),
            ..SelfSubjectAccessReviewSpec::default()
        },
        ..SelfSubjectAccessReview::default()
    };
    let answered = Api::all(client)
        .create(&PostParams::default(), &review)
        .await?;
    Ok(answered.status.is_some_and(|status| status.allowed))
}

/// How long the provider's API server may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// How many providers are asked at the same time.
const AT_ONCE: usize = 16;
/// How often, and after which pause, a login without rights is tried again.
const TRIES: usize = 8;
const PAUSE: Duration = Duration::from_millis(125);

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    use http::{Request, Response};
    use kube::client::Body;
    use liqo_auth::crypto::BoxError;
    use serde_json::json;
    use tower::service_fn;

    use super::*;

    /// The client of an API server with these answers, the last of which it repeats. Returns
    /// how often it was asked, too.
    fn server(answers: &'static [(u16, bool)]) -> (Client, Arc<AtomicUsize>) {
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = asked.clone();
        let service = service_fn(move |request: Request<Body>| {
            let number = counted.fetch_add(1, Ordering::Relaxed);
            let (code, allowed) = answers[number.min(answers.len() - 1)];
            async move {
                assert!(request.uri().path().ends_with("/selfsubjectaccessreviews"));
                let review = request.into_body().collect_bytes().await?;
                let review: serde_json::Value = serde_json::from_slice(&review)?;
                assert_eq!(
                    review["spec"]["resourceAttributes"],
                    json!({
                        "group": "authentication.liqo.io",
                        "resource": "resourceslices",
                        "verb": "list",
                        "namespace": "liqo-tenant-rome",
                    })
                );
                let answer = match code {
                    200 => json!({ "spec": {}, "status": { "allowed": allowed } }),
                    code => json!({ "kind": "Status", "code": code, "message": "no" }),
                };
                let answer = Response::builder()
                    .status(code)
                    .body(Body::from(serde_json::to_vec(&answer)?))?;
                Ok::<_, BoxError>(answer)
            }
        });
        (Client::new(service, "default"), asked)
    }

    async fn try_with(answers: &'static [(u16, bool)]) -> (Login, usize) {
        let (client, asked) = server(answers);
        let login = tried(client, Some("liqo-tenant-rome")).await;
        (login, asked.load(Ordering::Relaxed))
    }

    #[tokio::test]
    async fn a_login_is_what_the_api_server_answers() {
        let (login, asked) = try_with(&[(200, true)]).await;
        assert!(matches!(login, Login::Succeeds) && asked == 1);
        // New bindings count a moment later.
        let (login, asked) = try_with(&[(200, false), (200, false), (200, true)]).await;
        assert!(matches!(login, Login::Succeeds) && asked == 3);
        let (login, asked) = try_with(&[(200, false)]).await;
        assert!(matches!(login, Login::WithoutRights) && asked == 8);
        let (login, asked) = try_with(&[(401, false)]).await;
        assert!(matches!(login, Login::Fails) && asked == 1);
        let (login, asked) = try_with(&[(503, false)]).await;
        assert!(matches!(login, Login::NotTried(_)) && asked == 1);
    }
}
