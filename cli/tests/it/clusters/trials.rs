//! `--dry-run`, `set`, `--timeout`, `--wait` and `-v` on real API servers.

use std::time::{Duration, Instant};

use super::{BOTH, Clusters, until};

#[test]
#[ignore = "needs the clusters that e2e/run starts"]
fn trials_settings_and_time_limits_count() {
    let clusters = Clusters::new();
    clusters.ends_what_is_there();
    clusters.tries_each_command();
    clusters.sets_how_peers_reach_it();
    clusters.waits_as_long_as_it_is_told();
    clusters.logs_each_request();
    clusters.ends();
}

impl Clusters {
    /// The output of a trial, which changes nothing on either cluster.
    fn tried(&self, arguments: &str) -> String {
        let before = self.objects();
        let run = self.0.run(&format!("{arguments} --dry-run"));
        assert_eq!(run.code, 0, "{arguments}: {run:?}");
        assert!(run.err.contains("Nothing was changed"), "{run:?}");
        assert_eq!(self.objects(), before, "{arguments}");
        assert!(!run.out.contains("PRIVATE KEY"), "{arguments}");
        run.out
    }

    fn tries_each_command(&self) {
        let shown = self.tried(&format!("authenticate {BOTH}"));
        assert!(shown.contains("+kind: Tenant\n"), "{shown}");
        self.0.ok(&format!("authenticate {BOTH}"));
        self.0
            .ok(&format!("create resourceslice pool {BOTH} --cpu 1"));
        let second = format!("create resourceslice second {BOTH} --cpu 2");
        let back = format!("delete resourceslice pool {BOTH}");
        for (arguments, line) in [
            (
                "create nonce --kubeconfig rome --remote-cluster-id milan",
                "+kind: Secret\n",
            ),
            (
                "cordon tenant rome --kubeconfig milan",
                "+  tenantCondition: Cordoned\n",
            ),
            ("drain tenant rome --kubeconfig milan", "+++ /dev/null\n"),
            (
                "set api-server https://milan.example:6443 --kubeconfig milan",
                "+apiServer: https://milan.example:6443\n",
            ),
            (second.as_str(), "+    cpu: \"2\"\n"),
            (back.as_str(), "-kind: ResourceSlice\n"),
        ] {
            let shown = self.tried(arguments);
            assert!(shown.contains(line), "{arguments}: {shown}");
        }
        self.0.ok(&format!("delete resourceslice pool {BOTH}"));
        let shown = self.tried(&format!("unauthenticate {BOTH}"));
        assert!(shown.contains("-kind: Tenant\n"), "{shown}");
    }

    fn sets_how_peers_reach_it(&self) {
        let settings = "get configmap liqo-auth-settings -n liqo -o jsonpath={.data}";
        self.0
            .ok("set api-server https://milan.example:6443 --kubeconfig milan");
        let said = self.kubectl("milan", settings);
        assert!(said.contains("https://milan.example:6443"), "{said}");
        let generate = "generate identity --kubeconfig milan --remote-cluster-id rome";
        let identity = self.0.ok(generate);
        assert!(
            identity.contains("apiServer: https://milan.example:6443\n"),
            "{identity}"
        );
        // A value that is no URL or no CA changes nothing.
        self.0.write("empty", "");
        for (arguments, code) in [
            ("set api-server milan.example --kubeconfig milan", 2),
            ("set ca empty --kubeconfig milan", 2),
            ("set ca nowhere --kubeconfig milan", 2),
        ] {
            let run = self.0.run(arguments);
            assert_eq!(run.code, code, "{arguments}: {run:?}");
            assert_eq!(self.kubectl("milan", settings), said);
        }
        self.kubectl("milan", "delete configmap liqo-auth-settings -n liqo");
    }

    fn waits_as_long_as_it_is_told(&self) {
        // Nobody carries the slice to the provider.
        let begin = Instant::now();
        let waits = "create resourceslice alone --kubeconfig rome --remote-cluster-id milan --wait --timeout 2s";
        let run = self.0.run(waits);
        assert_eq!(run.code, 4, "{run:?}");
        let took = begin.elapsed();
        assert!(took >= Duration::from_secs(2), "{took:?}");
        assert!(took < Duration::from_secs(60), "{took:?}");
        self.0.ok(&format!("delete resourceslice alone {BOTH}"));

        // Another program holds the Tenant.
        let finalizers = |content: &str| {
            let patch = format!(r#"{{"metadata":{{"finalizers":{content}}}}}"#);
            let tenant = "patch tenant rome -n liqo-tenant-rome --type merge -p";
            self.kubectl("milan", &format!("{tenant} {patch}"));
        };
        let held = "get tenant rome -n liqo-tenant-rome -o jsonpath={.metadata.finalizers}";
        let own = self.kubectl("milan", held);
        let others = r#""example.org/other""#;
        finalizers(&match own.strip_suffix(']') {
            Some(own) => format!("{own},{others}]"),
            None => format!("[{others}]"),
        });
        let end = format!("unauthenticate --yes {BOTH} --wait --timeout 1s");
        let run = self.0.run(&end);
        assert_eq!(run.code, 4, "{run:?}");
        assert!(run.err.contains("example.org/other"), "{run:?}");
        finalizers("[]");
        until("the Tenant is gone", || {
            self.kubectl("milan", "get tenants -A -o name").is_empty()
        });
        self.0.ok(&format!("authenticate {BOTH}"));
    }

    fn logs_each_request(&self) {
        let status = "status --kubeconfig milan";
        assert_eq!(self.0.run(status).err, "");
        let run = self.0.run(&format!("{status} -v=6"));
        assert_eq!(run.code, 0, "{run:?}");
        let lists = |line: &str| {
            line.contains("http.method=GET")
                && line.contains("/tenants")
                && line.contains("http.status_code=200")
        };
        assert!(run.err.lines().any(lists), "{}", run.err);
        assert!(!run.err.contains("PRIVATE KEY"), "{}", run.err);
        // The levels below log no request.
        let run = self.0.run(&format!("{status} -v"));
        assert!(!run.err.contains("http.method"), "{}", run.err);
    }
}
