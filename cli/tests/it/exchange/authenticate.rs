//! The whole exchange, with access to both homes.

use crate::tool::{Folder, Run};

const LINES: &str = " INFO   (local) Tenant namespace correctly ensured
 INFO   (remote) Tenant namespace correctly ensured
 INFO   (remote) Nonce secret ensured
 INFO   (remote) Nonce generated successfully
 INFO   (remote) Nonce retrieved
 INFO   (local) Signed nonce secret ensured
 INFO   (local) Nonce is signed
 INFO   (local) Signed nonce retrieved
 INFO   (local) Tenant correctly generated
 INFO   (remote) Tenant correctly applied on provider cluster
 INFO   (remote) Tenant status is filled
 INFO   (remote) Identity correctly generated
 INFO   (local) Identity correctly applied on consumer cluster
 INFO   (local) Identity status is filled
The kubeconfig is in Secret liqo-tenant-cl-provider/kubeconfig-controlplane-cl-provider: \
cl-consumer/private/liqo-tenant-cl-provider/secret.kubeconfig-controlplane-cl-provider.yaml
Print it with: liqo-auth get kubeconfig --home cl-consumer --remote-cluster-id cl-provider
";

const AUTHENTICATE: &str = "authenticate --home cl-consumer --remote-home cl-provider";

#[test]
fn it_prints_liqoctls_lines_and_says_where_the_kubeconfig_is() {
    let folder = Folder::new();
    let run = folder.run(&format!(
        "{AUTHENTICATE} --init --remote-api-server https://172.19.0.3:6443"
    ));
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    assert_eq!(run.out, LINES);
    let kubeconfig = folder.ok("get kubeconfig --home cl-consumer --remote-cluster-id cl-provider");
    assert!(
        kubeconfig.contains("    server: https://172.19.0.3:6443\n"),
        "{kubeconfig}"
    );
    assert!(kubeconfig.contains("    client-key-data: "));
}

#[test]
fn once_more_it_prints_the_same_and_changes_nothing() {
    let folder = Folder::with_homes();
    folder.ok(AUTHENTICATE);
    let before = folder.snapshot();
    assert_eq!(folder.ok(AUTHENTICATE), LINES);
    assert!(before == folder.snapshot());
    // Long after the nonce has expired, too.
    let later = format!("{AUTHENTICATE} --now 2027-01-01T00:00:00Z --write-at-this-time");
    assert_eq!(folder.ok(&later), LINES);
    assert!(before == folder.snapshot());
}

#[test]
fn homes_are_made_only_when_asked_to() {
    let folder = Folder::new();
    let error = folder.refused(AUTHENTICATE, "", 2);
    assert!(error.contains("cl-consumer is not a home"), "{error}");
}

#[test]
fn consumers_with_other_keys_authenticate() {
    for algorithm in ["rsa-2048", "ecdsa-p256", "ecdsa-p384", "ecdsa-p521"] {
        let folder = Folder::new();
        folder.ok(&format!(
            "init --home cl-consumer --key-algorithm {algorithm}"
        ));
        folder.ok("init --home cl-provider");
        assert_eq!(folder.ok(AUTHENTICATE), LINES, "{algorithm}");
        let before = folder.snapshot();
        assert_eq!(folder.ok(AUTHENTICATE), LINES, "{algorithm}");
        assert!(before == folder.snapshot(), "{algorithm}");
    }
}

#[test]
fn providers_with_other_keys_authenticate() {
    both_with(&["rsa-2048", "ecdsa-p256"]);
}

#[test]
fn providers_with_longer_curves_authenticate() {
    both_with(&["ecdsa-p384", "ecdsa-p521"]);
}

#[test]
fn a_lost_identity_comes_back_with_the_same_certificate() {
    let folder = Folder::with_homes();
    folder.ok(AUTHENTICATE);
    let kubeconfig = folder.ok("get kubeconfig --home cl-consumer --remote-cluster-id cl-provider");
    std::fs::remove_dir_all(folder.path("cl-consumer/manifests/liqo-tenant-cl-provider")).unwrap();
    assert_eq!(folder.ok(AUTHENTICATE), LINES);
    let again = folder.ok("get kubeconfig --home cl-consumer --remote-cluster-id cl-provider");
    assert_eq!(again, kubeconfig);
    assert_eq!(certificates(&folder), 1);
}

#[test]
fn a_request_that_was_signed_is_found_again() {
    let folder = Folder::with_homes();
    folder.ok(AUTHENTICATE);
    // As if the power had gone before the certificate was in its Secret.
    let secret = "cl-provider/private/liqo-tenant-cl-consumer/secret.liqo-remote-certificate.yaml";
    let certificate = |text: &str| {
        text.lines()
            .find(|line| line.contains("certificate: "))
            .map(str::to_owned)
    };
    let before = certificate(&folder.read(secret)).unwrap();
    std::fs::remove_file(folder.path(secret)).unwrap();
    folder.ok(AUTHENTICATE);
    assert_eq!(certificate(&folder.read(secret)), Some(before));
    assert_eq!(certificates(&folder), 1);
}

#[test]
fn many_at_once_make_one_certificate() {
    let folder = Folder::new();
    let runs: Vec<_> = (0..4)
        .map(|_| {
            folder
                .command(&format!("{AUTHENTICATE} --init"))
                .spawn()
                .unwrap()
        })
        .collect();
    for run in runs {
        let run = Run::of(run.wait_with_output().unwrap());
        assert_eq!((run.code, run.out.as_str()), (0, LINES), "{}", run.err);
    }
    assert_eq!(certificates(&folder), 1);
}

#[test]
fn both_directions_at_once_do_not_wait_for_each_other() {
    let folder = Folder::with_homes();
    folder.ok("set api-server https://172.19.0.2:6443 --home cl-consumer");
    let back = "authenticate --home cl-provider --remote-home cl-consumer";
    let runs: Vec<_> = [AUTHENTICATE, back, AUTHENTICATE, back]
        .map(|line| folder.command(line).spawn().unwrap())
        .into_iter()
        .collect();
    for run in runs {
        let run = Run::of(run.wait_with_output().unwrap());
        assert_eq!(run.code, 0, "{}", run.err);
    }
}

#[test]
fn a_cluster_does_not_peer_with_itself() {
    let folder = Folder::with_homes();
    let error = folder.refused(
        "authenticate --home cl-consumer --remote-home ./cl-consumer/",
        "",
        2,
    );
    assert!(error.contains("does not peer with itself"), "{error}");
}

#[test]
fn another_key_for_a_known_consumer_is_refused() {
    let folder = Folder::with_homes();
    folder.ok(AUTHENTICATE);
    folder.ok("init --home other --cluster-id cl-consumer");
    let run = folder.run("authenticate --home other --remote-home cl-provider");
    assert_eq!(run.code, 3, "{run:?}");
    assert!(
        run.err.contains("spec.publicKey") && run.err.contains(", rule 5)"),
        "{}",
        run.err
    );
    assert!(!run.out.contains("Tenant correctly applied"), "{}", run.out);
    assert_eq!(certificates(&folder), 1);
}

#[test]
fn a_proxy_that_was_asked_for_is_in_the_kubeconfig() {
    let folder = Folder::with_homes();
    folder.ok(&format!("{AUTHENTICATE} --proxy-url http://10.70.0.2:8118"));
    let kubeconfig = folder.ok("get kubeconfig --home cl-consumer --remote-cluster-id cl-provider");
    assert!(
        kubeconfig.contains("    proxy-url: http://10.70.0.2:8118\n"),
        "{kubeconfig}"
    );
}

fn certificates(folder: &Folder) -> usize {
    let names = std::fs::read_dir(folder.path("cl-provider/manifests/_cluster")).unwrap();
    names
        .filter(|name| {
            name.as_ref()
                .unwrap()
                .file_name()
                .to_string_lossy()
                .starts_with("certificatesigningrequest.")
        })
        .count()
}

fn both_with(algorithms: &[&str]) {
    for algorithm in algorithms {
        let folder = Folder::new();
        let line = format!("{AUTHENTICATE} --init --key-algorithm {algorithm}");
        assert_eq!(folder.ok(&line), LINES, "{algorithm}");
    }
}
