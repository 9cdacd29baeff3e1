//! What a provider has answered to a renewal, and what expired at a consumer that was away.

use std::time::Duration;

use base64::{Engine, engine::general_purpose::STANDARD};
use liqo_auth::crypto::{Authority, Entropy};
use serde_json::{Value, json};

use super::{Cluster, signer::now};
use crate::tool::Folder;

const AUTHENTICATE: &str = "authenticate --kubeconfig rome --remote-kubeconfig milan";

/// rome and milan, which have authenticated, and the Renew of rome.
fn authenticated(folder: &Folder) -> (Cluster, Cluster, Value) {
    let (rome, milan) = (
        Cluster::start(folder, "rome"),
        Cluster::start(folder, "milan"),
    );
    milan.has_a_signer();
    folder.ok(AUTHENTICATE);
    let renew = rome.named("renews", "controlplane-milan").remove(0);
    (rome, milan, renew)
}

/// An answer with a certificate that begins a year before now, and is valid for so many days.
fn answer(days: u64) -> Value {
    let day = Duration::from_secs(86_400);
    let entropy = Entropy::from_bytes([9; 32]);
    let length = day * u32::try_from(days).unwrap();
    let authority = Authority::new("milan-ca", now() - day * 365, length, &entropy).unwrap();
    let certificate = STANDARD.encode(authority.ca_bundle().pem());
    json!({ "authParams": { "apiServer": "https://milan.example:6443", "signedCRT": certificate } })
}

/// An old certificate is in rome's Identity, as Liqo would store it. The Renew has this answer.
fn comes_back(rome: &Cluster, renew: &Value, of_renew: Value) {
    rome.server.patch_status(renew, of_renew).unwrap();
    let mut identity = rome.named("identities", "controlplane-milan").remove(0);
    identity["spec"]["authParams"]["signedCRT"] = answer(10)["authParams"]["signedCRT"].clone();
    identity["metadata"]["resourceVersion"].take();
    rome.server.replace(&identity);
}

/// By a kubeconfig. What a replicator carries does not need a command.
#[test]
fn what_is_refused_on_a_cluster_names_the_command_that_authenticates_again() {
    let folder = Folder::new();
    let (rome, _milan, renew) = authenticated(&folder);
    let command = "liqo-auth authenticate --kubeconfig rome --remote-kubeconfig FILE";
    let refused = |code: &str| {
        let told = folder.ok("status --kubeconfig rome -o json");
        let told: Value = serde_json::from_str(&told).unwrap();
        let refused = told["peerings"][0]["refused"][0].clone();
        assert_eq!(refused["error"]["remedy"]["code"], code, "{refused:#}");
        refused
    };
    let identity = rome.named("identities", "controlplane-milan").remove(0);
    let mut other = json!({ "authParams": identity["spec"]["authParams"].clone() });
    other["authParams"]["signedCRT"] = answer(400)["authParams"]["signedCRT"].clone();
    rome.server.patch_status(&renew, other).unwrap();
    let of_renew = refused("carryAnswer");
    assert_eq!(of_renew["command"], Value::Null);
    let advice = of_renew["error"]["advice"].as_str().unwrap();
    assert!(of_renew["text"].as_str().unwrap().ends_with(advice));

    comes_back(&rome, &renew, answer(10));
    let of_identity = refused("authenticateAgain");
    assert_eq!(of_identity["command"], command);
    let text = of_identity["text"].as_str().unwrap();
    let told = format!("`{command}` (or --remote-home DIR)");
    assert!(text.contains(&told), "{text}");
}

#[test]
fn an_expired_answer_goes_before_the_identity_comes() {
    let folder = Folder::new();
    let (rome, _milan, renew) = authenticated(&folder);
    comes_back(&rome, &renew, answer(10));
    let before = rome.writes().len();
    folder.ok(AUTHENTICATE);
    let writes = rome.writes().split_off(before);
    let place = |what: &str| writes.iter().position(|write| write.contains(what));
    let (deletes, stores) = (
        place("DELETE /apis/authentication.liqo.io/v1beta1/namespaces/liqo-tenant-milan/renews"),
        place("/identities"),
    );
    assert!(deletes.is_some() && deletes < stores, "{writes:#?}");
}

#[test]
fn no_other_renew_goes() {
    let folder = Folder::new();
    let (rome, milan, renew) = authenticated(&folder);
    let renews = || -> Vec<Value> {
        let renews = rome.server.all("renews").into_iter();
        renews.map(|it| it["metadata"]["uid"].clone()).collect()
    };
    let mut of_slice = renew.clone();
    of_slice["metadata"]["name"] = "resourceslice-pool".into();
    of_slice["metadata"]["uid"].take();
    of_slice["status"] = answer(10);
    rome.server.put(of_slice);
    let before = renews();

    // Its answer is valid.
    comes_back(&rome, &renew, answer(400));
    folder.ok(AUTHENTICATE);
    assert_eq!(renews(), before);

    // The consumer refuses the Identity.
    comes_back(&rome, &renew, answer(10));
    milan.set(&json!({ "apiServer": "https://127.0.0.1:6443" }));
    let error = folder.refused(AUTHENTICATE, "", 3);
    assert!(error.contains("rule 9"), "{error}");
    assert_eq!(renews(), before);
}
