//! Who is answered: the API server's certificate, and the user in the review.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::Request,
};
use futures::{FutureExt, future::join_all};
use liqo_auth::model::{Namespace, ResourceSlice, RoleBinding, Tenant};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair,
};
use rustls::{
    ClientConfig,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};
use serde_json::{Value, json};
use tokio::time::timeout;
use tower::ServiceExt;

use super::{
    super::{super::connections::Bodies, router},
    Fake, Found, Running, Surroundings, ready, request, reviewed, slice, tenant,
};

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority() -> Authority {
    let mut parameters = CertificateParams::default();
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(parameters, KeyPair::generate().unwrap()).unwrap()
}

/// A client with a new certificate of this authority.
fn client(webhook: &Running, authority: &Authority) -> ClientConfig {
    let key = KeyPair::generate().unwrap();
    let mut parameters = CertificateParams::default();
    parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let certificate = parameters.signed_by(&key, authority).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config = webhook.config();
    let config = config.with_client_auth_cert(vec![certificate.der().clone()], key);
    config.unwrap()
}

async fn is_answered(webhook: &Running, config: ClientConfig) -> bool {
    let review = reviewed(&request("CREATE", &tenant("rome"), &Value::Null));
    let answer = webhook.post_as(config, "/validate/tenants", review);
    answer.await.is_some_and(|(status, _)| status == 200)
}

#[tokio::test]
async fn only_the_holder_of_a_certificate_of_the_authority_is_answered() {
    let (own, other) = (authority(), authority());
    let ca = own.pem();
    let webhook = Running::start_for("webhook-clients", Fake::default(), Some(&ca)).await;
    assert!(is_answered(&webhook, client(&webhook, &own)).await);
    assert!(!is_answered(&webhook, client(&webhook, &other)).await);
    let nobody = webhook.config().with_no_client_auth();
    assert!(!is_answered(&webhook, nobody).await);

    // A later time of change, also on a file system with coarse times.
    tokio::time::sleep(Duration::from_millis(20)).await;
    std::fs::write(webhook.folder.join("client-ca.crt"), other.pem()).unwrap();
    assert!(is_answered(&webhook, client(&webhook, &other)).await);
    assert!(!is_answered(&webhook, client(&webhook, &own)).await);
}

/// A cluster that does not answer about slices with the name `held`.
#[derive(Clone, Default)]
struct Holding(Arc<AtomicUsize>);

impl Surroundings for Holding {
    fn namespace<'s>(&'s self, _: &'s str) -> Found<'s, Option<Namespace>> {
        ready(None)
    }

    fn tenants_beside<'s>(&'s self, _: &'s Tenant) -> Found<'s, Vec<Tenant>> {
        ready(Vec::new())
    }

    fn slices_named<'s>(&'s self, name: &'s str) -> Found<'s, Vec<ResourceSlice>> {
        if name == "held" {
            self.0.fetch_add(1, Ordering::Relaxed);
            return std::future::pending().boxed();
        }
        ready(Vec::new())
    }

    fn bindings<'s>(&'s self, _: &'s str) -> Found<'s, Vec<RoleBinding>> {
        ready(Vec::new())
    }
}

fn creation(name: &str, user: &str, group: &str) -> Value {
    let mut new = slice(&json!({}));
    new["metadata"]["name"] = json!(name);
    let mut review = request("CREATE", &new, &Value::Null);
    review["userInfo"] = json!({"username": user, "groups": [group, "system:authenticated"]});
    review
}

/// The response to a review, without a connection and its limits.
async fn review(webhook: &Router, request: Value) -> Value {
    let review = reviewed(&request);
    let asked = Request::post("/validate/resourceslices").body(Body::from(review));
    let answer = webhook.clone().oneshot(asked.unwrap()).await.unwrap();
    let body = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
    let review: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(review["response"]["uid"], "the-uid");
    review["response"].clone()
}

#[tokio::test]
async fn a_peer_with_too_many_reviews_is_denied_and_others_are_judged() {
    let cluster = Holding::default();
    let webhook = router(cluster.clone());
    let of_rome = (0..4).map(|_| review(&webhook, creation("held", "rome", "liqo.io")));
    let of_rome = join_all(of_rome);
    let others = async {
        while cluster.0.load(Ordering::Relaxed) < 4 {
            tokio::task::yield_now().await;
        }
        let denied = review(&webhook, creation("pool", "rome", "liqo.io")).await;
        assert_eq!(
            (&denied["allowed"], &denied["status"]["code"]),
            (&json!(false), &json!(429))
        );
        assert_eq!(denied["status"]["reason"], "TooManyRequests");
        for (user, group) in [("turin", "liqo.io"), ("kubernetes-admin", "system:masters")] {
            let judged = review(&webhook, creation("pool", user, group)).await;
            assert_eq!(judged["allowed"], true, "{user}");
        }
    };
    tokio::select! {
        _ = of_rome => panic!("the cluster has answered"),
        () = others => {}
    }
}

/// While the cluster is asked about it, the room bounds it.
#[tokio::test]
async fn a_large_review_with_a_place_lets_the_next_large_body_be_read() {
    let (bodies, unknown) = (Bodies::default(), None);
    let mut held = Vec::new();
    while let Some(Some(one)) = bodies.admit(unknown).now_or_never() {
        held.push(one);
    }
    let review = reviewed(&creation("held", "rome", "liqo.io"));
    let asked = Request::post("/validate/resourceslices").extension(held.pop().unwrap());
    let asked = asked.body(Body::from(review)).unwrap();
    let webhook = router(Holding::default());
    tokio::select! {
        _ = webhook.oneshot(asked) => panic!("the cluster has answered"),
        next = timeout(Duration::from_secs(10), bodies.admit(unknown)) => assert!(next.is_ok()),
    }
}
