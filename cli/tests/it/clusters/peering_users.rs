//! Peering users, who authenticate a consumer without being the provider's administrator.

use std::{env, process::Command};

use serde_json::json;

use super::{BOTH, Clusters, controllers::start, until};
use crate::tool::Run;

const GENERATE: &str = "generate peering-user --kubeconfig milan --consumer-cluster-id rome";
const DELETE: &str = "delete peering-user --kubeconfig milan --consumer-cluster-id rome";
const BY_USER: &str = "--kubeconfig rome --remote-kubeconfig user";

#[test]
#[ignore = "needs the clusters that e2e/run starts"]
fn a_peering_user_authenticates_its_cluster_until_it_is_deleted() {
    let clusters = Clusters::new();
    clusters.ends_what_is_there();
    clusters.makes_a_peering_user();
    clusters.authenticates_by_the_peering_user();
    clusters.ends_what_is_there();
    clusters.runs_the_tool_as_the_peering_user();
    clusters.deletes_the_peering_user();
    clusters.exchanges_peering_users_with_liqoctl();
    clusters.ends();
}

impl Clusters {
    fn makes_a_peering_user(&self) {
        self.0.write("user", &self.0.ok(GENERATE));
        let said = self.kubectl(
            "user",
            "auth whoami -o jsonpath={.status.userInfo.username}",
        );
        assert!(said.starts_with("liqo-peer-user-rome-"), "{said}");
        until("the peering user has its rights", || self.user_may_read());
        // It has no rights beyond Liqo's roles.
        for forbidden in [
            "get secrets -n liqo",
            "get namespaces",
            "get secrets -n liqo-tenant-turin",
            "create namespace other",
            "delete configmap liqo-clusterid-configmap -n liqo",
        ] {
            assert!(self.is_forbidden(forbidden), "{forbidden}");
        }
        let before = self.objects();
        let error = self.0.refused(GENERATE, "", 5);
        assert!(error.contains("already has a peering user"), "{error}");
        // A command that needs the provider's records cannot be run by this user.
        let run = self
            .0
            .run(&format!("create resourceslice pool {BY_USER} --cpu 1"));
        assert_eq!(run.code, 2, "{run:?}");
        assert!(run.err.contains("an administrator of milan"), "{run:?}");
        assert_eq!(self.objects(), before);
    }

    /// The administrator of milan invites rome. The administrator of rome does the rest at
    /// milan as the peering user.
    fn authenticates_by_the_peering_user(&self) {
        self.0
            .ok("create nonce --kubeconfig milan --remote-cluster-id rome");
        let nonce = "get secret liqo-nonce -n liqo-tenant-rome";
        let nonce = self.kubectl(
            "user",
            &format!("{nonce} -o go-template={{{{.data.nonce|base64decode}}}}"),
        );
        let tenant = self.0.ok_with(
            "generate tenant --kubeconfig rome --remote-cluster-id milan --nonce -",
            &nonce,
        );
        self.0.write("tenant.yaml", &tenant);
        self.kubectl("user", "create -n liqo-tenant-rome -f tenant.yaml");
        let generate = "generate identity --kubeconfig milan --remote-cluster-id rome";
        self.0.write("identity.yaml", &self.0.ok(generate));
        let answer = "get tenant rome -n liqo-tenant-rome -o jsonpath={.status.authParams}";
        assert!(self.kubectl("user", answer).contains("signedCRT"));
        self.0.ok("apply --kubeconfig rome -f identity.yaml");
        assert_eq!(self.whoami(""), "rome");
    }

    /// The controllers of milan answer, with the rights of `deploy/`. The peering has ended
    /// before, so that milan's administrator invites rome first.
    fn runs_the_tool_as_the_peering_user(&self) {
        let authenticate = format!("authenticate {BY_USER}");
        let waits = self.0.run(&format!("{authenticate} --timeout 2s"));
        assert_eq!(waits.code, 4, "{waits:?}");
        assert!(
            waits.err.contains("Its controllers have to run"),
            "{waits:?}"
        );

        let provider = start(self, "milan-service", "--provider");
        // The nonce of the ended peering may have served again by now: then rome is in already.
        let invited = self
            .0
            .run("create nonce --kubeconfig milan --remote-cluster-id rome");
        let is_in = invited.err.contains("has signed its nonce already");
        assert_eq!(invited.code, if is_in { 4 } else { 0 }, "{invited:?}");
        let printed = self.0.ok(&authenticate);
        let answers = "By a peering user: the controllers of milan answer";
        assert!(printed.contains(answers), "{printed}");
        assert_eq!(self.whoami(""), "rome");
        let kubeconfig = self.kubeconfig("");
        let requests = self.kubectl("milan", "get csr -o name");
        for options in ["", " --dry-run"] {
            self.0.ok(&format!("{authenticate}{options}"));
        }
        assert_eq!(self.kubeconfig(""), kubeconfig);
        assert_eq!(self.kubectl("milan", "get csr -o name"), requests);

        self.0.ok(&format!("unauthenticate --yes {BY_USER} --wait"));
        assert_eq!(self.kubectl("milan", "get tenants -A -o name"), "");
        assert_eq!(self.kubectl("rome", "get identities -A -o name"), "");
        self.0
            .ok("create nonce --kubeconfig milan --remote-cluster-id rome");
        self.0.ok(&authenticate);
        provider.stop();
    }

    fn deletes_the_peering_user(&self) {
        self.0.ok(DELETE);
        until("the peering user has no rights", || {
            self.is_forbidden(READ) && self.is_forbidden("get configmaps -n liqo")
        });
        let tenants = "get tenants -n liqo-tenant-rome";
        assert!(self.is_forbidden(tenants), "{tenants}");
        assert_eq!(self.of_peering_users(), "");
        // The peering stays.
        self.0.ok(&format!("authenticate {BOTH}"));
        assert_eq!(self.whoami(""), "rome");

        // The next user is another one.
        let next = self.0.ok(GENERATE);
        assert!(self.is_forbidden(READ));
        self.0.write("user", &next);
        until("the next peering user has its rights", || {
            self.user_may_read()
        });
    }

    /// `liqoctl` deletes the user of this tool, and this tool deletes the user of `liqoctl`.
    fn exchanges_peering_users_with_liqoctl(&self) {
        self.liqoctl(DELETE);
        assert_eq!(self.of_peering_users(), "");
        until("the peering user has no rights", || self.is_forbidden(READ));

        self.0.write("deployment.json", &liqo_deployment());
        self.kubectl("milan", "create -f deployment.json");
        self.liqoctl(GENERATE);
        assert!(self.of_peering_users().contains("tenant-ns-writer"));
        self.0.refused(GENERATE, "", 5);
        self.0.ok(DELETE);
        assert_eq!(self.of_peering_users(), "");
        self.kubectl("milan", "delete -f deployment.json");
    }

    fn user_may_read(&self) -> bool {
        let reads = [READ, "get configmaps -n liqo"];
        reads
            .iter()
            .all(|read| self.try_kubectl("user", read).code == 0)
    }

    fn is_forbidden(&self, arguments: &str) -> bool {
        let run = self.try_kubectl("user", arguments);
        run.code != 0 && run.err.contains("Forbidden")
    }

    fn of_peering_users(&self) -> String {
        let labelled = "-l liqo.io/peering-user-name=liqo-peer-user-rome -o name";
        self.kubectl("milan", &format!("get rolebindings,csr -A {labelled}"))
    }

    fn liqoctl(&self, arguments: &str) {
        let program = env::var_os("LIQOCTL").unwrap_or_else(|| panic!("LIQOCTL is not set"));
        let mut liqoctl = Command::new(program);
        liqoctl.args(arguments.split_whitespace());
        let run = Run::of(liqoctl.current_dir(self.0.path("")).output().unwrap());
        assert_eq!(run.code, 0, "liqoctl {arguments}: {run:?}");
    }
}

/// The Deployment in which `liqoctl` looks for the address of the API server. It has no pods.
fn liqo_deployment() -> String {
    let labels = json!({
        "app.kubernetes.io/name": "controller-manager",
        "app.kubernetes.io/component": "controller-manager",
    });
    let container = json!({
        "name": "controller-manager",
        "image": "example.org/none",
        "args": ["--api-server-address-override=https://milan.example:6443"],
    });
    let deployment = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "liqo-controller-manager",
            "namespace": "liqo",
            "labels": labels,
        },
        "spec": {
            "replicas": 0,
            "selector": { "matchLabels": labels },
            "template": {
                "metadata": { "labels": labels },
                "spec": { "containers": [container] },
            },
        },
    });
    deployment.to_string()
}

/// What the peering user may do in the tenant namespace.
const READ: &str = "get secrets -n liqo-tenant-rome";
