//! Commands, as a person runs them.

use base64::{Engine, engine::general_purpose::STANDARD};

use super::{BOTH, Clusters};

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

impl Clusters {
    fn authenticates_once(&self) {
        let authenticate = format!("authenticate {BOTH}");
        let printed = self.0.ok(&authenticate);
        assert_eq!(printed.matches(" INFO   (").count(), 15, "{printed}");
        assert_eq!(self.whoami(""), "rome");
        let requests = self.kubectl("milan", "get csr -o name");
        let kubeconfig = self.kubeconfig("");
        self.0.ok(&authenticate);
        assert_eq!(self.kubectl("milan", "get csr -o name"), requests);
        assert_eq!(self.kubeconfig(""), kubeconfig);
        let secret = "get secret liqo-auth-settings -n liqo -o jsonpath={.data.settings\\.yaml}";
        let settings = STANDARD.decode(self.kubectl("rome", secret)).unwrap();
        let settings = String::from_utf8(settings).unwrap();
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
            (
                "apply --kubeconfig milan -f tenant.yaml -f identity.yaml",
                2,
            ),
            (
                "create resourceslice pool --kubeconfig rome --remote-cluster-id milan --cpu 2 -o yaml",
                0,
            ),
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
}
