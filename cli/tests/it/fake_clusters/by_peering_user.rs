//! `authenticate` and `unauthenticate` with the kubeconfig of a peering user. The provider's
//! own controllers answer.

use std::{sync::atomic::Ordering, thread::sleep, time::Duration};

use liqo_auth::{
    crypto::{Entropy, Nonce, PublicKey},
    model::{Bytes, names},
    policy::Policy,
};
use serde_json::{Value, json};

use super::{Cluster, start, until};
use crate::{
    fake::{FakeApiServer, Rule},
    tool::Folder,
};

const AUTHENTICATE: &str = "authenticate --kubeconfig rome --remote-kubeconfig user";
const UNAUTHENTICATE: &str = "unauthenticate --yes --kubeconfig rome --remote-kubeconfig user";
const INVITE: &str = "create nonce --kubeconfig milan --remote-cluster-id rome";

/// Rome, milan, and milan's API server as the peering user of rome meets it.
struct Clusters {
    rome: Cluster,
    milan: Cluster,
    user: FakeApiServer,
}

impl Clusters {
    fn start(folder: &Folder) -> Self {
        let (rome, milan) = (
            Cluster::start(folder, "rome"),
            Cluster::start(folder, "milan"),
        );
        milan.has_a_signer();
        milan.server.put(json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {
                "name": "liqo-tenant-rome",
                "labels": {
                    "liqo.io/remote-cluster-id": "rome",
                    "liqo.io/tenant-namespace": "true",
                },
            },
        }));
        let user = milan.has_a_user(folder, "user", rights());
        Self { rome, milan, user }
    }

    /// What was written on both clusters so far.
    fn writes(&self) -> Vec<String> {
        [self.rome.writes(), self.milan.writes()].concat()
    }

    /// The same once the controllers of milan have written nothing for a while.
    fn settled(&self) -> Vec<String> {
        loop {
            let before = self.writes();
            sleep(Duration::from_millis(700));
            if self.writes() == before {
                return before;
            }
        }
    }

    /// Has milan offer a nonce as Liqo makes it.
    fn fill_nonce(&self) {
        let mut secret = self.milan.named("secrets", "liqo-nonce").remove(0);
        let nonce = Nonce::random(&Entropy::from_bytes([7; 32]));
        secret["data"] = json!({ "nonce": Bytes::from(nonce.as_str().as_bytes()) });
        self.milan.server.replace(&secret);
    }
}

/// The rights of Liqo's two roles for peering users that concern the authentication.
fn rights() -> Vec<Rule> {
    let tenants = "authentication.liqo.io";
    let roles = [
        json!({
            "kind": "Role",
            "metadata": { "namespace": "liqo" },
            "rules": [rule("", "configmaps", &["get", "list", "watch"])],
        }),
        json!({
            "kind": "Role",
            "metadata": { "namespace": "liqo-tenant-rome" },
            "rules": [
                rule("", "secrets", &["create", "delete", "get", "list"]),
                rule(tenants, "tenants", &["create", "delete", "get", "list", "update"]),
            ],
        }),
        // In the role, the name is that of the namespace in which it is bound.
        json!({
            "kind": "ClusterRole",
            "rules": [{
                "apiGroups": [""],
                "resources": ["namespaces"],
                "resourceNames": ["liqo-tenant-rome"],
                "verbs": ["get"],
            }],
        }),
    ];
    roles.iter().flat_map(Rule::of_role).collect()
}

fn rule(group: &str, resource: &str, verbs: &[&str]) -> Value {
    json!({ "apiGroups": [group], "resources": [resource], "verbs": verbs })
}

#[test]
fn the_controllers_of_the_provider_answer_a_peering_user() {
    let folder = Folder::new();
    let clusters = Clusters::start(&folder);
    let running = start(&folder);
    let run = folder.run(AUTHENTICATE);
    assert_eq!(run.code, 0, "{run:?}");
    let first = " INFO   (remote) By a peering user: the controllers of milan answer\n";
    assert!(run.out.starts_with(first), "{run:?}");
    assert_eq!(run.out.matches(" INFO   (").count(), 15, "{run:?}");
    for line in [
        " INFO   (local) Identity status is filled\n",
        "The kubeconfig is in Secret liqo-tenant-milan/kubeconfig-controlplane-milan",
    ] {
        assert!(run.out.contains(line), "{line}: {run:?}");
    }
    // The user cannot read milan's key, so that a person has to compare it.
    assert!(run.err.contains("which is pinned from now on"), "{run:?}");
    assert_eq!(clusters.milan.named("tenants", "rome").len(), 1);
    assert_eq!(clusters.rome.server.all("identities").len(), 1);
    // Beyond its rights, it has only tried to list.
    let tried: Vec<String> = clusters
        .user
        .forbidden()
        .iter()
        .map(|asked| format!("{asked:?}"))
        .collect();
    assert!(!tried.is_empty());
    assert!(
        tried.iter().all(|asked| asked.contains("verb: \"list\"")),
        "{tried:?}"
    );

    // Once more it changes nothing.
    let before = clusters.settled();
    for arguments in ["", " --dry-run"] {
        let run = folder.run(&format!("{AUTHENTICATE}{arguments}"));
        assert_eq!(run.code, 0, "{run:?}");
        assert!(!run.err.contains("The trial ends here"), "{run:?}");
    }
    assert_eq!(clusters.writes(), before);
    running.stop();
}

#[test]
fn the_key_that_a_person_names_is_the_only_one_that_a_provider_may_prove() {
    let folder = Folder::new();
    let clusters = Clusters::start(&folder);
    let running = start(&folder);
    folder.ok("init --home home --cluster-id rome");
    let authenticate = "authenticate --home home --remote-kubeconfig user --provider-key";
    let other = format!("SHA256:{}", "00".repeat(32));
    let run = folder.run(&format!("{authenticate} {other} --timeout 2s"));
    assert_eq!(run.code, 3, "{run:?}");
    let said = "the consumer refuses the Identity";
    assert!(run.err.contains(said), "{run:?}");

    let keys = clusters.milan.named("secrets", "authentication-keys");
    let pem = keys[0]["data"][names::PUBLIC_KEY].clone();
    let pem: Bytes = serde_json::from_value(pem).unwrap();
    let key = PublicKey::from_pem(pem.as_slice(), &Policy::compatible()).unwrap();
    let run = folder.run(&format!("{authenticate} {}", key.fingerprint()));
    assert_eq!(run.code, 0, "{run:?}");
    // Nothing is left for the person to compare.
    assert!(!run.err.contains("pinned from now on"), "{run:?}");
    running.stop();
}

#[test]
fn a_provider_without_controllers_is_waited_for_in_vain() {
    let folder = Folder::new();
    let clusters = Clusters::start(&folder);
    let authenticate = format!("{AUTHENTICATE} --timeout 1s");
    let run = folder.run(&authenticate);
    assert_eq!(run.code, 4, "{run:?}");
    for said in [
        "milan has made no nonce for rome within 1 seconds",
        "Its controllers have to run (Liqo's, or `liqo-auth run --provider`)",
        "liqo-auth create nonce --remote-cluster-id rome",
    ] {
        assert!(run.err.contains(said), "{said}: {run:?}");
    }
    let asked = clusters.milan.named("secrets", "liqo-nonce").remove(0);
    assert_eq!(asked["metadata"]["labels"]["liqo.io/nonce"], "true");

    clusters.fill_nonce();
    let run = folder.run(&authenticate);
    assert_eq!(run.code, 4, "{run:?}");
    for said in [
        "milan has not answered the Tenant of rome within 1 seconds",
        "liqo-auth approve tenant rome",
    ] {
        assert!(run.err.contains(said), "{said}: {run:?}");
    }
    assert_eq!(clusters.milan.named("tenants", "rome").len(), 1);
    // The same Tenant is written once.
    let before = clusters.writes();
    assert_eq!(folder.run(&authenticate).code, 4);
    assert_eq!(clusters.writes(), before);
}

/// Another administrator's cluster says it.
#[test]
fn the_words_of_a_provider_that_refuses_the_tenant_are_shown_as_text() {
    let folder = Folder::new();
    let clusters = Clusters::start(&folder);
    let authenticate = format!("{AUTHENTICATE} --timeout 1s");
    assert_eq!(folder.run(&authenticate).code, 4);
    clusters.fill_nonce();
    clusters.user.deny_writes(1, "no\u{1b}[2J way");
    let run = folder.run(&authenticate);
    assert_eq!(run.code, 3, "{run:?}");
    let said =
        "the admission refuses to write Tenant liqo-tenant-rome/rome, and says: no\\u{1b}[2J way";
    assert!(run.err.contains(said), "{run:?}");
    assert!(clusters.milan.server.all("tenants").is_empty());

    // A lost right is no refusal by the provider.
    clusters.user.refuse_writes(1, 403, "Forbidden");
    let run = folder.run(&authenticate);
    assert_eq!(run.code, 1, "{run:?}");
    let said = "the API server refuses to write Tenant liqo-tenant-rome/rome (403)";
    assert!(run.err.contains(said), "{run:?}");
}

#[test]
fn a_trial_as_a_peering_user_ends_at_the_controllers_of_the_provider() {
    let folder = Folder::new();
    let clusters = Clusters::start(&folder);
    let trial = format!("{AUTHENTICATE} --dry-run");
    let before = clusters.writes();
    let run = folder.run(&trial);
    assert_eq!(run.code, 0, "{run:?}");
    let end = "The trial ends here: milan's controllers would have to";
    assert!(run.err.contains(&format!("{end} make a nonce.")), "{run:?}");
    assert_eq!(clusters.writes(), before);

    folder.run(&format!("{AUTHENTICATE} --timeout 1s"));
    clusters.fill_nonce();
    let before = clusters.writes();
    let run = folder.run(&trial);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(
        run.err.contains(&format!("{end} answer the Tenant.")),
        "{run:?}"
    );
    let header =
        "+++ the cluster of --kubeconfig rome: Secret liqo-tenant-milan/liqo-signed-nonce\n";
    assert!(run.out.contains(header), "{run:?}");
    assert_eq!(clusters.writes(), before);
}

#[test]
fn a_peering_user_ends_the_peering_and_peers_again_until_the_end_is_final() {
    let folder = Folder::new();
    let clusters = Clusters::start(&folder);
    let error = folder.refused(UNAUTHENTICATE, "", 4);
    assert!(error.contains("rome and milan have no peering"), "{error}");
    let running = start(&folder);
    folder.ok(AUTHENTICATE);

    let before = clusters.settled();
    let run = folder.run(&format!("{UNAUTHENTICATE} --dry-run"));
    assert_eq!(run.code, 0, "{run:?}");
    let said = "The command would also delete the Tenant of rome at milan.";
    assert!(run.err.contains(said), "{run:?}");
    assert_eq!(clusters.writes(), before);

    let ended = folder.ok(&format!("{UNAUTHENTICATE} --wait"));
    for line in [
        " INFO   (local) Identity control plane correctly deleted\n",
        " INFO   (remote) Tenant correctly deleted\n",
    ] {
        assert!(ended.contains(line), "{line}: {ended}");
    }
    assert!(clusters.milan.server.all("tenants").is_empty());
    assert!(clusters.rome.server.all("identities").is_empty());
    until("milan has taken the rights back", || {
        clusters.milan.server.all("rolebindings").is_empty()
    });

    // The nonce serves again.
    folder.ok(AUTHENTICATE);
    assert_eq!(clusters.rome.server.all("identities").len(), 1);
    folder.ok(&format!("{UNAUTHENTICATE} --wait"));
    let finally = "unauthenticate --yes --kubeconfig milan --remote-cluster-id rome --final";
    let ended = folder.ok(finally);
    assert!(ended.contains("Tenant already deleted"), "{ended}");
    let run = folder.run(&format!("{AUTHENTICATE} --timeout 2s"));
    assert_eq!(run.code, 4, "{run:?}");
    let invite = "its administrator first invites rome: liqo-auth create nonce";
    assert!(run.err.contains(invite), "{run:?}");
    folder.ok(INVITE);
    folder.ok(AUTHENTICATE);
    assert_eq!(clusters.rome.server.all("identities").len(), 1);
    running.stop();
}

#[test]
fn other_commands_need_an_administrator_of_the_provider() {
    let folder = Folder::new();
    let clusters = Clusters::start(&folder);
    // The first command makes the keys.
    folder.ok("create nonce --kubeconfig rome --remote-cluster-id turin");
    let before = clusters.writes();
    for command in ["create resourceslice pool --cpu 2", "replicate", "renew"] {
        let error = folder.refused(
            &format!("{command} --kubeconfig rome --remote-kubeconfig user"),
            "",
            2,
        );
        let said = "this command needs an administrator of milan";
        assert!(error.contains(said), "{command}: {error}");
    }
    // A user of no cluster at all is refused as before.
    clusters.milan.has_a_user(&folder, "nobody", Vec::new());
    let error = folder.refused(&AUTHENTICATE.replace("user", "nobody"), "", 1);
    assert!(error.contains("list ConfigMaps in liqo (403)"), "{error}");
    assert_eq!(clusters.writes(), before);
}

/// A peering user cannot have it signed again.
#[test]
fn a_certificate_that_does_not_log_in_is_for_the_providers_administrator() {
    let folder = Folder::new();
    let clusters = Clusters::start(&folder);
    let (refused, _) = clusters.milan.has_logins(&clusters.rome);
    let running = start(&folder);
    folder.ok(AUTHENTICATE);
    refused.store(1, Ordering::Relaxed);
    let run = folder.run(AUTHENTICATE);
    assert_eq!(run.code, 3, "{run:?}");
    for says in [
        "the API server of milan at https://127.0.0.1:",
        "does not accept the certificate that milan has issued",
        "sign-again tenant rome --force",
    ] {
        assert!(run.err.contains(says), "{}", run.err);
    }
    running.stop();
}
