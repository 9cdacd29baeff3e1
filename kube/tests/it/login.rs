//! Clients of real API servers: by the kubeconfigs of `e2e/run`, and by those that a
//! consumer was given.

use std::{env, path::PathBuf};

use kube::{
    Api, Client, Config,
    api::{DynamicObject, ListParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use liqo_auth::{
    crypto::CaBundle,
    model::{self, Kind, Namespace, Object},
    policy::Policy,
    provider::Endpoint,
};
use liqo_auth_kube::{client_of, config_of_identity, resource};
use serde_json::{Value, json};

use crate::life::api;

/// A cluster, as its administrator sees it.
pub struct Administered {
    pub client: Client,
    /// The file with the administrator's kubeconfig.
    pub file: PathBuf,
    kubeconfig: Kubeconfig,
}

impl Administered {
    /// The cluster whose kubeconfig this environment variable names.
    pub async fn by(variable: &str) -> Self {
        let file = env::var_os(variable).unwrap_or_else(|| panic!("{variable} is not set"));
        let kubeconfig = Kubeconfig::read_from(&file).unwrap();
        Self {
            client: connect(&kubeconfig).await,
            file: file.into(),
            kubeconfig,
        }
    }

    /// The API server and the CA that the kubeconfig names.
    pub fn endpoint(&self) -> Endpoint {
        let cluster = self.kubeconfig.clusters[0].cluster.as_ref().unwrap();
        let ca = decoded(cluster.certificate_authority_data.as_deref().unwrap());
        let ca = CaBundle::from_pem(&ca, &Policy::compatible()).unwrap();
        let server = cluster.server.as_deref().unwrap();
        Endpoint::new(server.parse().unwrap(), Some(&ca))
    }

    /// A client with the rights of a peering user of Liqo, whose role `e2e/run` has
    /// installed: those that `liqoctl generate peering-user` would give.
    pub async fn peering_user(&self, consumer: &str) -> Client {
        let tenant_namespace = Namespace::for_tenant(&consumer.parse().unwrap());
        let namespace = tenant_namespace.metadata.name.clone();
        let namespaces = Api::all_with(self.client.clone(), &resource(Kind::Namespace));
        create(&namespaces, Object::from(tenant_namespace).to_value()).await;
        let bindings = api(&self.client, Kind::RoleBinding, &namespace);
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": { "name": "peering-user" },
            "subjects": [
                { "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "peering-user" },
            ],
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": "liqo-peering-user-tenant-ns",
            },
        });
        create(&bindings, binding).await;
        let mut kubeconfig = self.kubeconfig.clone();
        let user = kubeconfig.auth_infos[0].auth_info.as_mut().unwrap();
        user.impersonate = Some("peering-user".to_owned());
        connect(&kubeconfig).await
    }

    /// A client by the kubeconfig in a Secret of this cluster.
    pub async fn log_in(&self, namespace: &str, secret: &str) -> Client {
        let secrets = api(&self.client, Kind::Secret, namespace);
        let secret = secrets.get(secret).await.unwrap();
        let kubeconfig = decoded(secret.data["data"]["kubeconfig"].as_str().unwrap());
        let kubeconfig = String::from_utf8(kubeconfig).unwrap();
        let kubeconfig = model::Kubeconfig::parse(&kubeconfig).unwrap();
        client_of(config_of_identity(&kubeconfig).unwrap()).unwrap()
    }
}

/// The user's name, as the API server knows it.
pub async fn whoami(client: &Client) -> String {
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

/// Whether the user may list these objects. Fails on any other answer.
pub async fn may_list(client: &Client, kind: Kind, namespace: &str) -> bool {
    match api(client, kind, namespace)
        .list(&ListParams::default())
        .await
    {
        Ok(_) => true,
        Err(kube::Error::Api(status)) if status.is_forbidden() => false,
        Err(error) => panic!("{error}"),
    }
}

async fn create(objects: &Api<DynamicObject>, object: Value) {
    let object: DynamicObject = serde_json::from_value(object).unwrap();
    objects
        .create(&PostParams::default(), &object)
        .await
        .unwrap();
}

async fn connect(kubeconfig: &Kubeconfig) -> Client {
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig.clone(), &options).await;
    Client::try_from(config.unwrap()).unwrap()
}

fn decoded(base64: &str) -> Vec<u8> {
    base64::Engine::decode(&base64::engine::general_purpose::STANDARD, base64).unwrap()
}
