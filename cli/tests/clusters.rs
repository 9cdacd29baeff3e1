//! The commands on real API servers, which `e2e/run` starts.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test panics"
)]

mod tool;

use std::{
    env, fs,
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    thread::sleep,
    time::Duration,
};

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

#[test]
#[ignore = "needs the clusters that e2e/run starts"]
fn controllers_finish_what_kubectl_applies() {
    let clusters = Clusters::new();
    clusters.ends_what_is_there();
    let provider = Running::start(&clusters, "milan-service", "--provider");
    let consumer = Running::start(&clusters, "rome-service", "--consumer");
    let (tenant, identity) = ("tenant.yaml", "identity.yaml");
    let folder = &clusters.0;
    folder.ok("create nonce --kubeconfig milan --remote-cluster-id rome");
    let nonce = folder.ok("get nonce --kubeconfig milan --remote-cluster-id rome");
    let generate = "generate tenant --kubeconfig rome --remote-cluster-id milan --nonce -";
    folder.write(tenant, &folder.ok_with(generate, &nonce));
    clusters.kubectl("milan", "apply -n liqo-tenant-rome -f tenant.yaml");
    clusters.until("the provider has answered", || {
        let status =
            "get tenant rome -n liqo-tenant-rome -o jsonpath={.status.authParams.signedCRT}";
        !clusters.kubectl("milan", status).is_empty()
    });
    let generate = "generate identity --kubeconfig milan --remote-cluster-id rome";
    folder.write(identity, &folder.ok(generate));
    clusters.kubectl("rome", "apply -n liqo-tenant-milan -f identity.yaml");
    clusters.until("the consumer has a kubeconfig", || {
        let get = "get kubeconfig --kubeconfig rome --remote-cluster-id milan";
        folder.run(get).code == 0
    });
    assert_eq!(clusters.whoami(""), "rome");
    let metrics = provider.get("/metrics");
    let authenticated = "liqo_auth_identities{side=\"provider\",stage=\"authenticated\"} 1";
    assert!(metrics.contains(authenticated), "{metrics}");
    for running in [provider, consumer] {
        assert!(running.get("/healthz").contains("200 OK"));
        running.stop();
    }
    clusters.ends();
}

/// A running controller.
struct Running {
    process: Child,
    address: SocketAddr,
}

impl Running {
    /// Starts a controller, and waits until it is ready.
    fn start(clusters: &Clusters, cluster: &str, side: &str) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        let mut command = clusters.0.command(&format!(
            "run --kubeconfig {cluster} {side} --listen {address}"
        ));
        let process = command.stderr(Stdio::inherit()).spawn().unwrap();
        let running = Self { process, address };
        clusters.until("the controller is ready", || {
            TcpStream::connect(address).is_ok() && running.get("/readyz").contains("200 OK")
        });
        running
    }

    fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(self.address).unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Stops it as a cluster does. It ends without a failure.
    fn stop(mut self) {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").arg(pid).status().unwrap().success());
        assert_eq!(self.process.wait().unwrap().code(), Some(0));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.process.kill();
    }
}

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

    /// Waits for a condition, for half a minute at most.
    fn until(&self, what: &str, holds: impl Fn() -> bool) {
        for _ in 0..300 {
            if holds() {
                return;
            }
            sleep(Duration::from_millis(100));
        }
        panic!("not seen within half a minute: {what}");
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
