//! Homes that stand for real clusters: a person carries everything by kubectl, as the page on
//! such homes prints it. `e2e/run homes` starts the clusters: Liqo runs at `rome`, and the home
//! `milan` takes the place of Liqo's authentication module at `milan`.

use std::{
    env, fs,
    path::Path,
    process::Command,
    thread::sleep,
    time::{Duration, Instant},
};

use crate::tool::{Folder, Run, running::until};

#[test]
#[ignore = "needs the clusters that e2e/run starts"]
fn a_home_provides_for_a_cluster() {
    let clusters = Clusters::new();
    clusters.runs("export KUBECONFIG=milan.kubeconfig");
    let secret = "kubectl -n liqo-tenant-milan get secret \
                  kubeconfig-controlplane-milan -o jsonpath={.data.kubeconfig}";
    until("Liqo has made the kubeconfig", || {
        clusters.shell("rome", secret).code == 0
    });
    clusters.ok("rome", &format!("{secret} | base64 -d > peer.kubeconfig"));
    let whoami = "kubectl auth whoami -o jsonpath={.status.userInfo.username}";
    assert_eq!(clusters.ok("peer", whoami), "rome");
    let may_list = "kubectl get resourceslices.authentication.liqo.io -n liqo-tenant-rome";
    assert_eq!(clusters.shell("peer", may_list).code, 0);

    // A slice, which Liqo's replicator brings to milan. The home's answer goes back by the
    // commands that the tool prints.
    // liqoctl waits for the answer.
    let create = "timeout 3 liqoctl create resourceslice pool --remote-cluster-id milan";
    assert_eq!(clusters.shell("rome", create).code, 124);
    let slice = "kubectl -n liqo-tenant-rome get resourceslices.authentication.liqo.io pool";
    until("the replica is at milan", || {
        clusters.shell("milan", slice).code == 0
    });
    let take = format!("{slice} -o yaml | liqo-auth apply --home milan -f -");
    let run = clusters.shell("milan", &take);
    clusters.carry("milan", &run);
    let secret = secret.replace(
        "kubeconfig-controlplane-milan",
        "kubeconfig-resourceslice-pool",
    );
    until("the slice has its kubeconfig", || {
        clusters.shell("rome", &secret).code == 0
    });
    clusters.ok("rome", &format!("{secret} | base64 -d > slice.kubeconfig"));
    assert!(clusters.ok("slice", whoami).starts_with("pool-"));

    // It stays, and a second time it changes nothing.
    let all = "kubectl get tenants,rolebindings,clusterrolebindings,namespaces -A -o name";
    let before = clusters.ok("milan", all);
    let written = Instant::now();
    let again = clusters.ok(
        "milan",
        "liqo-auth export --home milan | kubectl apply -f -",
    );
    assert!(
        again.lines().all(|line| line.ends_with("unchanged")),
        "{again}"
    );
    sleep(Duration::from_secs(60).saturating_sub(written.elapsed()));
    assert_eq!(clusters.ok("milan", all), before);
    assert_eq!(clusters.shell("peer", may_list).code, 0);

    // A drain takes the rights, by the commands that are printed.
    let run = clusters.shell("milan", "liqo-auth drain tenant rome --home milan");
    clusters.carry("milan", &run);
    assert_ne!(clusters.shell("peer", may_list).code, 0);
    let run = clusters.shell("milan", "liqo-auth uncordon tenant rome --home milan");
    clusters.carry("milan", &run);
    assert_eq!(clusters.shell("peer", may_list).code, 0);

    let end = "liqo-auth unauthenticate --yes --home milan --remote-cluster-id rome";
    let run = clusters.shell("milan", end);
    clusters.carry("milan", &run);
    assert_ne!(clusters.shell("peer", may_list).code, 0);
    let tenants = clusters.ok("milan", "kubectl get tenants -A -o name");
    assert_eq!(tenants, "");
}

#[test]
#[ignore = "needs the clusters that e2e/run starts"]
fn a_home_consumes_from_liqo() {
    let clusters = Clusters::new();
    clusters.runs("export KUBECONFIG=turin-at-rome.kubeconfig");
    let whoami = "kubectl auth whoami -o jsonpath={.status.userInfo.username}";
    assert_eq!(clusters.ok("turin-at-rome", whoami), "turin");
    assert!(clusters.ok("pool", whoami).starts_with("pool-"));
    let again = clusters.ok("turin-at-rome", "kubectl apply -f pool.yaml");
    assert!(again.ends_with("unchanged\n"), "{again}");
    let again = clusters.ok("rome", "kubectl apply -f tenant.yaml");
    assert!(again.ends_with("unchanged\n"), "{again}");
}

/// A folder with the kubeconfigs of the administrators of rome and milan.
struct Clusters(Folder);

impl Clusters {
    fn new() -> Self {
        let folder = Folder::new();
        for (file, variable) in [("rome", "LIQO_AUTH_ROME"), ("milan", "LIQO_AUTH_MILAN")] {
            let kubeconfig =
                env::var_os(variable).unwrap_or_else(|| panic!("{variable} is not set"));
            fs::copy(&kubeconfig, folder.path(&format!("{file}.kubeconfig"))).unwrap();
        }
        let clusters = Self(folder);
        let ca = "jsonpath={.clusters[0].cluster.certificate-authority-data}";
        let view = format!("kubectl config view --raw -o {ca} | base64 -d > milan.crt");
        clusters.ok("milan", &view);
        clusters
    }

    /// Runs the block of the page on homes for real clusters that has this line.
    fn runs(&self, line: &str) {
        let page = include_str!("../../../../docs/how-to/home-for-a-cluster.md");
        let blocks = page.split("```sh\n").skip(1);
        let mut blocks = blocks.map(|rest| rest.split("```").next().unwrap());
        let block = blocks.find(|block| block.contains(line)).unwrap();
        let url = "kubectl config view -o jsonpath={.clusters[0].cluster.server}";
        let url = self.ok("milan", url);
        self.ok("", &format!("set -euxo pipefail\nMILAN={url}\n{block}"));
    }

    /// Runs the commands that a run of the tool has printed, and those that they print.
    fn carry(&self, cluster: &str, run: &Run) {
        assert_eq!(run.code, 0, "{run:?}");
        let (_, commands) = run.err.split_once("Carry the change").unwrap();
        for command in commands
            .lines()
            .skip(1)
            .filter_map(|line| line.strip_prefix("  "))
        {
            let next = self.shell(cluster, &format!("set -o pipefail\n{command}"));
            assert_eq!(next.code, 0, "{command}: {next:?}");
            if next.err.contains("Carry the change") {
                self.carry(cluster, &next);
            }
        }
    }

    fn ok(&self, kubeconfig: &str, command: &str) -> String {
        let run = self.shell(kubeconfig, command);
        assert_eq!(run.code, 0, "{command}: {run:?}");
        run.out
    }

    fn shell(&self, kubeconfig: &str, command: &str) -> Run {
        let tool = Path::new(env!("CARGO_BIN_EXE_liqo-auth"))
            .parent()
            .unwrap()
            .to_owned();
        let liqoctl = env::var_os("LIQOCTL").unwrap();
        let liqoctl = Path::new(&liqoctl).parent().unwrap().to_owned();
        let path = env::var_os("PATH").unwrap();
        let path = env::join_paths([tool, liqoctl].into_iter().chain(env::split_paths(&path)));
        let mut bash = Command::new("bash");
        bash.args(["-c", command]).env("PATH", path.unwrap());
        if !kubeconfig.is_empty() {
            bash.env(
                "KUBECONFIG",
                self.0.path(&format!("{kubeconfig}.kubeconfig")),
            );
        }
        Run::of(bash.current_dir(self.0.path("")).output().unwrap())
    }
}
