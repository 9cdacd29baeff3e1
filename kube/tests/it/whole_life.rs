//! The life of a peering, as after an installation: the controllers run with all of their
//! parts and with the rights of their servers, and the administrators carry the messages.
//! Each right that `deploy/` grants is used.

use futures::{StreamExt, future::pending};
use kube::api::{Patch, PatchParams};
use liqo_auth::{
    Consumer, Provider,
    consumer::SliceOptions,
    model::{Kind, ObjectRef, TenantCondition},
};
use liqo_auth_kube::{Cluster, Controller, Handle, LimitsEnforcement, follow};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::{
    administrator::Administrator,
    clusters::{Configure, authenticated, consumer_of, id, names, provider_of, signer},
    fake::FakeApiServer,
    life::{Life, api, until},
    offloading::both_have,
    replicating::{as_rome, named, remote_control_plane},
};

/// Rome. A second controller of the consumer has made an Identity, a Renew and a kubeconfig
/// first.
pub fn rome() -> FakeApiServer {
    FakeApiServer::with_liqo("rome").overtaking(&[
        "identities",
        "renews",
        "secrets/kubeconfig-resourceslice-mypool",
    ])
}

/// Milan. A second controller of the provider has made some of the objects first.
pub fn milan() -> FakeApiServer {
    FakeApiServer::with_liqo("milan").overtaking(&[
        "namespaces",
        "certificatesigningrequests",
        "rolebindings/liqo-binding-liqo-remote-controlplane",
        "clusterrolebindings",
        "secrets/liqo-nonce",
    ])
}

/// Lives this life on both servers.
pub async fn live(rome: FakeApiServer, milan: FakeApiServer, configure: Configure) {
    let mut peering = Peering::start(rome, milan, configure).await;
    peering.follow_settings().await;
    peering.begin().await;
    peering.repair().await;
    peering.end().await;
    peering.begin_again().await;
    peering.offload().await;
    peering.drain().await;
    peering.leave_namespaces().await;
}

struct Peering {
    rome: FakeApiServer,
    milan: FakeApiServer,
    /// Milan, as the user rome sees it.
    as_rome: FakeApiServer,
    consumer: Handle,
    provider: Handle,
    at_rome: Administrator<Consumer>,
    at_milan: Administrator<Provider>,
    /// Milan's signer of certificates.
    signing: JoinSet<()>,
    _controllers: JoinSet<()>,
}

impl Peering {
    async fn start(rome: FakeApiServer, milan: FakeApiServer, configure: Configure) -> Self {
        let (mut signing, mut controllers) = (JoinSet::new(), JoinSet::new());
        let endpoint = signer(&milan, &mut signing);
        let as_rome = as_rome(&milan);

        let cluster = Cluster::open(rome.client()).await.unwrap();
        cluster.service_ranges().await.unwrap();
        let to_milan = as_rome.client();
        let builder = Controller::builder(&cluster)
            .consumer(consumer_of(&cluster))
            .replicate(move |_, _| Ok(to_milan.clone()))
            .offloading(LimitsEnforcement::Soft)
            .publish_events();
        let (controller, consumer) = configure(builder).build();
        controllers.spawn(controller.run(pending()));

        let cluster = Cluster::open(milan.client()).await.unwrap();
        cluster.storage_classes().await.unwrap();
        let builder = Controller::builder(&cluster)
            .provider(provider_of(&cluster, &endpoint))
            .offloading(LimitsEnforcement::Soft)
            .publish_events();
        let (controller, provider) = configure(builder).build();
        controllers.spawn(controller.run(pending()));

        consumer.synchronized().await;
        provider.synchronized().await;
        let at_rome = Administrator::new(rome.administrator().client(), consumer_of);
        let at_milan = Administrator::new(milan.administrator().client(), move |cluster| {
            provider_of(cluster, &endpoint)
        });
        Self {
            rome,
            milan,
            as_rome,
            consumer,
            provider,
            at_rome,
            at_milan,
            signing,
            _controllers: controllers,
        }
    }

    /// As `liqo-auth run` follows its settings.
    async fn follow_settings(&self) {
        for server in [&self.rome, &self.milan] {
            for (kind, plural) in [(Kind::ConfigMap, "configmaps"), (Kind::Secret, "secrets")] {
                let settings = ObjectRef::new(kind, "liqo", "liqo-auth-settings");
                let mut settings = follow(&server.client(), &settings);
                assert!(settings.next().await.unwrap().is_none());
                // The watch begins when the next state is waited for.
                let is_watched = until("the settings are watched", async || {
                    let requests = server.requests();
                    requests.iter().any(|line| {
                        line.contains(&format!("/namespaces/liqo/{plural}?"))
                            && line.contains("liqo-auth-settings")
                            && line.contains("watch=true")
                    })
                });
                tokio::select! {
                    changed = settings.next() => panic!("the settings have changed: {changed:?}"),
                    () = is_watched => {}
                }
            }
        }
    }

    /// The provider's controller invites the peer that its settings declare. Then somebody
    /// asks for a nonce, as Liqo does it.
    async fn begin(&self) {
        self.provider.invite(&id("rome")).await.unwrap();
        let asks = json!({ "data": { "nonce": null } });
        change(&self.milan, AT_MILAN, Kind::Secret, "liqo-nonce", asks).await;
        self.carry_messages().await;
    }

    /// As `liqo-auth authenticate` does it.
    async fn begin_again(&self) {
        self.as_rome.clone().with_rights(remote_control_plane());
        self.at_milan
            .order(&id("rome"), |provider, view, env| {
                provider.invite(view, env)
            })
            .await;
        self.carry_messages().await;
    }

    async fn carry_messages(&self) {
        let (rome, milan) = (id("rome"), id("milan"));
        let nonce = self.at_milan.message(&rome, "nonce").await;
        self.at_rome.receive(&milan, &nonce).await;
        let tenant = self.at_rome.message(&milan, "Tenant").await;
        self.at_milan.receive(&rome, &tenant).await;
        let identity = self.at_milan.message(&rome, "Identity").await;
        self.at_rome.receive(&milan, &identity).await;
        authenticated(&self.consumer, &self.provider).await;
    }

    /// The controllers make again what others have changed.
    async fn repair(&self) {
        let life = Life {
            consumer: &self.consumer,
            provider: &self.provider,
            rome: &self.rome.administrator().client(),
            milan: &self.milan.administrator().client(),
        };
        life.lose_a_binding().await;

        // The second event of the same decision is a change of the first one.
        for _ in 0..2 {
            let unsigned = json!({ "data": { "signedNonce": null } });
            change(
                &self.rome,
                AT_ROME,
                Kind::Secret,
                "liqo-signed-nonce",
                unsigned,
            )
            .await;
            until("the nonce is signed again", async || {
                let secret = named(&self.rome, "secrets", "liqo-signed-nonce");
                secret["data"]["signedNonce"].is_string()
            })
            .await;
        }

        for (server, namespace, name, key) in [
            (
                &self.rome,
                AT_ROME,
                "kubeconfig-controlplane-milan",
                "kubeconfig",
            ),
            (&self.milan, AT_MILAN, "liqo-remote-certificate", "crt"),
        ] {
            let wrong = json!({ "data": { key: "YQ==" } });
            change(server, namespace, Kind::Secret, name, wrong).await;
            until("the Secret has its content again", async || {
                named(server, "secrets", name)["data"][key] != "YQ=="
            })
            .await;
        }

        // A record of a slice that is too large cannot be read.
        let content = (0..2100).map(|key| (key.to_string(), Value::from("YQ==")));
        self.milan.put(json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": "liqo-auth-slice-large",
                "namespace": "liqo",
                "labels": { "liqo-auth/peer": "rome" },
            },
            "data": content.collect::<serde_json::Map<_, _>>(),
        }));
        until("the record is deleted", async || {
            !names(&self.milan, "secrets").contains(&"liqo-auth-slice-large".to_owned())
        })
        .await;

        let renews = || self.rome.all("renews");
        until("the provider's answer has come back", async || {
            let answers = renews();
            answers.len() == 1 && answers[0]["status"]["authParams"].is_object()
        })
        .await;
        let unlabelled = json!({ "metadata": { "labels": { "liqo.io/remote-cluster-id": null } } });
        change(
            &self.rome,
            AT_ROME,
            Kind::Renew,
            "controlplane-milan",
            unlabelled,
        )
        .await;
        until("the Renew has its label again", async || {
            renews()[0]["metadata"]["labels"]["liqo.io/remote-cluster-id"] == "milan"
        })
        .await;
    }

    /// As `liqo-auth unauthenticate` does it, which is killed at the consumer.
    async fn end(&self) {
        self.offload_a_namespace();
        self.lose_rights();
        self.at_milan
            .order(&id("rome"), |provider, view, _| provider.end(view))
            .await;
        until("the peering is gone at the provider", async || {
            let mut kinds = ["tenants", "renews"].iter();
            kinds.all(|plural| names(&self.milan, plural).is_empty())
                && !names(&self.milan, "secrets").contains(&"liqo-nonce".to_owned())
        })
        .await;
        assert_eq!(names(&self.milan, "clusterrolebindings").len(), 0);
        assert_eq!(names(&self.milan, "rolebindings"), ["liqo-auth"]);
        let map = named(&self.milan, "namespacemaps", "milan");
        assert_eq!(map["metadata"]["labels"]["liqo.io/originID"], "");
        self.at_rome
            .begin(&id("milan"), |consumer, view, _| {
                consumer.unauthenticate(view)
            })
            .await;
        until("the peering is gone at the consumer", async || {
            let mut kinds = ["identities", "renews"].iter();
            kinds.all(|plural| names(&self.rome, plural).is_empty())
        })
        .await;
    }

    /// A slice, from its request to its VirtualNode and its Quota, and what may happen to it.
    async fn offload(&self) {
        for cpu in ["2", "3"] {
            self.request("mypool", cpu).await;
            both_have(&self.rome, &self.milan, cpu).await;
        }
        let incomplete = json!({ "spec": { "csr": null } });
        change(
            &self.rome,
            AT_ROME,
            Kind::ResourceSlice,
            "mypool",
            incomplete,
        )
        .await;
        until("the slice has a request again", async || {
            named(&self.rome, "resourceslices", "mypool")["spec"]["csr"].is_string()
        })
        .await;

        let identity = "resourceslice-mypool";
        let certificate =
            || named(&self.rome, "identities", identity)["spec"]["authParams"]["signedCRT"].clone();
        let wrong = json!({ "spec": { "authParams": { "signedCRT": "YQ==" } } });
        change(&self.rome, AT_ROME, Kind::Identity, identity, wrong).await;
        until("the Identity has its certificate again", async || {
            certificate() != "YQ=="
        })
        .await;

        for (condition, cordoned) in [
            (TenantCondition::Cordoned, json!(true)),
            (TenantCondition::Active, Value::Null),
        ] {
            self.set_condition(condition).await;
            until("the Quota has the peer's condition", async || {
                let quotas = self.milan.all("quotas");
                quotas.len() == 1 && quotas[0]["spec"]["cordoned"] == cordoned
            })
            .await;
        }
    }

    /// The peer is drained while the signer has not answered a request.
    async fn drain(&mut self) {
        self.signing.abort_all();
        self.request("another", "1").await;
        let is_open = || {
            let requests = self.milan.all("certificatesigningrequests");
            let mut requests = requests.iter();
            requests.any(|request| request["status"]["certificate"].is_null())
        };
        until("a request is open", async || is_open()).await;
        self.lose_rights();
        self.set_condition(TenantCondition::Drained).await;
        until("the slices and the request are gone", async || {
            names(&self.milan, "resourceslices").is_empty() && !is_open()
        })
        .await;
        until("the NamespaceMap is gone", async || {
            names(&self.milan, "namespacemaps").is_empty()
        })
        .await;
    }

    /// The peer offloads a namespace. Liqo binds the peer's group there.
    fn offload_a_namespace(&self) {
        self.milan.put(json!({
            "apiVersion": "offloading.liqo.io/v1beta1",
            "kind": "NamespaceMap",
            "metadata": {
                "name": "milan",
                "namespace": AT_MILAN,
                "labels": { "liqo.io/replicated": "true", "liqo.io/originID": "rome" },
            },
            "spec": { "desiredMapping": { "shop": "shop-rome" } },
        }));
        self.milan.put(json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "shop-rome" },
        }));
        self.milan.put(json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": {
                "name": AT_MILAN,
                "namespace": "shop-rome",
                "labels": {
                    "app.kubernetes.io/managed-by": "liqo",
                    "liqo.io/remote-cluster-id": "rome",
                },
            },
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": "liqo-virtual-kubelet-remote",
            },
            "subjects": [{
                "apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "rome",
            }],
        }));
    }

    /// A namespace that loses its label is no tenant namespace any more.
    async fn leave_namespaces(&self) {
        for (server, namespace) in [(&self.rome, AT_ROME), (&self.milan, AT_MILAN)] {
            assert!(names(server, "rolebindings").contains(&"liqo-auth".to_owned()));
            let unmarked =
                json!({ "metadata": { "labels": { "liqo.io/tenant-namespace": null } } });
            change(server, "", Kind::Namespace, namespace, unmarked).await;
            until("the account has given up its rights", async || {
                !names(server, "rolebindings").contains(&"liqo-auth".to_owned())
            })
            .await;
        }
    }

    async fn request(&self, slice: &str, cpu: &str) {
        let options = SliceOptions {
            resources: [("cpu".to_owned(), cpu.into())].into(),
            ..SliceOptions::named(slice)
        };
        self.at_rome
            .order(&id("milan"), |consumer, view, env| {
                consumer.request_slice(view, &options, env)
            })
            .await;
    }

    async fn set_condition(&self, condition: TenantCondition) {
        self.at_milan
            .order(&id("rome"), |provider, view, _| {
                provider.set_condition(view, condition)
            })
            .await;
    }

    /// The user rome loses its rights, as its bindings at milan are about to go.
    fn lose_rights(&self) {
        self.as_rome.clone().with_rights(Vec::new());
    }
}

/// Changes an object, as an administrator.
async fn change(server: &FakeApiServer, namespace: &str, kind: Kind, name: &str, change: Value) {
    let client = server.administrator().client();
    let (parameters, change) = (PatchParams::default(), Patch::Merge(change));
    let objects = api(&client, kind, namespace);
    objects.patch(name, &parameters, &change).await.unwrap();
}

/// Milan's tenant namespace at rome.
const AT_ROME: &str = "liqo-tenant-milan";
/// Rome's tenant namespace at milan.
const AT_MILAN: &str = "liqo-tenant-rome";
