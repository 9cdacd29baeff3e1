//! A provider that gives AWS users in place of certificates.

use crate::tool::{Folder, make_ca};
use serde_json::{Value, json};

const AUTHENTICATE: &str = "authenticate --home cl-consumer --remote-home cl-provider";
const SECRET: &str = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";

fn with_homes() -> Folder {
    let folder = Folder::new();
    folder.ok("init --home cl-consumer");
    make_ca(&folder);
    folder.ok("init --home cl-provider --signer aws --api-server https://eks.example --api-server-ca ca.crt");
    folder
}

fn set_user(key: &str) -> String {
    format!(
        "set aws-user --home cl-provider --remote-cluster-id cl-consumer --user-arn arn:aws:iam::123456789012:user/rome --access-key-id {key} --region eu-west-1 --eks-cluster milan"
    )
}

fn keys_to_delete(folder: &Folder) -> Value {
    let keys = folder.ok("get aws-keys --home cl-provider -o json");
    serde_json::from_str::<Value>(&keys).unwrap()["keys"].take()
}

#[test]
fn a_person_enters_the_user_and_forgets_the_deleted_key() {
    let folder = with_homes();
    let first = "AKIAIOSFODNN7EXAMPLE";
    // Nobody waits for a user yet.
    folder.refused(&set_user(first), SECRET, 4);
    let run = folder.run(AUTHENTICATE);
    assert_eq!(run.code, 4, "{run:?}");
    assert!(
        run.err.contains("set aws-user --home cl-provider"),
        "{run:?}"
    );
    assert!(
        run.err
            .contains("the Kubernetes user cl-consumer with the group liqo.io"),
        "{run:?}"
    );
    let status = folder.ok("status --home cl-provider");
    assert!(status.contains("this side: run `set aws-user`"), "{status}");
    let doctor = folder.run("doctor --home cl-provider");
    assert_eq!(doctor.code, 4, "{doctor:?}");
    for part in [
        "the request of cl-consumer waits for this cluster's signer",
        "Make an IAM user with an access key",
        "set aws-user --home cl-provider --remote-cluster-id cl-consumer --user-arn ARN",
    ] {
        assert!(doctor.out.contains(part), "{part}: {doctor:?}");
    }
    folder.refused(&set_user("no-key"), SECRET, 2);
    let said = folder.ok_with(&set_user(first), SECRET);
    assert!(!said.contains(SECRET));
    folder.ok(AUTHENTICATE);
    let identity = folder.ok("get identities --home cl-consumer -o yaml");
    assert!(
        identity.contains(&format!("awsAccessKeyID: {first}\n")),
        "{identity}"
    );
    folder.ok("get kubeconfig --home cl-consumer --remote-cluster-id cl-provider");
    folder.refused(&set_user(first), SECRET, 4);
    assert_eq!(keys_to_delete(&folder), json!([]));

    // An export shows neither the key nor the kubeconfig unless it is asked to.
    let public = folder.run("export --home cl-consumer");
    assert!(
        !public.out.contains(SECRET) && !public.out.contains("awsConfig"),
        "{public:?}"
    );
    let whole = folder.ok("export --home cl-consumer --secrets");
    assert!(whole.contains(SECRET), "{whole}");

    // The key of an ended peering stays until a person has deleted it at AWS.
    folder.ok("unauthenticate --yes --home cl-consumer --remote-home cl-provider");
    let to_delete = json!([{
        "consumer": "cl-consumer",
        "userArn": "arn:aws:iam::123456789012:user/rome",
        "accessKeyID": first,
    }]);
    assert_eq!(keys_to_delete(&folder), to_delete);
    let status = folder.ok("status --home cl-provider");
    let waits = format!("delete the access key {first} at AWS, and then run `delete aws-key`\n");
    assert!(status.contains(&waits), "{status}");
    let keys = "get aws-keys --home cl-provider -o";
    assert_eq!(
        folder.ok(&format!("{keys} jsonpath={{.keys[*].accessKeyID}}")),
        first
    );
    assert_eq!(
        folder.ok(&format!("{keys} yaml")),
        format!(
            "keys:\n- accessKeyID: {first}\n  consumer: cl-consumer\n  userArn: arn:aws:iam::123456789012:user/rome\n"
        )
    );
    let names =
        folder.ok("get aws-keys --home cl-provider --remote-cluster-id cl-consumer -o name");
    assert_eq!(names, format!("{first}\n"));
    assert_eq!(
        folder.ok("get aws-keys --home cl-provider --remote-cluster-id cl-x -o name"),
        ""
    );
    let delete = |key: &str| {
        format!("delete aws-key {key} --home cl-provider --remote-cluster-id cl-consumer")
    };
    folder.refused(&delete("AKIAIOSFODNN7OTHERS1"), "", 4);
    folder.ok(&delete(first));
    assert_eq!(keys_to_delete(&folder), json!([]));
    folder.refused(&delete(first), "", 4);
}

#[test]
fn a_slice_has_a_user_of_its_own() {
    let folder = with_homes();
    folder.run(AUTHENTICATE);
    folder.ok_with(&set_user("AKIAIOSFODNN7EXAMPLE"), SECRET);
    folder.ok(AUTHENTICATE);
    folder.run("create rs pool --home cl-consumer --remote-home cl-provider --cpu 1");
    let slice = set_user("AKIAIOSFODNN7SLICE00").replace("/rome", "/pool");
    folder.ok_with(&format!("{slice} --resourceslice pool"), SECRET);
    folder.ok("replicate --home cl-consumer --remote-home cl-provider");
    let identities = folder.ok("get identities --home cl-consumer -o yaml");
    assert!(
        identities.contains("awsAccessKeyID: AKIAIOSFODNN7SLICE00\n"),
        "{identities}"
    );
    folder.ok(
        "get kubeconfig --home cl-consumer --remote-cluster-id cl-provider --resourceslice pool",
    );
    folder.ok("delete rs pool --home cl-consumer --remote-home cl-provider");
    assert_eq!(
        keys_to_delete(&folder)[0]["accessKeyID"],
        "AKIAIOSFODNN7SLICE00"
    );
}

#[test]
fn a_home_that_signs_takes_no_user() {
    let folder = Folder::with_homes();
    let said = folder.refused(&set_user("AKIAIOSFODNN7EXAMPLE"), SECRET, 2);
    assert!(said.contains("signer: aws"), "{said}");
    let said = folder.refused(
        "init --home cl-x --signer aws --ca-key a --ca-cert b",
        "",
        2,
    );
    assert!(
        said.contains("--signer aws does not take --ca-key"),
        "{said}"
    );
}
