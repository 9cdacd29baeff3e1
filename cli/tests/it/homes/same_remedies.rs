//! The remedy of a refusal as data, its command, and the text for people say the same.

use std::{collections::BTreeSet, fs};

use serde_json::Value;

use super::ways_out::{OF_CONSUMER, with_peering};
use crate::tool::Folder;

/// How the command of each remedy begins.
const COMMANDS: [(&str, &[&str]); 7] = [
    ("approve", &["approve tenant "]),
    ("authenticateAgain", &["authenticate "]),
    (
        "carryAnswer",
        &["generate renew ", "generate resourceslice "],
    ),
    ("carryNonce", &["generate tenant "]),
    ("carryRequest", &["apply -f FILE "]),
    ("release", &["release "]),
    ("replaceNonce", &["create nonce "]),
];

/// Compares what the status of both homes says of each refusal. Returns the codes of the remedies
/// at the consumer, and at the provider.
fn compared(folder: &Folder, time: &str) -> [Vec<String>; 2] {
    ["cl-consumer", "cl-provider"].map(|home| {
        let told = folder.ok(&format!("status --home {home} -o json {time}"));
        let told: Value = serde_json::from_str(&told).unwrap();
        let peerings = told["peerings"].as_array().unwrap().iter();
        let refused = peerings.flat_map(|peering| peering["refused"].as_array().into_iter());
        refused.flatten().map(agrees).collect()
    })
}

fn agrees(refused: &Value) -> String {
    let error = &refused["error"];
    let text = refused["text"].as_str().unwrap();
    let (_, deed) = text.split_once(error["advice"].as_str().unwrap()).unwrap();
    let Some(code) = error["remedy"]["code"].as_str() else {
        assert_eq!(refused["command"], Value::Null, "{refused:#}");
        assert_eq!(deed, "", "{refused:#}");
        return String::new();
    };
    let command = refused["command"].as_str().unwrap();
    let (_, begins) = COMMANDS.iter().find(|(of, _)| *of == code).unwrap();
    let typed = command.strip_prefix("liqo-auth ").unwrap();
    assert!(
        begins.iter().any(|begin| typed.starts_with(begin)),
        "{refused:#}"
    );
    let is_told = deed.contains(&format!("`{command}`"))
        || deed.contains(&format!("he command is {command}."));
    assert!(is_told, "{refused:#}");
    code.to_owned()
}

fn with_slice() -> Folder {
    let folder = with_peering();
    folder.ok("create resourceslice mypool --home cl-consumer --remote-home cl-provider");
    folder.ok("replicate --home cl-consumer --remote-home cl-provider");
    folder
}

/// Carries the Identity alone to the consumer.
fn carry_identity(folder: &Folder, time: &str) {
    let identity = folder.ok(&format!("generate identity {OF_CONSUMER} {time}"));
    folder.ok_with(&format!("apply --home cl-consumer -f - {time}"), &identity);
}

fn authenticate_by_files(folder: &Folder) {
    folder.ok(&format!("create nonce {OF_CONSUMER} --replace"));
    let nonce = folder.ok(&format!("get nonce {OF_CONSUMER}"));
    let generate = "generate tenant --home cl-consumer --remote-cluster-id cl-provider --nonce -";
    let tenant = folder.ok_with(generate, &nonce);
    folder.ok_with("apply --home cl-provider -f -", &tenant);
    carry_identity(folder, "");
}

fn replaced(folder: &Folder, file: &str, from: &str, to: &str) {
    let text = folder.read(file);
    assert!(text.contains(from), "{text}");
    folder.write(file, &text.replace(from, to));
}

#[test]
fn what_is_refused_for_its_time_has_the_same_remedy_in_data_and_text() {
    let folder = with_slice();
    let expired = "--now +400d --write-at-this-time";
    let [consumer, provider] = compared(&folder, expired);
    assert_eq!(consumer, ["authenticateAgain", "carryAnswer"]);
    assert_eq!(provider, Vec::<String>::new());

    let due = "--now +300d --write-at-this-time";
    folder.ok(&format!("renew --home cl-provider {due}"));
    carry_identity(&folder, due);
    assert_eq!(compared(&folder, due)[0], ["carryAnswer"]);
}

#[test]
fn what_is_refused_for_its_age_has_the_same_remedy_in_data_and_text() {
    let folder = with_slice();
    let time = "--now +1d --write-at-this-time";
    let settings = folder.read("cl-provider/home.yaml");
    folder.write(
        "cl-provider/home.yaml",
        &format!("{settings}certificateLifetime: 30d\n"),
    );
    folder.ok(&format!(
        "sign-again tenant cl-consumer --force --home cl-provider {time}"
    ));
    carry_identity(&folder, time);
    assert_eq!(compared(&folder, time)[0], ["carryAnswer"]);
}

#[test]
fn what_is_refused_after_a_change_has_the_same_remedy_in_data_and_text() {
    let folder = with_slice();
    folder.ok("set api-server https://172.19.0.4:6443 --home cl-provider");
    folder.ok("release --home cl-consumer --remote-cluster-id cl-provider --yes");
    authenticate_by_files(&folder);
    assert_eq!(compared(&folder, "")[0], ["release", "release"]);

    folder.ok("replicate --home cl-consumer --remote-home cl-provider");
    folder.ok("rotate key --home cl-consumer --remote-cluster-id cl-provider");
    authenticate_by_files(&folder);
    let [consumer, provider] = compared(&folder, "");
    let consumer: BTreeSet<String> = consumer.into_iter().collect();
    let consumer: Vec<String> = consumer.into_iter().collect();
    assert_eq!(consumer, ["carryAnswer"]);
    assert!(
        provider.contains(&"carryRequest".to_owned()),
        "{provider:?}"
    );
}

#[test]
fn what_differs_from_a_pin_has_the_same_remedy_in_data_and_text() {
    let folder = with_peering();
    let identity =
        "cl-consumer/manifests/liqo-tenant-cl-provider/identity.controlplane-cl-provider.yaml";
    replaced(&folder, identity, "172.19.0.3", "172.19.0.4");
    let tenant = "cl-provider/manifests/liqo-tenant-cl-consumer/tenant.cl-consumer.yaml";
    replaced(
        &folder,
        tenant,
        "clusterID: cl-consumer",
        "clusterID: cl-other",
    );
    let [consumer, provider] = compared(&folder, "");
    assert_eq!(consumer, ["release"]);
    assert_eq!(provider, [""]);
}

#[test]
fn a_nonce_for_others_has_the_same_remedy_in_data_and_text() {
    let folder = Folder::with_homes();
    folder.tenant();
    folder.ok("create nonce --home cl-provider --remote-cluster-id cl-other");
    let [own, others] = ["cl-consumer", "cl-other"].map(|peer| {
        let secret = format!("cl-provider/private/liqo-tenant-{peer}/secret.liqo-nonce.yaml");
        let secret = folder.read(&secret);
        let nonce = secret
            .lines()
            .find_map(|line| line.trim().strip_prefix("nonce: "));
        nonce.unwrap().to_owned()
    });
    let signed = "cl-consumer/private/liqo-tenant-cl-provider/secret.liqo-signed-nonce.yaml";
    replaced(&folder, signed, &own, &others);
    assert_eq!(compared(&folder, "")[0], ["carryNonce"]);
}

#[test]
fn what_an_administrator_decides_has_the_same_remedy_in_data_and_text() {
    let folder = Folder::new();
    folder.ok("init --home cl-consumer");
    folder.ok("init --home cl-provider --api-server https://172.19.0.3:6443 --require-approval");
    let both = "authenticate --home cl-consumer --remote-home cl-provider";
    assert_eq!(folder.run(both).code, 4);
    folder.ok("deny tenant cl-consumer --home cl-provider --reason unknown");
    assert_eq!(compared(&folder, "")[1], ["approve"]);

    folder.ok("approve tenant cl-consumer --home cl-provider");
    folder.ok(both);
    fs::remove_file(folder.path("cl-provider/records/secret.liqo-auth-provider-cl-consumer.yaml"))
        .unwrap();
    assert_eq!(compared(&folder, "")[1], ["replaceNonce"]);
}

/// A notice has the command of its remedy, and so has what the peering waits for.
#[test]
fn a_renewal_that_a_person_carries_has_the_same_remedy_in_data_and_text() {
    let folder = with_slice();
    let by_hand = "  cl-provider:\n    renewal: byHand\n";
    replaced(
        &folder,
        "cl-consumer/home.yaml",
        "  cl-provider:\n",
        by_hand,
    );
    let due = "--home cl-consumer --now +300d";
    let told = folder.ok(&format!("status {due} -o json"));
    let told: Value = serde_json::from_str(&told).unwrap();
    let waits = told["peerings"][0]["waitsFor"].as_array().unwrap();
    let waits = waits.iter().filter(|it| it["type"] == "notice");
    let waits: Vec<(&Value, &str)> = waits
        .map(|it| (&it["remedy"]["code"], it["command"].as_str().unwrap()))
        .collect();
    let take = "liqo-auth apply -f FILE --home cl-consumer";
    let ask = "liqo-auth generate resourceslice mypool --home cl-consumer --remote-cluster-id cl-provider";
    let [identity, answer] = ["carryIdentity", "carryAnswer"].map(Value::from);
    assert_eq!(waits, [(&identity, take), (&answer, ask)]);
    let carry = "this side: carry mypool to cl-provider, and its answer back";
    assert_eq!(told["peerings"][0]["waitsFor"][1]["text"], carry);
    let doctor = folder.run(&format!("doctor {due} -o json"));
    let found: Value = serde_json::from_str(&doctor.out).unwrap();
    let remedies = found["findings"].as_array().unwrap().iter();
    let remedies: Vec<&str> = remedies.filter_map(|it| it["remedy"].as_str()).collect();
    for command in [take, ask] {
        let end = format!(". The command is {command}");
        assert!(remedies.iter().any(|it| it.ends_with(&end)), "{doctor:?}");
    }
    let run = folder.run(&format!("renew {due} --write-at-this-time"));
    for command in [take, ask] {
        let told = format!(
            "carry the provider's next certificate to this cluster before that. The command is {command}."
        );
        assert!(run.err.contains(&told), "{told}: {run:?}");
    }
}
