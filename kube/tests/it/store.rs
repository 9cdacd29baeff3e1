//! The tests' API server keeps objects as every store must.

use liqo_auth::{
    machine::{ApplyError, Effect, Interest},
    model::{Kind, Object},
};
use liqo_auth_kube::{Applied, apply};
use liqo_auth_rehearsal::{Store, check_store};
use serde_json::{Value, json};
use tokio::{runtime::Handle, task::block_in_place};

use crate::fake::FakeApiServer;

#[tokio::test(flavor = "multi_thread")]
async fn the_server_keeps_objects_as_a_store_must() {
    let mut server = FakeApiServer::with_liqo("milan");
    server.put(json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "store-check" },
    }));
    check_store(&mut server).unwrap();
}

/// Effects go through the driver, as requests to the server.
impl Store for FakeApiServer {
    fn look_up(&mut self, interests: &[Interest]) -> Vec<Object> {
        let kinds = Kind::ALL.iter();
        let values = kinds.flat_map(|kind| self.all(kind.plural()));
        let mut objects: Vec<Object> = values.map(Object::from_value).collect();
        objects.retain(|object| interests.iter().any(|interest| interest.matches(object)));
        objects
    }

    fn apply(&mut self, effect: &Effect) -> Result<(), ApplyError> {
        let client = self.client();
        let applied = block_in_place(|| Handle::current().block_on(apply(&client, effect)));
        match applied.unwrap() {
            Applied::NameTaken => Err(ApplyError::Exists(effect.id())),
            Applied::Missing => Err(ApplyError::Missing(effect.id())),
            Applied::Conflict => Err(ApplyError::Changed(effect.id())),
            _ => Ok(()),
        }
    }

    fn plant(&mut self, value: Value) -> bool {
        self.put(value);
        true
    }
}
