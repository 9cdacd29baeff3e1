//! API servers keep objects as every store must: that of the tests, and a real one.

use kube::{
    Api, Client,
    api::{DynamicObject, ListParams, PostParams, TypeMeta},
};
use liqo_auth::{
    machine::{ApplyError, Effect, Interest},
    model::{Kind, Object},
};
use liqo_auth_kube::{Applied, apply, resource};
use liqo_auth_rehearsal::{Store, check_store};
use serde_json::{Value, json};
use tokio::{runtime::Handle, task::block_in_place};

use crate::{fake::FakeApiServer, life::api, login::Administered};

#[tokio::test(flavor = "multi_thread")]
async fn the_tests_api_server_keeps_objects_as_a_store_must() {
    let mut server = FakeApiServer::with_liqo("milan");
    server.put(namespace());
    check_store(&mut server).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the clusters that e2e/run starts"]
async fn a_real_api_server_keeps_objects_as_a_store_must() {
    let mut server = RealApiServer(Administered::by("LIQO_AUTH_MILAN").await.client);
    let namespaces = Api::all_with(server.0.clone(), &resource(Kind::Namespace));
    let namespace: DynamicObject = serde_json::from_value(namespace()).unwrap();
    let params = PostParams::default();
    namespaces.create(&params, &namespace).await.unwrap();
    check_store(&mut server).unwrap();
}

struct RealApiServer(Client);

impl Store for RealApiServer {
    fn look_up(&mut self, interests: &[Interest]) -> Vec<Object> {
        let mut objects = Vec::new();
        for kind in [Kind::Secret, Kind::ResourceSlice] {
            let inside = api(&self.0, kind, NAMESPACE);
            let all = ListParams::default();
            for mut object in wait_for(inside.list(&all)).unwrap() {
                // The items of a list have no kind of their own.
                object.types = Some(TypeMeta {
                    api_version: kind.api_version().to_owned(),
                    kind: kind.to_string(),
                });
                objects.push(Object::from_value(serde_json::to_value(object).unwrap()));
            }
        }
        objects.retain(|object| interests.iter().any(|interest| interest.matches(object)));
        objects
    }

    fn apply(&mut self, effect: &Effect) -> Result<(), ApplyError> {
        applied(&self.0, effect)
    }

    /// The schemas of Liqo's kinds let nothing in that cannot be read.
    fn plant(&mut self, _: Value) -> bool {
        false
    }
}

impl Store for FakeApiServer {
    fn look_up(&mut self, interests: &[Interest]) -> Vec<Object> {
        let kinds = Kind::ALL.iter();
        let values = kinds.flat_map(|kind| self.all(kind.plural()));
        let mut objects: Vec<Object> = values.map(Object::from_value).collect();
        objects.retain(|object| interests.iter().any(|interest| interest.matches(object)));
        objects
    }

    fn apply(&mut self, effect: &Effect) -> Result<(), ApplyError> {
        applied(&self.client(), effect)
    }

    fn plant(&mut self, value: Value) -> bool {
        self.put(value);
        true
    }
}

/// Effects go through the driver, as requests to the server.
fn applied(client: &Client, effect: &Effect) -> Result<(), ApplyError> {
    match wait_for(apply(client, effect)).unwrap() {
        Applied::NameTaken => Err(ApplyError::Exists(effect.id())),
        Applied::Missing => Err(ApplyError::Missing(effect.id())),
        Applied::Conflict => Err(ApplyError::Changed(effect.id())),
        _ => Ok(()),
    }
}

fn wait_for<F: Future>(future: F) -> F::Output {
    block_in_place(|| Handle::current().block_on(future))
}

fn namespace() -> Value {
    json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": NAMESPACE } })
}

const NAMESPACE: &str = "store-check";
