//! What `inspect` says of documents, alone and together.

use std::fs;

use crate::tool::{Folder, inspected, openssl, vector, with_files};
use serde_json::Value;

fn texts(value: &Value) -> Vec<&str> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|text| text.as_str().unwrap())
        .collect()
}

#[test]
fn a_nonce_in_a_file_of_its_own_verifies_a_tenant() {
    let folder = with_files();
    for (consumer, says) in [
        ("cl-consumer", "the key signed the nonce in nonce.txt"),
        ("cl-other", "it is over none of the nonces in these files"),
    ] {
        if consumer == "cl-other" {
            folder.ok("create nonce --home cl-provider --remote-cluster-id cl-other");
        }
        let get = format!("get nonce --home cl-provider --remote-cluster-id {consumer}");
        folder.write("nonce.txt", &folder.ok(&get));
        let shown = folder.ok("inspect tenant.yaml nonce.txt");
        assert!(shown.contains(says), "{shown}");
    }
}

/// The person who applies a Tenant sees which key it brings.
#[test]
fn who_applies_a_tenant_is_told_which_fingerprint_to_compare() {
    let folder = Folder::with_homes();
    folder.write("tenant.yaml", &folder.tenant());
    let run = folder.run("apply --home cl-provider -f tenant.yaml");
    let inspected = folder.ok("inspect tenant.yaml");
    let (_, key) = inspected.rsplit_once("SHA256:").unwrap();
    let says = format!(
        "Compare the fingerprint of its key with cl-consumer's administrator, by phone: SHA256:{key}"
    );
    assert!(run.err.ends_with(&says), "{run:?}");
}

#[test]
fn a_principal_is_no_consumer_with_or_without_a_home() {
    let folder = Folder::new();
    folder.ok("init --home cl-provider");
    let error = folder.run("init --home kubernetes-admin").err;
    assert!(
        error.contains("a Kubernetes user or group is already named \"kubernetes-admin\" (rule 7). Choose another ID with --cluster-id"),
        "{error}"
    );
    assert!(!folder.path("kubernetes-admin").exists());
    // A home whose ID was changed by hand makes such a Tenant.
    folder.ok("init --home cl-evil");
    for file in [
        "cl-evil/home.yaml",
        "cl-evil/manifests/liqo/configmap.liqo-clusterid-configmap.yaml",
    ] {
        let text = folder.read(file);
        folder.write(file, &text.replace("cl-evil", "kubernetes-admin"));
    }
    let nonce = fs::read_to_string(vector("liqo-1.2.0/by-hand/get-nonce.txt")).unwrap();
    let tenant = folder.ok_with(
        "generate tenant --home cl-evil --remote-cluster-id cl-provider --nonce -",
        &nonce,
    );
    folder.write("tenant.yaml", &tenant);
    for home in ["", "--home cl-provider"] {
        let (code, value) = inspected(&folder, &format!("tenant.yaml {home}"));
        assert_eq!(code, 3, "{value}");
        let report = &value["objects"][0];
        assert_eq!(texts(&report["verified"]), [""; 0]);
        assert!(texts(&report["wrong"])[0].contains(", rule 7)"), "{value}");
        assert_eq!(value["verdict"]["apply"], "no");
    }
}

#[test]
fn a_key_and_a_certificate_are_explained_and_not_shown() {
    let folder = Folder::new();
    openssl(
        &folder,
        "req -x509 -newkey ed25519 -nodes -days 9 -subj /O=liqo.io/CN=cl-a -keyout key.pem -out crt.pem",
    );
    let (key, certificate) = (folder.read("key.pem"), folder.read("crt.pem"));
    folder.write("both.pem", &format!("{key}{certificate}"));
    let (code, value) = inspected(&folder, "both.pem");
    assert_eq!(code, 0, "{value}");
    assert_eq!(value["objects"][0]["object"], "PRIVATE KEY both.pem");
    assert_eq!(
        texts(&value["objects"][1]["verified"]),
        ["the private key is that of the certificate"]
    );
    assert!(!value.to_string().contains(key.lines().nth(1).unwrap()));
    folder.ok("init --home cl-b");
    let error = folder.refused("apply --home cl-b -f both.pem", "", 3);
    assert!(
        error.contains("It is a certificate with its private key"),
        "{error}"
    );
}

#[test]
fn an_identity_is_judged_by_its_certificate_and_not_by_its_namespace() {
    let folder = with_files();
    let identity = folder.read("identity.yaml");
    folder.write(
        "elsewhere.yaml",
        &identity.replace("namespace: liqo-tenant-cl-consumer", "namespace: tenants"),
    );
    let (code, value) = inspected(&folder, "elsewhere.yaml");
    assert_eq!(code, 0, "{value}");
    let open = texts(&value["objects"][0]["notVerified"]).join("\n");
    for part in [
        "the namespace tenants: it is not the default one",
        "is the API server of cl-provider",
        "the provider's proof of its key",
        "whether the certificate carries this cluster's key",
    ] {
        assert!(open.contains(part), "{part}: {open}");
    }
    assert_eq!(value["verdict"]["apply"], "after-comparison");
    assert!(folder.run("inspect elsewhere.yaml --strict").code == 3);

    let proxied = identity.replace(
        "    apiServer: https://172.19.0.3:6443\n",
        "    apiServer: https://172.19.0.3:6443\n    proxyURL: http://10.0.0.9:8118\n",
    );
    assert_ne!(proxied, identity);
    folder.write("proxied.yaml", &proxied);
    let (_, value) = inspected(&folder, "proxied.yaml");
    let open = texts(&value["objects"][0]["notVerified"]).join("\n");
    assert!(open.contains("the proxy http://10.0.0.9:8118"), "{value}");
    let (code, _) = inspected(&folder, "proxied.yaml --home cl-consumer");
    assert_eq!(code, 3);
}

#[test]
fn documents_that_belong_together_are_judged_together() {
    let folder = with_files();
    let nonce = "cl-provider/private/liqo-tenant-cl-consumer/secret.liqo-nonce.yaml";
    let (code, value) = inspected(&folder, &format!("tenant.yaml -f identity.yaml {nonce}"));
    assert_eq!(code, 0, "{value}");
    let verified: Vec<String> = value["objects"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|report| texts(&report["verified"]))
        .map(str::to_owned)
        .collect();
    for part in [
        "the key signed the nonce in Secret liqo-tenant-cl-consumer/liqo-nonce",
        "the certificate carries the key of Tenant liqo-tenant-cl-consumer/cl-consumer",
    ] {
        assert!(verified.iter().any(|text| text == part), "{part}: {value}");
    }
    assert_eq!(
        folder
            .ok(&format!("inspect tenant.yaml {nonce}"))
            .lines()
            .last(),
        Some("Apply it.")
    );
    // Another key than the Tenant's.
    folder.ok("init --home cl-other");
    let tenant = folder.read("tenant.yaml");
    let line = |text: &str| {
        text.lines()
            .find(|line| line.contains("publicKey: "))
            .unwrap()
            .to_owned()
    };
    folder.ok("create nonce --home cl-provider --remote-cluster-id cl-other");
    let other = folder.ok("get nonce --home cl-provider --remote-cluster-id cl-other");
    let other = folder.ok_with(
        "generate tenant --home cl-other --remote-cluster-id cl-provider --nonce -",
        &other,
    );
    folder.write("mixed.yaml", &tenant.replace(&line(&tenant), &line(&other)));
    let (code, value) = inspected(&folder, "identity.yaml mixed.yaml");
    assert_eq!(code, 3);
    assert!(
        texts(&value["objects"][0]["wrong"])[0].contains("another key than the Tenant"),
        "{value}"
    );
    assert_eq!(value["verdict"]["apply"], "no");
}

#[test]
fn foreign_clusters_of_liqo_are_no_faults() {
    let folder = Folder::new();
    let file = vector("liqo-1.2.0/exchange/1-authenticated/cluster-b/foreignclusters.yaml");
    let (code, value) = inspected(&folder, &file.display().to_string());
    assert_eq!(code, 0, "{value}");
    assert_eq!(value["objects"][0]["object"], "ForeignCluster cluster-a");
    let facts = value["objects"][0]["facts"].to_string();
    assert!(facts.contains("AuthTenantStatus: Ready"), "{facts}");
    folder.write(
        "pod.yaml",
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: x\n",
    );
    let out = folder.ok("inspect pod.yaml");
    assert_eq!(out, "Pod x\n  Kind            not part of the exchange\n");
}

#[test]
fn the_key_of_a_tenant_says_which_liqo_reads_it() {
    for (algorithm, needs) in [("ed25519", false), ("rsa-2048", true)] {
        let folder = Folder::new();
        folder.ok(&format!(
            "init --home cl-consumer --key-algorithm {algorithm}"
        ));
        folder.ok("init --home cl-provider");
        folder.write("tenant.yaml", &folder.tenant());
        let printed = folder.ok("inspect tenant.yaml --home cl-provider");
        assert_eq!(printed.contains("Liqo 1.0.2 or later"), needs, "{printed}");
    }
}

/// Whoever wrote it there: a peer, or an administrator.
#[test]
fn no_url_is_shown_with_its_password() {
    let folder = with_files();
    folder.ok("apply --home cl-consumer -f identity.yaml");
    let of_consumer = "--home cl-consumer --remote-cluster-id cl-provider";
    let kubeconfig = folder.ok(&format!("get kubeconfig {of_consumer}"));
    let (login, proxy) = ("https://a:Sesame@", "http://a:Sesame@10.70.0.2:8118");
    let with_login = |text: &str| text.replace("https://", login);
    let with_proxy = |text: &str, place: &str, field: &str| {
        let text = with_login(text);
        assert!(text.contains(place), "{text}");
        text.replacen(place, &format!("{place}{field}: {proxy}\n"), 1)
    };
    let of_identity = ("authParams:\n", "    proxyURL");
    let (identity, tenant) = (folder.read("identity.yaml"), folder.read("tenant.yaml"));
    folder.write(
        "identity.yaml",
        &with_proxy(&identity, of_identity.0, of_identity.1),
    );
    folder.write("tenant.yaml", &with_proxy(&tenant, "spec:\n", "  proxyURL"));
    folder.write(
        "kubeconfig",
        &with_proxy(&kubeconfig, "- cluster:\n", "    proxy-url"),
    );
    let answered = |kind: &str, spec: &str| {
        format!(
            "apiVersion: authentication.liqo.io/v1beta1\nkind: {kind}\nmetadata: {{name: x, namespace: liqo-tenant-cl-provider}}\nspec: {{consumerClusterID: cl-consumer, {spec}}}\nstatus: {{authParams: {{apiServer: '{login}172.19.0.3:6443', ca: '', signedCRT: ''}}}}\n"
        )
    };
    folder.write(
        "slice.yaml",
        &answered(
            "ResourceSlice",
            "providerClusterID: cl-provider, class: default",
        ),
    );
    folder.write(
        "renew.yaml",
        &answered("Renew", "identityType: ControlPlane"),
    );
    for (file, times) in [
        ("identity.yaml", 2),
        ("tenant.yaml", 1),
        ("kubeconfig", 2),
        ("slice.yaml", 1),
        ("renew.yaml", 1),
    ] {
        let run = folder.run(&format!("inspect {file}"));
        assert_eq!(run.out.matches("://***@").count(), times, "{run:?}");
        assert!(!format!("{run:?}").contains("Sesame"), "{run:?}");
    }

    let stored =
        "cl-consumer/manifests/liqo-tenant-cl-provider/identity.controlplane-cl-provider.yaml";
    folder.write(stored, &with_login(&folder.read(stored)));
    let stored = "cl-provider/manifests/liqo-tenant-cl-consumer/tenant.cl-consumer.yaml";
    folder.write(
        stored,
        &with_proxy(&folder.read(stored), "spec:\n", "  proxyURL"),
    );
    for command in [
        "identities --home cl-consumer",
        "kubeconfigs --home cl-consumer",
        "tenants --home cl-provider",
    ] {
        let run = folder.run(&format!("get {command} -o wide"));
        assert!(run.out.contains("://***@"), "{run:?}");
        assert!(!format!("{run:?}").contains("Sesame"), "{run:?}");
    }
}
