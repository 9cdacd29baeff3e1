//! A home whose cluster signs: what waits for the signer is named, with what a person does.

use std::fs;

use serde_json::Value;

use crate::tool::{Folder, Run, make_ca};

const BOTH: &str = "--home cl-consumer --remote-home cl-provider";
const REQUESTS: &str = "cl-provider/manifests/_cluster";

/// A peering whose provider does not sign by itself any more.
fn with_peering() -> Folder {
    let folder = Folder::with_homes();
    folder.ok(&format!("authenticate {BOTH}"));
    folder.ok(&format!("create rs mypool {BOTH}"));
    folder.ok(&format!("replicate {BOTH}"));
    // The CA of the API server stays.
    folder.write("ca.crt", &authority(&folder));
    folder.ok("set ca ca.crt --home cl-provider");
    let settings = folder.read("cl-provider/home.yaml");
    folder.write(
        "cl-provider/home.yaml",
        &format!("{settings}signer: kubernetes\n"),
    );
    folder
}

fn authority(folder: &Folder) -> String {
    use base64::{Engine, engine::general_purpose::STANDARD};
    let secret = folder.read("cl-provider/private/liqo/secret.liqo-auth-authority.yaml");
    let mut lines = secret.lines().map(str::trim);
    let text = lines.find_map(|line| line.strip_prefix("tls.crt: "));
    String::from_utf8(STANDARD.decode(text.unwrap()).unwrap()).unwrap()
}

fn findings(folder: &Folder, now: &str) -> Vec<(String, String)> {
    let run = folder.run(&format!("doctor --home cl-provider {now} -o json"));
    assert_eq!(run.code, 4, "{run:?}");
    let all: Value = serde_json::from_str(&run.out).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let findings = all["findings"].as_array().unwrap().iter();
    findings
        .map(|found| (text(&found["what"]), text(&found["remedy"])))
        .collect()
}

/// The names of the requests that have no certificate.
fn unsigned(folder: &Folder) -> Vec<String> {
    let files = fs::read_dir(folder.path(REQUESTS)).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let requests = names.filter_map(|file| {
        let name = file.strip_prefix("certificatesigningrequest.")?;
        let is_open = !folder
            .read(&format!("{REQUESTS}/{file}"))
            .contains("  certificate: ");
        is_open.then(|| name.strip_suffix(".yaml").unwrap().to_owned())
    });
    let mut requests: Vec<String> = requests.collect();
    requests.sort();
    requests
}

/// What a person does for the signer.
fn needs(folder: &Folder) -> String {
    let requests = unsigned(folder);
    let apply = |name: &String| {
        format!("kubectl get csr {name} -o yaml | liqo-auth apply --home cl-provider -f -")
    };
    let applied: Vec<String> = requests.iter().map(apply).collect();
    format!(
        "liqo-auth export --home cl-provider | kubectl apply -f -; kubectl certificate approve {}; {}",
        requests.join(" "),
        applied.join("; ")
    )
}

fn says(run: &Run, code: i32, error: &str) {
    assert_eq!(run.code, code, "{run:?}");
    assert!(run.err.contains(error), "{error}: {run:?}");
}

#[test]
fn what_has_expired_waits_for_the_signer() {
    let folder = with_peering();
    let late = "--now +400d";
    let [(what, remedy), _] = findings(&folder, late).try_into().unwrap();
    assert!(
        what.starts_with("the certificate of cl-consumer ended at"),
        "{what}"
    );
    let makes = "`liqo-auth renew --home cl-provider` makes the request for the next one";
    assert!(remedy.contains(makes), "{remedy}");

    let renew = format!("renew --home cl-provider {late} --write-at-this-time");
    let run = folder.run(&renew);
    let needs = needs(&folder);
    let left = format!(
        "Error: not renewed: certificate of cl-consumer, certificate of cl-consumer for slice mypool. the request of cl-consumer waits for the cluster's signer: {needs}\n"
    );
    says(&run, 4, &left);
    let [(what, remedy), _] = findings(&folder, late).try_into().unwrap();
    assert!(
        what.starts_with("the certificate of cl-consumer ended at"),
        "{what}"
    );
    let waits = format!("The request waits for the cluster's signer: `{needs}`. Then cl-consumer");
    assert!(remedy.starts_with(&waits), "{remedy}");

    // The signer denies it.
    let [request] = unsigned(&folder).try_into().unwrap();
    let file = format!("{REQUESTS}/certificatesigningrequest.{request}.yaml");
    let text = folder.read(&file);
    let denied = text.replace("type: Approved", "type: Denied");
    assert_ne!(text, denied);
    folder.write(&file, &denied);
    let run = folder.run(&renew);
    let refused = "Error: not renewed: certificate of cl-consumer, certificate of cl-consumer for slice mypool. cl-consumer: Tenant ";
    says(&run, 3, refused);
    says(&run, 3, "sign-again tenant cl-consumer");
}

#[test]
fn what_is_due_waits_for_the_signer() {
    let folder = with_peering();
    let later = "--now +300d";
    let [(what, _)] = findings(&folder, later).try_into().unwrap();
    assert!(
        what.starts_with("this side has not done what is due"),
        "{what}"
    );
    let renew = format!("renew --home cl-provider {later} --write-at-this-time");
    let run = folder.run(&renew);
    let needs = needs(&folder);
    // That of the slice as well.
    assert_eq!(unsigned(&folder).len(), 2, "{needs}");
    says(&run, 4, &format!("cluster's signer: {needs}\n"));
    let waits = "the request of cl-consumer waits for this cluster's signer";
    let found = [(waits.to_owned(), needs)];
    assert_eq!(findings(&folder, later), found);
    let tree = folder.ok(&format!("status --tree --home cl-provider {later}"));
    assert!(tree.contains(waits), "{tree}");
    let run = folder.run(&format!("replicate {BOTH} {later} --write-at-this-time"));
    says(&run, 4, "kubectl certificate approve");
}

#[test]
fn a_new_peer_waits_for_the_signer() {
    let folder = Folder::new();
    folder.ok("init --home cl-consumer");
    make_ca(&folder);
    folder.ok("init --home cl-provider --signer kubernetes --api-server-ca ca.crt --api-server https://172.19.0.3:6443");
    folder.write("tenant.yaml", &folder.tenant());
    folder.ok("apply --home cl-provider -f tenant.yaml");
    let needs = needs(&folder);
    let waits = "the request of cl-consumer waits for this cluster's signer";
    assert_eq!(findings(&folder, ""), [(waits.to_owned(), needs.clone())]);
    let run = folder.run("renew --home cl-provider");
    let left =
        format!("Error: the request of cl-consumer waits for the cluster's signer: {needs}\n");
    says(&run, 4, &left);
}
