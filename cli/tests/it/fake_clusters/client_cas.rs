//! The CA by which the provider's API server lets clients in is replaced.

use std::{sync::atomic::Ordering, thread, time::Duration};

use liqo_auth::crypto::{Authority, Entropy};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::{Cluster, signer, start, start_as, until};
use crate::{
    fake::{FakeApiServer, Rule},
    tool::Folder,
};

const AUTHENTICATE: &str = "authenticate --kubeconfig rome --remote-kubeconfig milan";

#[test]
fn the_controllers_have_signed_anew_what_no_client_ca_has_signed() {
    let folder = Folder::new();
    let (milan, _rome) = clusters(&folder);
    let (first, second) = (ca(1), ca(2));
    let signs = milan.signs_with(1);
    milan.trusts(&[&first]);
    let running = start(&folder);
    folder.ok(AUTHENTICATE);
    folder.ok("create resourceslice mypool --kubeconfig rome --remote-kubeconfig milan");
    let before = milan.certificates();
    a_second_later();
    signs.abort();
    let _signs = milan.signs_with(2);
    milan.trusts(&[&first, &second]);
    until("both CAs are compared with", || {
        folder.read("log").matches("have changed").count() >= 2
    });
    assert_eq!(milan.certificates(), before);

    milan.trusts(&[&second]);
    until("the certificates are signed anew", || {
        let now = milan.certificates();
        now.iter().zip(&before).all(|(now, before)| now != before)
    });
    let after = milan.certificates();
    // A person who could not log in any more gets the next one.
    folder.ok(AUTHENTICATE);
    assert_eq!(milan.certificates(), after);
    let identity = folder.ok("get identities -o json --kubeconfig rome");
    assert!(identity.contains(&after[0]), "{identity}");
    running.stop();
}

/// As on a cluster whose administrator has not bound Kubernetes' own Role.
#[test]
fn without_the_right_to_read_them_the_controllers_go_on_and_say_so_once() {
    let folder = Folder::new();
    let (milan, _rome) = clusters(&folder);
    let _signs = milan.signs_with(1);
    milan.trusts(&[&ca(2)]);
    let server = milan.has_a_user(&folder, "account", all_but_the_client_cas());
    let running = start_as(&folder, "--kubeconfig account --provider");
    folder.ok(AUTHENTICATE);
    until("they say it", || {
        folder.read("log").contains("client CAs are not read")
    });
    let before = milan.certificates();
    until("it is tried three times", || {
        let requests = server.requests();
        let tried = requests.iter().filter(|it| it.contains("/kube-system/"));
        tried.count() >= 3
    });
    assert_eq!(milan.certificates(), before);
    let log = folder.read("log");
    let said = log
        .lines()
        .filter(|line| line.contains("extension-apiserver-authentication"));
    assert_eq!(said.count(), 1, "{log}");
    running.stop();
}

#[test]
fn a_set_that_cannot_be_read_decides_nothing_and_is_named() {
    let folder = Folder::new();
    let (milan, _rome) = clusters(&folder);
    let _signs = milan.signs_with(1);
    milan.trusts(&["no certificate"]);
    let running = start(&folder);
    until("it is named", || {
        folder.read("log").contains("client CAs cannot be read")
    });
    folder.ok(AUTHENTICATE);
    assert_eq!(milan.requests(), 1);
    running.stop();
}

#[test]
fn doctor_names_a_signer_that_the_api_server_does_not_trust() {
    let folder = Folder::new();
    let (milan, _rome) = clusters(&folder);
    let _signs = milan.signs_with(1);
    folder.ok(AUTHENTICATE);
    folder.ok("create resourceslice mypool --kubeconfig rome --remote-kubeconfig milan");
    folder.ok("doctor --kubeconfig milan");
    milan.trusts(&[&ca(1)]);
    folder.ok("doctor --kubeconfig milan");
    milan.trusts(&[&ca(2)]);
    let found = folder.run("doctor --kubeconfig milan");
    assert_eq!(found.code, 4, "{found:?}");
    for says in [
        "the API server does not accept the certificate",
        "sign-again tenant rome --force --kubeconfig milan",
        "sign-again resourceslice mypool --kubeconfig milan --remote-cluster-id rome --force",
    ] {
        assert!(found.out.contains(says), "{}", found.out);
    }
}

#[test]
fn status_names_what_no_client_ca_has_issued_and_renew_has_it_signed_again() {
    let folder = Folder::new();
    let (milan, _rome) = clusters(&folder);
    let mut signs = milan.signs_with(1);
    folder.ok(AUTHENTICATE);
    folder.ok("create resourceslice mypool --kubeconfig rome --remote-kubeconfig milan");
    let names = || {
        let status = folder.run("status --kubeconfig milan");
        assert_eq!(status.code, 0, "{status:?}");
        let warnings = status.err.lines();
        let warnings = warnings.filter(|it| it.contains("the API server does not accept"));
        (warnings.count(), status.out.matches(" now").count())
    };
    assert_eq!(names(), (0, 0));
    let ways = [
        "renew --kubeconfig milan",
        "renew --kubeconfig rome --remote-kubeconfig milan",
        "renew --kubeconfig milan --remote-kubeconfig rome",
    ];
    for (number, way) in (2..).zip(ways) {
        let before = milan.certificates();
        a_second_later();
        signs.abort();
        signs = milan.signs_with(number);
        milan.trusts(&[&ca(number)]);
        assert_eq!(names(), (2, 2), "{way}");
        assert_eq!(milan.certificates(), before);
        let renewed = folder.ok(way);
        assert!(
            renewed.matches(": renewed, until").count() >= 2,
            "{renewed}"
        );
        let after = milan.certificates();
        let mut both = after.iter().zip(&before);
        assert!(both.all(|(after, before)| after != before), "{way}");
        assert_eq!(names(), (0, 0), "{way}");
    }
}

#[test]
fn doctor_says_that_it_may_not_look_at_the_client_cas() {
    let folder = Folder::new();
    let (milan, rome) = clusters(&folder);
    let _signs = milan.signs_with(1);
    folder.ok(AUTHENTICATE);
    milan.trusts(&[&ca(2)]);
    let _server = milan.has_a_user(&folder, "account", all_but_the_client_cas());
    let says = |kubeconfig: &str| {
        let run = folder.run(&format!("doctor --kubeconfig {kubeconfig}"));
        assert_ne!(run.code, 1, "{run:?}");
        let says = "lets clients in could not be looked at";
        (run.code, run.err.matches(says).count())
    };
    assert_eq!(says("account"), (0, 1));
    assert_eq!(says("milan"), (4, 0));
    let before = milan.certificates();
    folder.ok("renew --kubeconfig account");
    assert_eq!(milan.certificates(), before);
    milan.trusts(&["no certificate"]);
    assert_eq!(says("milan"), (0, 1));
    // A consumer has nothing to compare.
    rome.trusts(&["no certificate"]);
    assert_eq!(says("rome"), (0, 0));
}

/// The refused login alone shows it: the API server keeps an earlier CA in its ConfigMap.
#[test]
fn a_certificate_that_does_not_log_in_is_signed_again() {
    let folder = Folder::new();
    let (milan, rome) = clusters(&folder);
    let signs = milan.signs_with(1);
    let (logins, mut settings) = milan.has_logins(&rome);
    let authenticated = folder.ok(AUTHENTICATE);
    assert!(authenticated.contains("Logged in"), "{authenticated}");
    folder.ok("create resourceslice mypool --kubeconfig rome --remote-kubeconfig milan");
    settings["slices"] = json!({ "defaultClass": false });
    milan.set(&settings);
    folder.ok("create resourceslice other --kubeconfig rome --remote-kubeconfig milan");
    let before = milan.certificates();
    a_second_later();
    signs.abort();
    let signs = milan.signs_with(2);
    logins.store(1, Ordering::Relaxed);
    let again = folder.ok(AUTHENTICATE);
    for says in [
        "Certificate signed again",
        "Logged in",
        "1 slice certificate signed again",
    ] {
        assert!(again.contains(says), "{again}");
    }
    let after = milan.certificates();
    let is_new: Vec<bool> = after.iter().zip(&before).map(|(a, b)| a != b).collect();
    assert_eq!(is_new, [true, true, false]);
    let identity = folder.ok("get identities -o json --kubeconfig rome");
    assert!(identity.contains(&after[0]), "{identity}");

    // The signer is none of the API server's either.
    a_second_later();
    logins.store(2, Ordering::Relaxed);
    let run = folder.run(AUTHENTICATE);
    assert_eq!(run.code, 3, "{run:?}");
    assert!(
        run.err.contains("accepts neither the certificate"),
        "{run:?}"
    );
    assert!(
        run.err.contains("put the CA of its signer among"),
        "{run:?}"
    );
    assert_eq!(milan.certificates()[1..], after[1..]);

    // The signer fails.
    signs.abort();
    milan.runtime.spawn(fails(milan.server.clone()));
    logins.store(1, Ordering::Relaxed);
    let run = folder.run(AUTHENTICATE);
    assert_eq!(run.code, 3, "{run:?}");
    assert!(run.err.contains("was denied: \"no CA\""), "{run:?}");
}

async fn fails(server: FakeApiServer) {
    loop {
        for request in server.all("certificatesigningrequests") {
            let mut status = request["status"].clone();
            if status["certificate"].is_null() {
                let failed = json!({ "type": "Failed", "status": "True", "message": "no CA" });
                status["conditions"] = json!([failed]);
                let _ = server.patch_status(&request, status);
            }
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A certificate that ends in the same second takes the place of none.
fn a_second_later() {
    thread::sleep(Duration::from_millis(1100));
}

fn clusters(folder: &Folder) -> (Cluster, Cluster) {
    let milan = Cluster::start(folder, "milan");
    milan.set(&json!({ "apiServer": "https://milan.example:6443", "apiServerCA": ca(1) }));
    (milan, Cluster::start(folder, "rome"))
}

/// All CAs have the name of kubeadm's.
fn authority(number: u8) -> Authority {
    let entropy = Entropy::from_bytes([number; 32]);
    let year = Duration::from_secs(31_536_000);
    Authority::new("kubernetes", signer::now(), 2 * year, &entropy).unwrap()
}

fn ca(number: u8) -> String {
    let authority = authority(number);
    String::from_utf8(authority.ca_bundle().pem().to_vec()).unwrap()
}

impl Cluster {
    /// The signer uses this CA from now on.
    fn signs_with(&self, number: u8) -> JoinHandle<()> {
        let signing = signer::sign_approved(self.server.clone(), authority(number));
        self.runtime.spawn(signing)
    }

    /// The API server lets clients of these CAs in.
    fn trusts(&self, cas: &[&str]) {
        if self.named("namespaces", "kube-system").is_empty() {
            self.server.put(json!({
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": { "name": "kube-system" },
            }));
        }
        let config_map = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": "extension-apiserver-authentication",
                "namespace": "kube-system",
            },
            "data": { "client-ca-file": cas.concat() },
        });
        if !self
            .named("configmaps", "extension-apiserver-authentication")
            .is_empty()
        {
            self.server.delete(&config_map);
        }
        self.server.put(config_map);
    }

    /// The certificates of rome and of its slices, by name.
    fn certificates(&self) -> Vec<String> {
        let objects = [
            self.server.all("tenants"),
            self.server.all("resourceslices"),
        ];
        let objects = objects.iter().flatten();
        let certificate = |object: &Value| {
            let text = object.pointer("/status/authParams/signedCRT");
            text.and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        objects.map(certificate).collect()
    }

    /// The number of requests to the signer.
    fn requests(&self) -> usize {
        self.server.all("certificatesigningrequests").len()
    }
}

/// What the controllers of a provider may do, but for the ConfigMaps outside of Liqo's namespace.
pub(super) fn all_but_the_client_cas() -> Vec<Rule> {
    let verbs = [
        "approve", "bind", "create", "delete", "get", "list", "patch", "update", "watch",
    ];
    let groups = [
        "",
        "authentication.liqo.io",
        "certificates.k8s.io",
        "events.k8s.io",
        "offloading.liqo.io",
        "rbac.authorization.k8s.io",
        "storage.k8s.io",
    ];
    let resources = [
        "certificatesigningrequests",
        "certificatesigningrequests/approval",
        "clusterrolebindings",
        "clusterroles",
        "events",
        "identities",
        "namespacemaps",
        "namespaces",
        "renews",
        "renews/status",
        "resourceslices",
        "resourceslices/status",
        "rolebindings",
        "secrets",
        "signers",
        "storageclasses",
        "tenants",
        "tenants/status",
    ];
    let role = |kind: &str, resources: &[&str]| {
        let rules = [json!({ "apiGroups": groups, "resources": resources, "verbs": verbs })];
        let role = json!({ "kind": kind, "metadata": { "namespace": "liqo" }, "rules": rules });
        Rule::of_role(&role)
    };
    [
        role("ClusterRole", &resources),
        role("Role", &["configmaps"]),
    ]
    .concat()
}
