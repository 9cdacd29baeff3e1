//! A key for each provider, and its succession.

use crate::tool::Folder;
use serde_json::Value;

const AUTHENTICATE: &str = "authenticate --home cl-consumer --remote-home cl-provider";
const ROTATE: &str = "rotate key --home cl-consumer --remote-cluster-id cl-provider";
const OWN_KEY: &str = "cl-consumer/private/liqo/secret.authentication-keys-cl-provider.yaml";

/// The key that the provider has of the consumer.
fn known_key(folder: &Folder) -> String {
    let table = folder.ok("get tenants -o wide --home cl-provider");
    let row = table
        .lines()
        .find(|line| line.starts_with("cl-consumer"))
        .unwrap();
    let key = row
        .split_whitespace()
        .find(|word| word.starts_with("SHA256:"));
    key.unwrap().to_owned()
}

/// The fingerprints that `status` prints with this title.
fn shown_keys(folder: &Folder, title: &str) -> Vec<String> {
    let status = folder.ok("status --home cl-consumer");
    let lines = status
        .lines()
        .filter(|line| line.trim_start().starts_with(title));
    let key = |line: &str| line.split_whitespace().last().unwrap().to_owned();
    lines.map(key).collect()
}

fn whole_key(folder: &Folder) -> Vec<u8> {
    std::fs::read(folder.path(OWN_KEY)).unwrap()
}

#[test]
fn each_provider_gets_a_key_of_its_own() {
    let folder = Folder::new();
    folder.ok("init --home cl-consumer --key-per-provider");
    for provider in ["cl-provider", "cl-other"] {
        folder.ok(&format!("init --home {provider}"));
        folder.ok(&format!(
            "authenticate --home cl-consumer --remote-home {provider}"
        ));
    }
    let cluster = shown_keys(&folder, "Key")[0].clone();
    let own = shown_keys(&folder, "Own key");
    assert_eq!(own.len(), 2);
    assert!(
        own[0] != own[1] && !own.contains(&cluster),
        "{cluster} {own:?}"
    );
    assert!(own.contains(&known_key(&folder)));
    // Slices and renewals are signed by the same key.
    folder.ok("create rs pool --home cl-consumer --remote-home cl-provider --cpu 1");
    folder
        .ok("renew --home cl-consumer --remote-home cl-provider --now +300d --write-at-this-time");
    let before = whole_key(&folder);
    folder.ok(AUTHENTICATE);
    assert!(before == whole_key(&folder), "another key was made");
    folder.ok("inspect --strict --now +300d --home cl-consumer cl-consumer/manifests/liqo-tenant-cl-provider/identity.resourceslice-pool.yaml");
}

#[test]
fn a_new_key_is_signed_by_the_earlier_one_and_replaces_it() {
    let folder = Folder::with_homes();
    folder.ok(AUTHENTICATE);
    let first = known_key(&folder);
    assert_eq!(shown_keys(&folder, "Key"), [first.as_str()]);
    let kubeconfig = "get kubeconfig --home cl-consumer --remote-cluster-id cl-provider";
    let before = folder.ok(kubeconfig);

    let said = folder.ok(ROTATE);
    assert!(said.contains(&first), "{said}");
    // The earlier key is in use until the provider has the new one.
    assert_eq!(folder.ok(kubeconfig), before);
    assert_eq!(known_key(&folder), first);
    folder.ok(AUTHENTICATE);
    let second = known_key(&folder);
    assert_ne!(first, second);
    assert_eq!(shown_keys(&folder, "Own key"), [second.as_str()]);
    assert_ne!(folder.ok(kubeconfig), before);
    let state: Value =
        serde_json::from_str(&folder.ok("status -o json --home cl-consumer")).unwrap();
    assert_eq!(state["peerings"][0]["phase"], "Authenticated");
    // Nothing is left to do.
    let before = folder.snapshot();
    folder.ok(AUTHENTICATE);
    assert!(before == folder.snapshot());

    // Twice without the provider: the key that the provider knows signs the last one. By
    // files.
    folder.ok(ROTATE);
    let said = folder.ok(&format!("{ROTATE} --key-algorithm ecdsa-p256"));
    assert!(said.contains("ECDSA") && said.contains(&second), "{said}");
    folder.ok("create nonce --home cl-provider --remote-cluster-id cl-consumer --replace");
    let nonce = folder.ok("get nonce --home cl-provider --remote-cluster-id cl-consumer");
    let generate = "generate tenant --home cl-consumer --remote-cluster-id cl-provider --nonce -";
    let tenant = folder.ok_with(generate, &nonce);
    assert!(tenant.contains("liqo-auth/key-succession: "), "{tenant}");
    folder.ok_with("apply --home cl-provider -f -", &tenant);
    let identity =
        folder.ok("generate identity --home cl-provider --remote-cluster-id cl-consumer");
    folder.ok_with("apply --home cl-consumer -f -", &identity);
    assert_eq!(shown_keys(&folder, "Own key"), [known_key(&folder)]);
}

/// Before the Identity comes, the consumer cannot know which key the provider has.
#[test]
fn a_key_under_way_is_not_replaced() {
    let folder = Folder::with_homes();
    let offer = |flags: &str| {
        folder.ok(&format!(
            "create nonce --home cl-provider --remote-cluster-id cl-consumer {flags}"
        ));
        let nonce = folder.ok("get nonce --home cl-provider --remote-cluster-id cl-consumer");
        let generate =
            "generate tenant --home cl-consumer --remote-cluster-id cl-provider --nonce -";
        let tenant = folder.ok_with(generate, &nonce);
        folder.ok_with("apply --home cl-provider -f -", &tenant);
    };
    // The provider knows the first key. The consumer has no Identity yet.
    offer("");
    let first = known_key(&folder);
    for _ in 0..2 {
        let said = folder.ok(ROTATE);
        assert!(said.contains(&first), "{said}");
    }
    let signed = "cl-consumer/private/liqo-tenant-cl-provider/secret.liqo-signed-nonce.yaml";
    let said = folder.ok(&format!("inspect --home cl-consumer {signed}"));
    assert!(
        said.contains("this cluster's earlier key signed the nonce"),
        "{said}"
    );
    offer("--replace");
    folder.refused(ROTATE, "", 4);
    let identity =
        folder.ok("generate identity --home cl-provider --remote-cluster-id cl-consumer");
    folder.ok_with("apply --home cl-consumer -f -", &identity);
    let second = known_key(&folder);
    assert_ne!(first, second);
    let said = folder.ok(ROTATE);
    assert!(said.contains(&second), "{said}");
}

#[test]
fn a_key_that_nobody_signed_is_refused_by_the_provider() {
    let folder = Folder::with_homes();
    folder.ok(AUTHENTICATE);
    let known = known_key(&folder);
    folder.ok(ROTATE);
    // Without the earlier key, anybody could have made this one.
    let text = folder.read(OWN_KEY);
    let kept = text
        .lines()
        .filter(|line| !line.contains("earlierPrivateKey"));
    folder.write(OWN_KEY, &(kept.collect::<Vec<_>>().join("\n") + "\n"));
    let run = folder.run(AUTHENTICATE);
    assert_eq!(run.code, 3, "{run:?}");
    assert_eq!(known_key(&folder), known);
}

#[test]
fn a_trial_shows_no_key_and_a_wrong_provider_is_refused() {
    let folder = Folder::with_homes();
    folder.ok(AUTHENTICATE);
    let before = folder.snapshot();
    let run = folder.run(&format!("{ROTATE} --dry-run"));
    assert!(run.out.contains("+  privateKey: <"), "{run:?}");
    // There is nothing to do after a trial.
    assert_eq!(run.err, "Nothing was changed (--dry-run).\n");
    assert!(before == folder.snapshot());
    let own = "rotate key --home cl-consumer --remote-cluster-id cl-consumer";
    let said = folder.refused(own, "", 2);
    assert!(said.contains("name the other cluster"), "{said}");
}

/// A provider that knew a key keeps it after the end. A key that nothing signs would keep this
/// cluster out.
#[test]
fn only_a_key_that_a_provider_knows_is_replaced() {
    let folder = Folder::with_homes();
    folder.refused(ROTATE, "", 4);
    folder.ok(AUTHENTICATE);
    let said = folder.refused(
        "rotate key --home cl-provider --remote-cluster-id cl-consumer",
        "",
        4,
    );
    assert!(
        said.contains("cl-consumer does not know a key of cl-provider"),
        "{said}"
    );
    folder.ok(ROTATE);
    folder.ok(AUTHENTICATE);
    let known = known_key(&folder);
    folder.ok("unauthenticate --yes --home cl-consumer --remote-home cl-provider");
    folder.refused(ROTATE, "", 4);
    folder.ok("create nonce --home cl-provider --remote-cluster-id cl-consumer");
    folder.ok(AUTHENTICATE);
    assert_eq!(known_key(&folder), known);
}
