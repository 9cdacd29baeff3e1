//! `-o json` of commands that change something: what was done, and what is awaited.

use serde_json::{Value, json};

use crate::tool::{Folder, Run, with_files};

const BOTH: &str = "--home cl-consumer --remote-home cl-provider";
const LATER: &str = "--now +300d --write-at-this-time";

fn json_of(run: &Run) -> Value {
    let document: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(document["exitCode"], run.code, "{run:?}");
    let error = document["error"].as_str().unwrap_or_default();
    assert_eq!(error.is_empty(), run.code == 0, "{document}");
    assert!(run.err.contains(error), "{run:?}");
    document
}

/// The objects that were written in a cluster, with what became of them.
fn written(document: &Value, cluster: usize) -> Vec<String> {
    let written = document["clusters"][cluster]["written"].as_array().unwrap();
    let written = written.iter().map(|one| {
        let object = &one["object"];
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        format!(
            "{} {} {}",
            text(&one["action"]),
            text(&object["kind"]),
            text(&object["name"])
        )
    });
    written.collect()
}

#[test]
fn authenticate_tells_its_steps_and_what_it_wrote() {
    let folder = Folder::with_homes();
    let run = folder.run(&format!("authenticate {BOTH} -o json"));
    let document = json_of(&run);
    assert_eq!(document["command"], "authenticate");
    assert_eq!(document["outcome"], "done");
    let ids = [
        &document["clusters"][0]["clusterID"],
        &document["clusters"][1]["clusterID"],
    ];
    assert_eq!(ids, ["cl-consumer", "cl-provider"]);
    for (cluster, object) in [
        (0, "created Identity controlplane-cl-provider"),
        (0, "created Secret kubeconfig-controlplane-cl-provider"),
        (1, "created Tenant cl-consumer"),
        (1, "created Secret liqo-nonce"),
    ] {
        let written = written(&document, cluster);
        assert!(
            written.contains(&object.to_owned()),
            "{object}: {written:?}"
        );
    }
    let first = json!({ "cluster": "local", "done": "Tenant namespace correctly ensured" });
    assert_eq!(document["steps"][0], first);
    let last = json!({ "cluster": "local", "done": "Identity status is filled" });
    assert_eq!(document["steps"].as_array().unwrap().last(), Some(&last));
    assert_eq!(
        document["kubeconfigs"],
        json!([{
            "kind": "Secret",
            "name": "kubeconfig-controlplane-cl-provider",
            "namespace": "liqo-tenant-cl-provider",
        }])
    );
    // The peerings are those of `status`.
    for (cluster, home) in [(0, "cl-consumer"), (1, "cl-provider")] {
        let status = folder.ok(&format!("status --home {home} -o json"));
        let status: Value = serde_json::from_str(&status).unwrap();
        let told = &document["clusters"][cluster];
        for field in ["peerings", "key", "apiServer", "clusterID"] {
            assert_eq!(told[field], status[field], "{field}");
        }
    }
    assert!(!run.out.contains("PRIVATE KEY") && !run.out.contains("LS0tLS"));
    // Once more, nothing is written.
    let again = json_of(&folder.run(&format!("authenticate {BOTH} -o json")));
    assert_eq!((written(&again, 0), written(&again, 1)), (vec![], vec![]));
    let picked = format!("authenticate {BOTH} -o jsonpath={{.outcome}}");
    assert_eq!(folder.ok(&picked), "done");
    let yaml = folder.ok(&format!("authenticate {BOTH} -o yaml"));
    assert!(yaml.contains("\ncommand: authenticate\n"), "{yaml}");
}

#[test]
fn what_is_awaited_has_its_code() {
    let folder = Folder::new();
    folder.ok("init --home cl-consumer");
    folder.ok("init --home cl-provider --api-server https://172.19.0.3:6443 --require-approval");
    let run = folder.run(&format!("authenticate {BOTH} -o json"));
    assert_eq!(run.code, 4, "{run:?}");
    let document = json_of(&run);
    assert_eq!(document["outcome"], "waiting");
    let awaited = &document["clusters"][1]["peerings"][0]["waitsFor"][0];
    assert_eq!(awaited["remedy"]["code"], "approve", "{awaited}");
    let usage = folder.run("authenticate --home cl-consumer --remote-home no -o json");
    assert_eq!(
        (usage.code, &json_of(&usage)["outcome"]),
        (2, &json!("usage"))
    );
    // What is tried is shown as a difference, as of all commands.
    let trial = folder.ok("renew --home cl-consumer --dry-run -o json");
    assert_eq!(trial, "");
}

#[test]
fn apply_tells_each_object() {
    let folder = with_files();
    let apply = "apply --home cl-consumer -f identity.yaml -o json";
    let document = json_of(&folder.run(apply));
    let applied = |action: &str| {
        json!([{
            "action": action,
            "kind": "Identity",
            "name": "controlplane-cl-provider",
            "peer": "cl-provider",
        }])
    };
    assert_eq!(document["applied"], applied("created"));
    assert_eq!(
        document["clusters"][0]["peerings"][0]["peer"],
        "cl-provider"
    );
    assert!(!written(&document, 0).is_empty());
    let again = json_of(&folder.run(apply));
    assert_eq!(again["applied"], applied("unchanged"));
    assert_eq!(written(&again, 0), Vec::<String>::new());

    let run = folder.run("apply --home cl-provider -f identity.yaml -o json");
    assert_eq!(run.code, 3, "{run:?}");
    let refused = json_of(&run);
    assert_eq!(refused["outcome"], "refused");
    assert_eq!(refused["applied"], Value::Null);
    assert_eq!(refused["clusters"][0]["peerings"], json!([]));
}

#[test]
fn renew_tells_each_certificate() {
    let folder = Folder::with_homes();
    folder.ok(&format!("authenticate {BOTH}"));
    folder.ok(&format!("create rs mypool {BOTH}"));
    let renewals = |options: &str, code: i32| {
        let run = folder.run(&format!("renew {options} -o json"));
        assert_eq!(run.code, code, "{run:?}");
        let document = json_of(&run);
        let certificates = document["certificates"].as_array().cloned();
        let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
        let certificates = certificates.unwrap_or_default().into_iter().map(|one| {
            assert!(text(&one["certificate"]["fingerprint"]).starts_with("SHA256:"));
            ["clusterID", "role", "slice", "renewal"]
                .map(|field| text(&one[field]))
                .join(" ")
        });
        (certificates.collect::<Vec<_>>(), document)
    };
    let (certificates, document) = renewals("--home cl-consumer", 0);
    assert_eq!(
        certificates,
        [
            "cl-consumer provider - notDue",
            "cl-consumer provider mypool notDue"
        ]
    );
    assert_eq!(document["clusters"].as_array().unwrap().len(), 1);
    let (certificates, document) = renewals(&format!("--home cl-consumer {LATER}"), 4);
    assert_eq!(
        certificates,
        [
            "cl-consumer provider - awaited",
            "cl-consumer provider mypool awaited"
        ]
    );
    assert_eq!(document["outcome"], "waiting");
    let (certificates, document) = renewals(&format!("{BOTH} {LATER}"), 0);
    assert_eq!(certificates.len(), 4, "{certificates:?}");
    for certificate in certificates {
        assert!(certificate.ends_with(" renewed"), "{certificate}");
    }
    let written = written(&document, 0);
    let identity = "configured Identity controlplane-cl-provider";
    assert!(written.contains(&identity.to_owned()), "{written:?}");
    // Only the peering that is named is told.
    folder.ok("create nonce --home cl-provider --remote-cluster-id cl-other");
    let (_, document) = renewals("--home cl-provider --remote-cluster-id cl-other", 0);
    let peerings = document["clusters"][0]["peerings"].as_array().unwrap();
    assert_eq!(peerings.len(), 1, "{document}");
    assert_eq!(peerings[0]["peer"], "cl-other");
}

#[test]
fn replicate_tells_each_direction() {
    let folder = Folder::with_homes();
    folder.ok(&format!("authenticate {BOTH}"));
    let replicate = format!("replicate {BOTH} -o json");
    let document = json_of(&folder.run(&replicate));
    let direction = json!({ "consumer": "cl-consumer", "provider": "cl-provider", "inSync": true });
    assert_eq!(document["directions"], json!([direction]));
    folder.ok("drain tenant cl-consumer --home cl-provider");
    let run = folder.run(&replicate);
    assert_eq!(run.code, 4, "{run:?}");
    let direction = &json_of(&run)["directions"][0];
    assert_eq!(direction["inSync"], false);
    let why = direction["error"].as_str().unwrap();
    assert!(why.contains("grants cl-consumer no rights"), "{why}");
}
