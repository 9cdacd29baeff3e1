//! `status` and `inspect`: what there is, for people and for programs.

use crate::tool::{Folder, vector};
use base64::Engine;

const NOW: &str = "--now 2026-11-20T13:00:00Z --write-at-this-time";

#[test]
fn a_home_at_a_glance() {
    let folder = Folder::new();
    for home in ["cl-consumer", "cl-provider"] {
        folder.ok(&format!("init --home {home} {NOW}"));
    }
    let run = folder.run("status --home cl-provider");
    assert!(
        run.out
            .starts_with("Cluster cl-provider\n  Key             Ed25519, SHA256:")
    );
    assert_eq!(run.err, "No peer.\n");
    folder.ok(&format!(
        "create nonce --home cl-provider --remote-cluster-id cl-consumer {NOW}"
    ));
    let status = folder.ok(&format!("status --home cl-provider {NOW}"));
    assert!(
        status.contains("cl-consumer   consumer   AwaitsTenant   -           -             -         cl-consumer: its Tenant\n"),
        "{status}"
    );
    // A peer that has said nothing has no line among the versions.
    let wide = folder.ok(&format!("status --home cl-provider -o wide {NOW}"));
    assert!(!wide.contains("MAY RUN"), "{wide}");
    let json = folder.ok(&format!("status --home cl-provider -o json {NOW}"));
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    let peering = &value["peerings"][0];
    assert_eq!(peering["nonceUntil"], "2026-11-21T13:00:00Z");
    assert_eq!(
        peering["waitsFor"],
        serde_json::json!([{
            "type": "tenant", "from": "peer", "text": "cl-consumer: its Tenant",
        }])
    );
    folder.ok(&format!(
        "authenticate --home cl-consumer --remote-home cl-provider {NOW}"
    ));
    folder.ok(&format!(
        "create rs mypool --home cl-consumer --remote-home cl-provider {NOW}"
    ));
    let status = folder.ok(&format!("status --home cl-consumer {NOW}"));
    for line in [
        "PEER          IS         PHASE           CONDITION   CERTIFICATE   RENEWED   WAITS FOR\n",
        "cl-provider   provider   Authenticated   -           365d          in 243d   -\n",
        "SLICE    PEER          IS         AUTHENTICATION   RESOURCES   CORDONED   CERTIFICATE   RENEWED\n",
        "mypool   cl-provider   provider   Accepted         Accepted    no         365d          in 243d\n",
    ] {
        assert!(status.contains(line), "{line}: {status}");
    }
    // What the peer may run is a guess. So it is shown only to those who ask for all.
    let versions = "PEER          IS         MAY RUN\ncl-provider   provider   this library\n";
    assert!(!status.contains("MAY RUN"), "{status}");
    let status = folder.ok(&format!("status --home cl-consumer -o wide {NOW}"));
    assert!(status.contains(versions), "{status}");
    let status = folder.ok(&format!("status --home cl-provider {NOW}"));
    for line in [
        "cl-consumer   consumer   Authenticated   Active      365d          in 243d   -\n",
        "mypool   cl-consumer   consumer   Accepted         Accepted    no         365d          in 243d\n",
    ] {
        assert!(status.contains(line), "{line}: {status}");
    }
    // Looking changes nothing.
    let before = folder.snapshot();
    let json = folder.ok(&format!("status --home cl-provider -o json {NOW}"));
    assert!(before == folder.snapshot());
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["clusterID"], "cl-provider");
    let peering = &value["peerings"][0];
    assert_eq!(peering["role"], "consumer");
    assert_eq!(peering["phase"], "Authenticated");
    assert_eq!(peering["condition"], "Active");
    // Where its peering stands, as data.
    assert_eq!(peering["conditionHeld"], serde_json::Value::Null);
    assert_eq!(peering["waitsFor"], serde_json::Value::Null);
    let version = &peering["peerVersion"];
    assert_eq!(version["peer"]["liqo"]["from"], "1.2.0");
    assert_eq!(version["peer"]["thisLibrary"], true);
    // What a fresh peer with the same tool has written contradicts nothing.
    assert_eq!(version["contradictory"], false);
    assert_eq!(version["mixed"], true);
    let status = folder.ok(&format!("status --home cl-provider -o wide {NOW}"));
    let versions =
        "cl-consumer   consumer   this library, or a Liqo that was upgraded to 1.2.0 or later\n";
    assert!(status.contains(versions), "{status}");
    assert_eq!(peering["certificate"]["until"], "2027-11-20T13:00:00Z");
    assert_eq!(peering["certificate"]["due"], "2027-07-21T21:00:00Z");
    assert_eq!(peering["slices"][0]["name"], "mypool");
    assert_eq!(peering["slices"][0]["resources"], "Accepted");
}

#[test]
fn what_was_refused_is_said_with_its_rule() {
    let folder = Folder::with_homes();
    folder.ok("authenticate --home cl-consumer --remote-home cl-provider");
    let tenant = "cl-provider/manifests/liqo-tenant-cl-consumer/tenant.cl-consumer.yaml";
    let text = folder.read(tenant);
    folder.write(
        tenant,
        &text.replace("clusterID: cl-consumer", "clusterID: cl-other"),
    );
    let run = folder.run("status --home cl-provider");
    assert!(run.out.contains("Refused"), "{}", run.out);
    assert!(run.err.contains("spec.clusterID"), "{}", run.err);
}

#[test]
fn a_tenant_of_another_name_in_a_peers_namespace_makes_no_peer() {
    let folder = Folder::with_homes();
    folder.ok("authenticate --home cl-consumer --remote-home cl-provider");
    let path = |name| format!("cl-provider/manifests/liqo-tenant-cl-consumer/tenant.{name}.yaml");
    let text = folder.read(&path("cl-consumer"));
    let foreign = text.replace("cl-consumer", "cl-other");
    let foreign = foreign.replace("liqo-tenant-cl-other", "liqo-tenant-cl-consumer");
    folder.write(&path("cl-other"), &foreign);
    let status = folder.ok("status --home cl-provider");
    assert!(status.contains("cl-consumer   consumer"), "{status}");
    assert!(!status.contains("cl-other   "), "{status}");
}

/// Each object that two homes have after a whole peering, and those of Liqo.
#[test]
fn every_kind_is_explained() {
    let folder = Folder::with_homes();
    folder.ok("authenticate --home cl-consumer --remote-home cl-provider");
    folder.ok("create rs mypool --home cl-consumer --remote-home cl-provider");
    let mut kinds = std::collections::BTreeSet::new();
    for (path, (mode, _)) in folder.snapshot() {
        let shown = path
            .strip_prefix(folder.path(""))
            .unwrap()
            .display()
            .to_string();
        if !shown.ends_with(".yaml") || shown.ends_with("home.yaml") {
            continue;
        }
        assert_ne!(mode, 0);
        let home = shown.split('/').next().unwrap().to_owned();
        for arguments in [
            format!("inspect {shown}"),
            format!("inspect {shown} --home {home}"),
        ] {
            let run = folder.run(&arguments);
            assert_eq!(run.code, 0, "{arguments}: {run:?}");
            assert!(!run.out.contains("does not explain"), "{}", run.out);
            assert!(!run.out.contains("PRIVATE KEY"), "{}", run.out);
            kinds.insert(run.out.split(' ').next().unwrap().to_owned());
        }
    }
    for kind in [
        "CertificateSigningRequest",
        "ClusterRole",
        "ClusterRoleBinding",
        "ConfigMap",
        "Identity",
        "Namespace",
        "Renew",
        "ResourceSlice",
        "Role",
        "RoleBinding",
        "Secret",
        "Tenant",
    ] {
        assert!(kinds.contains(kind), "{kind}: {kinds:?}");
    }
}

#[test]
fn what_belongs_to_others_is_told() {
    let folder = Folder::with_homes();
    folder.ok("authenticate --home cl-consumer --remote-home cl-provider");
    let consumers = "cl-consumer/private/liqo-tenant-cl-provider";
    for (arguments, part) in [
        (
            format!("inspect {consumers}/secret.liqo-signed-nonce.yaml --home cl-provider"),
            "data.signedNonce",
        ),
        (
            "inspect cl-provider/private/liqo-tenant-cl-consumer/secret.liqo-nonce.yaml --home cl-consumer"
                .to_owned(),
            "it was not made by cl-consumer",
        ),
    ] {
        let run = folder.run(&arguments);
        assert_eq!(run.code, 3, "{run:?}");
        assert!(run.out.contains("  Wrong ") && run.out.contains(part), "{run:?}");
    }
    // A kubeconfig with another key than its certificate's.
    let file = format!("{consumers}/secret.kubeconfig-controlplane-cl-provider.yaml");
    let kubeconfig = folder.read(&file);
    folder.ok("init --home third");
    folder.ok("authenticate --home third --remote-home cl-provider");
    let others = folder.read(&file.replace("cl-consumer", "third"));
    let data = |text: &str| {
        let line = text
            .lines()
            .find(|line| line.contains("kubeconfig: "))
            .unwrap();
        let encoded = line.split_once(": ").unwrap().1.to_owned();
        let decoded = base64::engine::general_purpose::STANDARD
            .decode(&encoded)
            .unwrap();
        (encoded, String::from_utf8(decoded).unwrap())
    };
    let key = |text: &str| {
        let line = text
            .lines()
            .find(|line| line.contains("client-key-data: "))
            .unwrap();
        line.to_owned()
    };
    let ((encoded, own), (_, other)) = (data(&kubeconfig), data(&others));
    let mixed = own.replace(&key(&own), &key(&other));
    let mixed = base64::engine::general_purpose::STANDARD.encode(mixed);
    let run = folder.run_with("inspect -", &kubeconfig.replace(&encoded, &mixed));
    assert_eq!(run.code, 3, "{run:?}");
    assert!(
        run.out
            .contains("the private key is not that of the certificate"),
        "{run:?}"
    );
}

#[test]
fn a_slice_is_explained() {
    let folder = Folder::new();
    let file = vector("liqo-1.2.0/exchange/2-resourceslice/cluster-b/resourceslices.yaml");
    let report = folder.ok(&format!(
        "inspect {} --now 2026-11-21T00:00:00Z",
        file.display()
    ));
    for line in [
        "ResourceSlice liqo-tenant-cluster-a/mypool\n",
        "  Replica of      cluster-a\n",
        "  Asks for        cpu=2, memory=4Gi\n",
        "  Authentication  Accepted since 2026-11-20T22:47:09Z: ResourceSlice authentication accepted\n",
        "  Verified        the request is for the slice mypool of cluster-a and nothing else, and is signed by its key\n",
        "  Verified        the certificate is for the slice, and contains its key\n",
    ] {
        assert!(report.contains(line), "{line}: {report}");
    }
    let text = std::fs::read_to_string(&file).unwrap();
    let renamed = text.replace("    name: mypool\n", "    name: other\n");
    let run = folder.run_with("inspect - --now 2026-11-21T00:00:00Z", &renamed);
    assert_eq!(run.code, 3, "{run:?}");
    assert!(
        run.out.contains("  Wrong ") && run.out.contains(", rule 1)"),
        "{}",
        run.out
    );
}

#[test]
fn requests_and_renewals_of_liqo_are_explained() {
    let folder = Folder::new();
    for (file, part) in [
        (
            "liqo-1.2.0/exchange/1-authenticated/cluster-a/renews.yaml",
            "  Scheme          the provider renews by itself (Liqo 1.2)\n",
        ),
        (
            "liqo-1.2.0/exchange/1-authenticated/cluster-b/certificatesigningrequests.yaml",
            "  Certificate     O=liqo.io, CN=cluster-a, serial ",
        ),
        (
            "liqo-1.2.0/exchange/1-authenticated/cluster-a/secrets.yaml",
            "  Verified        the private key is that of the certificate\n",
        ),
        (
            "liqo-1.2.0/exchange/1-authenticated/cluster-b/rolebindings.yaml",
            "  To              User cluster-a\n",
        ),
    ] {
        let path = vector(file);
        let run = folder.run(&format!("inspect {}", path.display()));
        assert!(run.out.contains(part), "{file}: {}", run.out);
        assert!(!run.out.contains("PRIVATE KEY"), "{}", run.out);
    }
}
