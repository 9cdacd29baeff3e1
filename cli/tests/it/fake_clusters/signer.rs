//! Signs approved requests on an API server in memory, as the controller manager does.

use std::time::{Duration, SystemTime};

use liqo_auth::{
    crypto::{Authority, Entropy},
    model::{Bytes, Object, Timestamp},
};
use serde_json::{Value, json};

use crate::fake::FakeApiServer;

pub(super) async fn sign_approved(server: FakeApiServer, authority: Authority) {
    for round in (0..=u8::MAX).cycle() {
        for request in server.all("certificatesigningrequests") {
            sign(&server, &authority, &request, round);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Signs a request if it is approved and has no certificate yet.
fn sign(server: &FakeApiServer, authority: &Authority, request: &Value, round: u8) {
    let Object::CertificateSigningRequest(open) = Object::from_value(request.clone()) else {
        panic!("{request}");
    };
    if !open.status.certificate.is_empty() {
        return;
    }
    let entropy = Entropy::from_bytes([round; 32]);
    if let Some(chain) = authority.sign_approved(&open, now(), &entropy).unwrap() {
        let mut status = request["status"].clone();
        status["certificate"] = json!(Bytes::from(chain.pem()));
        // Who has made the request may have deleted it since.
        let _ = server.patch_status(request, status);
    }
}

pub(super) fn now() -> Timestamp {
    SystemTime::now().try_into().unwrap()
}
