//! What only the administrator's word lets in.

use crate::tool::Folder;

const BOTH: &str = "--home cl-consumer --remote-home cl-provider";

/// A person may have to approve before anything is signed.
#[test]
fn what_wants_an_approval_waits_for_it() {
    let folder = Folder::new();
    folder.ok("init --home cl-consumer");
    folder.ok("init --home cl-provider --require-approval");
    let authenticate = format!("authenticate {BOTH}");
    let run = folder.run(&authenticate);
    assert_eq!(run.code, 4, "{run:?}");
    assert!(run.err.contains("approve tenant cl-consumer"), "{run:?}");
    assert_eq!(certificates(&folder), 0);
    let status = folder.ok("status --home cl-provider");
    assert!(
        status.contains("NeedsApproval") && status.contains("`approve tenant cl-consumer`"),
        "{status}"
    );
    let generate = "generate identity --home cl-provider --remote-cluster-id cl-consumer";
    folder.refused(generate, "", 4);
    let approve = "approve tenant cl-consumer --home cl-provider";
    let deny = "deny tenant cl-consumer --home cl-provider --reason nobody-asked";
    assert_eq!(folder.ok(deny), " INFO  Tenant \"cl-consumer\" denied\n");
    let run = folder.run(&authenticate);
    assert_eq!(run.code, 3, "{run:?}");
    assert!(run.err.contains("nobody-asked"), "{run:?}");
    let says = format!("The command is liqo-auth {approve}.\n");
    for denied in [&authenticate, generate] {
        let run = folder.run(denied);
        assert_eq!(run.code, 3, "{run:?}");
        assert!(run.err.ends_with(&says), "{run:?}");
    }
    assert_eq!(
        folder.ok(approve),
        " INFO  Tenant \"cl-consumer\" approved\n"
    );
    folder.refused(approve, "", 4);
    folder.ok(&authenticate);
    // A renewal does not need another one.
    folder.ok(&format!("renew {BOTH} --now +300d --write-at-this-time"));
    assert_eq!(certificates(&folder), 2);
    folder.refused("approve tenant cl-other --home cl-provider", "", 4);
    folder.refused("deny tenant cl-consumer --home cl-provider", "", 2);
}

#[test]
fn without_a_handshake_nobody_is_let_in_unless_the_administrator_says_so() {
    let folder = Folder::with_homes();
    let tenant = "apiVersion: authentication.liqo.io/v1beta1
kind: Tenant
metadata:
  name: cl-other
  labels:
    liqo.io/remote-cluster-id: cl-other
spec:
  clusterID: cl-other
  authzPolicy: TolerateNoHandshake
";
    let apply = "apply --home cl-provider -f -";
    let error = folder.refused(apply, tenant, 3);
    assert!(
        error.contains("spec.authzPolicy")
            && error.contains(", rule 6)")
            && error.contains("`tolerateNoHandshake: true`"),
        "{error}"
    );
    folder
        .ok("create nonce --home cl-provider --remote-cluster-id cl-other --tolerate-no-handshake");
    let other = tenant.replace("clusterID: cl-other", "clusterID: cl-third");
    folder.refused(apply, &other, 3);
    let run = folder.run_with(apply, tenant);
    assert_eq!(
        run.out, "tenant.authentication.liqo.io/cl-other created\n",
        "{run:?}"
    );
    assert_eq!(run.err, "cl-other is let in without a handshake.\n");
    assert_eq!(
        folder.ok_with(apply, tenant),
        "tenant.authentication.liqo.io/cl-other unchanged\n"
    );
    let status = folder.ok("status --home cl-provider");
    assert!(
        status.contains("cl-other   consumer   Tolerated"),
        "{status}"
    );
    let generate = "generate identity --home cl-provider --remote-cluster-id cl-other";
    let error = folder.refused(generate, "", 4);
    assert!(error.contains("is let in without a handshake"), "{error}");
    // What was said of one peer holds for no other.
    folder.refused(apply, &tenant.replace("cl-other", "cl-third"), 3);
    folder.ok("unauthenticate --yes --home cl-provider --remote-cluster-id cl-other");
}

/// As Liqo's page on declarative peering has it.
#[test]
fn a_tenant_without_a_handshake_may_have_any_name() {
    let folder = Folder::with_homes();
    let tenant = "apiVersion: authentication.liqo.io/v1beta1
kind: Tenant
metadata:
  name: my-tenant
  labels:
    liqo.io/remote-cluster-id: cl-other
spec:
  clusterID: cl-other
  authzPolicy: TolerateNoHandshake
";
    folder
        .ok("create nonce --home cl-provider --remote-cluster-id cl-other --tolerate-no-handshake");
    let run = folder.run_with("apply --home cl-provider -f -", tenant);
    assert_eq!(
        run.out, "tenant.authentication.liqo.io/my-tenant created\n",
        "{run:?}"
    );
    let status = folder.ok("status --home cl-provider");
    assert!(status.contains("Tolerated"), "{status}");
    // The peer is named by its ID.
    folder.ok("cordon tenant cl-other --home cl-provider");
    let tenants = folder.ok("get tenants --home cl-provider");
    assert!(tenants.contains("my-tenant"), "{tenants}");
    assert!(tenants.contains("Cordoned"), "{tenants}");
    folder.refused("drain tenant my-tenant --home cl-provider", "", 4);
    folder.ok("uncordon tenant cl-other --home cl-provider");
    let ended = folder.ok("unauthenticate --yes --home cl-provider --remote-cluster-id cl-other");
    assert!(ended.contains("Tenant correctly deleted"), "{ended}");
    let tenants = folder.ok("get tenants --home cl-provider");
    assert!(!tenants.contains("my-tenant"), "{tenants}");
}

fn certificates(folder: &Folder) -> usize {
    let names = std::fs::read_dir(folder.path("cl-provider/manifests/_cluster")).unwrap();
    names
        .filter(|name| {
            let name = name.as_ref().unwrap().file_name();
            name.to_string_lossy()
                .starts_with("certificatesigningrequest.")
        })
        .count()
}
