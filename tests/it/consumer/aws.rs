//! A consumer whose provider is on EKS.

use base64::{Engine, engine::general_purpose::STANDARD};
use liqo_auth::{
    audit::Decision,
    consumer::{PeerSettings, Renewal},
    error::{Fault, PeerIncompatible, PeerMisbehaved, PolicyRefusal},
    machine::MessageBody,
    model::{AuthParams, AwsConfig, Bytes, Secret},
};

use crate::{
    clusters::exchange::{API_SERVER, authority},
    consumer::home::{Home, IDENTITY, YEAR},
};

fn config() -> AwsConfig {
    AwsConfig {
        aws_user_arn: "arn:aws:iam::123456789012:user/liqo-Ab12".to_owned(),
        aws_access_key_id: "AKIAIOSFODNN7EXAMPLE".to_owned(),
        aws_secret_access_key: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".into(),
        aws_region: "eu-west-1".to_owned(),
        aws_cluster_name: "provider".to_owned(),
    }
}

/// EKS gives its CA in base64, and Liqo encodes it in base64 once more.
fn auth_params(config: AwsConfig) -> AuthParams {
    let ca = STANDARD.encode(authority().ca_bundle().pem());
    AuthParams {
        ca: Bytes::from(ca.into_bytes()),
        api_server: API_SERVER.to_owned(),
        aws_config: Some(config),
        ..AuthParams::default()
    }
}

fn home() -> Home {
    let mut home = Home::with(PeerSettings {
        accept_aws: true,
        ..PeerSettings::default()
    });
    home.sign_nonce(7);
    home
}

fn give(home: &mut Home, auth_params: &AuthParams) -> Result<(), Fault> {
    let identity = Box::new(home.identity(auth_params));
    home.receive(MessageBody::Identity(identity))
        .map(|step| {
            let decisions = step.events.iter().map(|event| &event.decision);
            assert!(decisions.eq([&Decision::IdentityTaken { certificate: None }]));
        })
        .map_err(|error| error.fault().clone())
}

#[test]
fn the_aws_keys_are_in_the_secret_of_the_kubeconfig_as_in_liqo() {
    let mut home = home();
    give(&mut home, &auth_params(config())).unwrap();
    home.settle();
    assert_eq!(home.phase(), "Authenticated");
    let secret: Secret = home.get(&format!("kubeconfig-{IDENTITY}")).unwrap();
    let text = |key: &str| String::from_utf8(secret.get(key).unwrap().to_vec()).unwrap();
    let mut keys: Vec<&str> = secret.data.keys().map(String::as_str).collect();
    keys.sort_unstable();
    assert_eq!(
        keys,
        [
            "awsAccessKeyID",
            "awsEksClusterID",
            "awsIamUserArn",
            "awsRegion",
            "awsSecretAccessKey",
            "kubeconfig"
        ]
    );
    assert_eq!(text("awsAccessKeyID"), "AKIAIOSFODNN7EXAMPLE");
    assert_eq!(text("awsEksClusterID"), "provider");
    assert_eq!(
        text("awsIamUserArn"),
        "arn:aws:iam::123456789012:user/liqo-Ab12"
    );
    assert_eq!(text("awsRegion"), "eu-west-1");
    assert_eq!(
        text("awsSecretAccessKey"),
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
    );
    // The CA is the one from the Identity; Liqo decodes it. There is no private
    // key, because nothing would use it.
    let ca = STANDARD.encode(auth_params(config()).ca.as_slice());
    assert_eq!(
        text("kubeconfig"),
        format!(
            "apiVersion: v1\nclusters:\n- cluster:\n    certificate-authority-data: {ca}\n    \
             server: {API_SERVER}\n  name: cl-provider\ncontexts:\n- context:\n    cluster: \
             cl-provider\n    namespace: liqo-tenant-cl-consumer\n    user: {IDENTITY}\n  name: \
             default-context\ncurrent-context: default-context\nkind: Config\nusers:\n- name: \
             {IDENTITY}\n  user: {{}}\n"
        )
    );
    assert_eq!(home.held().renewal, Renewal::Never);
    assert_eq!(
        home.held().accepted.identity.credentials.valid_until(),
        None
    );
    assert_eq!(home.renew(), None);
    let shown = format!("{:?} {:?}", home.objects, home.reconciled());
    assert!(!shown.contains("wJalrXUtnFEMI"), "{shown}");
}

#[test]
fn an_aws_user_is_refused_unless_the_settings_accept_it() {
    let mut home = Home::new();
    home.sign_nonce(7);
    assert_eq!(
        give(&mut home, &auth_params(config())),
        Err(PolicyRefusal::AwsNotAccepted.into())
    );
}

#[test]
fn a_malformed_field_is_refused_by_its_name() {
    type Tamper = fn(&mut AwsConfig);
    let cases: [(&str, Tamper); 5] = [
        ("the ARN of an IAM user", |config| {
            config.aws_user_arn = "arn:aws:iam::1:user/x".to_owned();
        }),
        ("the ID of an access key", |config| {
            config.aws_access_key_id = "x".to_owned();
        }),
        ("a secret access key", |config| {
            config.aws_secret_access_key = "\n".into();
        }),
        ("the name of an AWS region", |config| {
            config.aws_region = "eu-west-1.evil.example/".to_owned();
        }),
        ("the name of an EKS cluster", |config| {
            config.aws_cluster_name = String::new();
        }),
    ];
    for (expected, tamper) in cases {
        let mut config = config();
        tamper(&mut config);
        assert_eq!(
            give(&mut home(), &auth_params(config)),
            Err(PeerMisbehaved::AwsField { expected }.into())
        );
    }
    let mut mixed = auth_params(config());
    mixed.signed_crt = home().issue(YEAR).signed_crt;
    assert_eq!(
        give(&mut home(), &mixed),
        Err(PeerMisbehaved::MixedCredentials.into())
    );
    let mut no_ca = auth_params(config());
    no_ca.ca = b"====".as_slice().into();
    assert!(matches!(
        give(&mut home(), &no_ca),
        Err(Fault::PeerMisbehaved(PeerMisbehaved::CaBundle(_)))
    ));
}

#[test]
fn the_access_key_may_change_but_not_the_aws_user() {
    let mut home = home();
    give(&mut home, &auth_params(config())).unwrap();
    home.settle();
    let mut rotated = config();
    rotated.aws_access_key_id = "AKIAIOSFODNN7EXAMPLF".to_owned();
    give(&mut home, &auth_params(rotated)).unwrap();
    home.settle();
    let secret: Secret = home.get(&format!("kubeconfig-{IDENTITY}")).unwrap();
    assert_eq!(
        secret.get("awsAccessKeyID"),
        Some(&b"AKIAIOSFODNN7EXAMPLF"[..])
    );
    let mut other = config();
    other.aws_user_arn = "arn:aws:iam::123456789012:user/other".to_owned();
    for given in [auth_params(other), home.issue(YEAR)] {
        let fault = give(&mut home, &given).unwrap_err();
        assert!(
            fault == PeerIncompatible::OtherCredentials.into()
                || fault == PeerIncompatible::EndpointChanged.into(),
            "{fault}"
        );
    }
}
