//! The life of a peering on real API servers, which `e2e/run` starts.

use std::env;

use kube::{
    Client, Config,
    api::ListParams,
    config::{KubeConfigOptions, Kubeconfig},
};
use liqo_auth::{crypto::CaBundle, model::Kind, policy::Policy, provider::Endpoint};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::{
    clusters::controllers,
    life::{Life, api},
};

#[tokio::test]
#[ignore = "needs the clusters that e2e/run starts"]
async fn a_life_on_real_api_servers() {
    let (rome, _) = connect(&kubeconfig("LIQO_AUTH_ROME")).await;
    let (milan, config) = connect(&kubeconfig("LIQO_AUTH_MILAN")).await;
    let mut running = JoinSet::new();
    let (consumer, provider) = controllers(
        rome.clone(),
        milan.clone(),
        &endpoint(&config),
        &mut running,
    )
    .await;
    let life = Life {
        consumer: &consumer,
        provider: &provider,
        rome: &rome,
        milan: &milan,
    };

    life.begin().await;
    let peer = log_in(&life).await;
    assert_eq!(whoami(&peer).await, "rome");
    let slices = api(&peer, Kind::ResourceSlice, "liqo-tenant-rome");
    slices.list(&ListParams::default()).await.unwrap();
    let secrets = api(&peer, Kind::Secret, "liqo");
    let refused = secrets.list(&ListParams::default()).await.unwrap_err();
    assert!(is_forbidden(&refused), "{refused}");

    life.lose_a_binding().await;
    slices.list(&ListParams::default()).await.unwrap();

    life.end().await;
    let refused = slices.list(&ListParams::default()).await.unwrap_err();
    assert!(is_forbidden(&refused), "{refused}");

    life.begin().await;
    assert_eq!(whoami(&log_in(&life).await).await, "rome");
}

/// A client of the provider, by the kubeconfig that the consumer has.
async fn log_in(life: &Life<'_>) -> Client {
    let names = life.kubeconfigs().await;
    let secrets = api(life.rome, Kind::Secret, "liqo-tenant-milan");
    let secret = secrets.get(&names[0]).await.unwrap();
    let kubeconfig = secret.data["data"]["kubeconfig"].as_str().unwrap();
    let kubeconfig = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, kubeconfig);
    let kubeconfig = String::from_utf8(kubeconfig.unwrap()).unwrap();
    connect(&Kubeconfig::from_yaml(&kubeconfig).unwrap())
        .await
        .0
}

async fn whoami(client: &Client) -> String {
    let request = json!({
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "SelfSubjectReview",
    });
    let review = http::Request::post("/apis/authentication.k8s.io/v1/selfsubjectreviews")
        .header("content-type", "application/json")
        .body(request.to_string().into_bytes())
        .unwrap();
    let review: Value = client.request(review).await.unwrap();
    review["status"]["userInfo"]["username"]
        .as_str()
        .unwrap()
        .to_owned()
}

fn is_forbidden(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.is_forbidden())
}

fn kubeconfig(variable: &str) -> Kubeconfig {
    let file = env::var_os(variable).unwrap_or_else(|| panic!("{variable} is not set"));
    Kubeconfig::read_from(file).unwrap()
}

async fn connect(kubeconfig: &Kubeconfig) -> (Client, Kubeconfig) {
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig.clone(), &options)
        .await
        .unwrap();
    (Client::try_from(config).unwrap(), kubeconfig.clone())
}

/// The API server and the CA that a kubeconfig names.
fn endpoint(kubeconfig: &Kubeconfig) -> Endpoint {
    let cluster = kubeconfig.clusters[0].cluster.as_ref().unwrap();
    let ca = cluster.certificate_authority_data.as_deref().unwrap();
    let ca = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, ca).unwrap();
    let ca = CaBundle::from_pem(&ca, &Policy::compatible()).unwrap();
    Endpoint::new(
        cluster.server.as_deref().unwrap().parse().unwrap(),
        Some(&ca),
    )
}
