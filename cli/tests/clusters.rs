//! The commands on real API servers, which `e2e/run` starts.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test panics"
)]

mod tool;

use std::{env, fs, process::Command};

use tool::{Folder, Run};

#[test]
#[ignore = "needs the clusters that e2e/run starts"]
fn the_commands_work_on_two_clusters() {
    let clusters = Clusters::new();
    clusters.ends_what_is_there();
    clusters.authenticates_once();
    clusters.gets_a_slice();
    clusters.takes_rights_and_gives_them_back();
    clusters.ends();
    clusters.authenticates_by_files();
    clusters.refuses_and_changes_nothing();
    clusters.waits_for_an_approval();
    clusters.ends();
}

/// The kubeconfigs of the consumer `rome` and the provider `milan`, in a folder.
struct Clusters(Folder);

impl Clusters {
    fn new() -> Self {
        let folder = Folder::new();
        for (file, variable) in [("rome", "LIQO_AUTH_ROME"), ("milan", "LIQO_AUTH_MILAN")] {
            let kubeconfig =
                env::var_os(variable).unwrap_or_else(|| panic!("{variable} is not set"));
            fs::copy(kubeconfig, folder.path(file)).unwrap();
        }
        Self(folder)
    }

    fn ends_what_is_there(&self) {
        let run = self.0.run(&format!("unauthenticate {BOTH}"));
        assert!([0, 4].contains(&run.code), "{run:?}");
    }

    fn authenticates_once(&self) {
        let authenticate = format!("authenticate {BOTH}");
        let printed = self.0.ok(&authenticate);
        assert_eq!(printed.matches(" INFO   (").count(), 14, "{printed}");
        assert_eq!(self.whoami(""), "rome");
        let requests = self.kubectl("milan", "get csr -o name");
        let kubeconfig = self.kubeconfig("");
        self.0.ok(&authenticate);
        assert_eq!(self.kubectl("milan", "get csr -o name"), requests);
        assert_eq!(self.kubeconfig(""), kubeconfig);
        let settings = self.kubectl("rome", "get configmap liqo-auth-settings -n liqo -o yaml");
        assert!(settings.contains("providerKeys"), "{settings}");
    }

    fn gets_a_slice(&self) {
        self.0.ok(&format!(
            "create resourceslice pool {BOTH} --cpu 2 --memory 4Gi"
        ));
        assert!(self.whoami("--resourceslice pool").starts_with("pool-"));
        self.0.ok(&format!("delete resourceslice pool {BOTH}"));
        let slices = self.0.ok("get resourceslices --kubeconfig milan");
        assert!(!slices.contains("pool"), "{slices}");
    }

    fn takes_rights_and_gives_them_back(&self) {
        let may_list = || {
            let run =
                self.try_as_peer("get resourceslices.authentication.liqo.io -n liqo-tenant-rome");
            run.code == 0
        };
        assert!(may_list());
        self.0.ok("drain tenant rome --kubeconfig milan");
        assert!(!may_list());
        self.0.ok("uncordon tenant rome --kubeconfig milan");
        assert!(may_list());
    }

    fn ends(&self) {
        self.0.ok(&format!("unauthenticate {BOTH}"));
        let bindings = self.kubectl("milan", "get rolebindings -n liqo-tenant-rome -o name");
        assert_eq!(bindings, "");
        assert_eq!(self.kubectl("milan", "get tenants -A -o name"), "");
        assert_eq!(self.kubectl("rome", "get identities -A -o name"), "");
        let status = self.0.ok("status --kubeconfig milan");
        assert!(status.contains("Ended"), "{status}");
        assert!(!status.contains("liqo-auth renew"), "{status}");
    }

    fn authenticates_by_files(&self) {
        self.0
            .ok("create nonce --kubeconfig milan --remote-cluster-id rome");
        let nonce = self
            .0
            .ok("get nonce --kubeconfig milan --remote-cluster-id rome");
        let tenant = self.0.ok_with(
            "generate tenant --kubeconfig rome --remote-cluster-id milan --nonce -",
            &nonce,
        );
        self.0.write("tenant.yaml", &tenant);
        self.0.ok("apply --kubeconfig milan -f tenant.yaml");
        let identity = self
            .0
            .ok("generate identity --kubeconfig milan --remote-cluster-id rome");
        self.0.write("identity.yaml", &identity);
        self.0.ok("apply --kubeconfig rome -f identity.yaml");
        assert_eq!(self.whoami(""), "rome");
    }

    fn refuses_and_changes_nothing(&self) {
        let tenant = self
            .0
            .read("tenant.yaml")
            .replace("name: rome", "name: turin");
        self.0.write("forged.yaml", &tenant);
        for (arguments, code) in [
            ("apply --kubeconfig milan -f forged.yaml", 3),
            ("authenticate --kubeconfig rome --remote-kubeconfig rome", 2),
            (
                "authenticate --kubeconfig rome --remote-kubeconfig nowhere",
                2,
            ),
            ("audit verify --kubeconfig milan", 2),
            ("legacy status --kubeconfig milan", 2),
            ("drain tenant turin --kubeconfig milan", 4),
        ] {
            let before = self.objects();
            let run = self.0.run(arguments);
            assert_eq!(run.code, code, "{arguments}: {run:?}");
            assert_eq!(self.objects(), before, "{arguments}");
        }
    }

    fn waits_for_an_approval(&self) {
        self.ends();
        let settings = "--from-literal settings.yaml={\"requireApproval\":true}";
        self.kubectl(
            "milan",
            &format!("create configmap liqo-auth-settings -n liqo {settings}"),
        );
        let run = self.0.run(&format!("authenticate {BOTH}"));
        assert_eq!(run.code, 4, "{run:?}");
        let approve = "liqo-auth approve tenant rome --kubeconfig milan";
        assert!(run.err.contains(approve), "{run:?}");
        self.0.ok("approve tenant rome --kubeconfig milan");
        self.0.ok(&format!("authenticate {BOTH}"));
        assert_eq!(self.whoami(""), "rome");
        self.kubectl("milan", "delete configmap liqo-auth-settings -n liqo");
    }

    /// Everything that a command may change, with its version.
    fn objects(&self) -> String {
        let kinds = "tenants,identities,renews,resourceslices.authentication.liqo.io,secrets,rolebindings,namespaces";
        let arguments = format!(
            "get {kinds},csr,configmaps -A -o custom-columns=:.kind,:.metadata.namespace,:.metadata.name,:.metadata.resourceVersion"
        );
        self.kubectl("rome", &arguments) + &self.kubectl("milan", &arguments)
    }

    /// The kubeconfig for the provider: of the control plane, or of a slice.
    fn kubeconfig(&self, of: &str) -> String {
        self.0.ok(&format!(
            "get kubeconfig --kubeconfig rome --remote-cluster-id milan {of}"
        ))
    }

    /// The user that the provider sees.
    fn whoami(&self, of: &str) -> String {
        self.0.write("peer", &self.kubeconfig(of));
        self.kubectl(
            "peer",
            "auth whoami -o jsonpath={.status.userInfo.username}",
        )
    }

    fn try_as_peer(&self, arguments: &str) -> Run {
        self.0.write("peer", &self.kubeconfig(""));
        self.try_kubectl("peer", arguments)
    }

    fn kubectl(&self, kubeconfig: &str, arguments: &str) -> String {
        let run = self.try_kubectl(kubeconfig, arguments);
        assert_eq!(run.code, 0, "kubectl {arguments}: {run:?}");
        run.out
    }

    fn try_kubectl(&self, kubeconfig: &str, arguments: &str) -> Run {
        let mut kubectl = Command::new("kubectl");
        kubectl.args(["--kubeconfig", kubeconfig]);
        kubectl.args(arguments.split_whitespace());
        Run::of(kubectl.current_dir(self.0.path("")).output().unwrap())
    }
}

const BOTH: &str = "--kubeconfig rome --remote-kubeconfig milan";
