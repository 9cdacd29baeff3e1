//! The tool on real API servers, which `e2e/run` starts.

mod commands;
mod controllers;
mod peering_users;
mod proxies;
mod replicas;
mod settings;
mod trials;
mod webhook;

use std::{env, fs, process::Command};

use crate::tool::{Folder, Run, running::until};

/// The kubeconfigs of the consumer `rome` and the provider `milan`, in a folder.
struct Clusters(Folder);

impl Clusters {
    fn new() -> Self {
        let folder = Folder::new();
        for (file, variable) in [
            ("rome", "LIQO_AUTH_ROME"),
            ("milan", "LIQO_AUTH_MILAN"),
            ("rome-service", "LIQO_AUTH_ROME_SERVICE"),
            ("milan-service", "LIQO_AUTH_MILAN_SERVICE"),
        ] {
            let kubeconfig =
                env::var_os(variable).unwrap_or_else(|| panic!("{variable} is not set"));
            fs::copy(kubeconfig, folder.path(file)).unwrap();
        }
        Self(folder)
    }

    fn ends_what_is_there(&self) {
        let run = self.0.run(&format!("unauthenticate --yes {BOTH}"));
        assert!([0, 4].contains(&run.code), "{run:?}");
    }

    fn ends(&self) {
        self.0.ok(&format!("unauthenticate --yes {BOTH}"));
        let of_peers = "get rolebindings -n liqo-tenant-rome -l liqo.io/remote-cluster-id -o name";
        let bindings = self.kubectl("milan", of_peers);
        assert_eq!(bindings, "");
        assert_eq!(self.kubectl("milan", "get tenants -A -o name"), "");
        assert_eq!(self.kubectl("rome", "get identities -A -o name"), "");
        let status = self.0.ok("status --kubeconfig milan");
        assert!(status.contains("Ended"), "{status}");
        assert!(!status.contains("liqo-auth renew"), "{status}");
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

/// The options that name both clusters.
const BOTH: &str = "--kubeconfig rome --remote-kubeconfig milan";
