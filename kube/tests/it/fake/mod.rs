//! An API server in memory. It keeps the rules of Kubernetes that a controller meets:
//! versions, subresources, finalizers, owner references, label selectors and watches.

mod rights;
mod selector;
mod store;
mod target;

use std::{
    convert::Infallible,
    sync::{Arc, Mutex, MutexGuard},
};

use bytes::Bytes;
use futures::{StreamExt, stream};
use http::{Method, Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use kube::{Client, client::Body};
use serde_json::{Value, json};
use tokio::sync::watch;
use tower::service_fn;

pub use self::{
    rights::{Asked, Rule},
    store::Refusal,
};
use self::{
    selector::Selector,
    store::Store,
    target::{Target, decoded},
};

/// The server. Clones are the same server.
#[derive(Clone)]
pub struct FakeApiServer {
    store: Arc<Mutex<Store>>,
    changed: watch::Sender<u64>,
    requests: Arc<Mutex<Vec<String>>>,
    rights: Arc<Mutex<Rights>>,
    /// Watches end when this changes.
    generation: watch::Sender<u64>,
}

type Answer = Response<UnsyncBoxBody<Bytes, Infallible>>;

/// The rights of everybody, and what was refused.
#[derive(Default)]
struct Rights {
    /// `None` if everybody may do everything.
    rules: Option<Vec<Rule>>,
    refused: Vec<Asked>,
    /// This many further writes are refused with this status.
    busy: Option<(u32, Refusal)>,
    /// The plurals of the kinds of which another controller makes the next object first, or
    /// plural and name of such an object.
    overtaken: Vec<String>,
    /// The plurals of the kinds that somebody else writes all the time.
    contested: Vec<String>,
    /// The plurals of the kinds whose watches show nothing.
    late: Vec<String>,
}

impl FakeApiServer {
    /// A server that has the namespaces and the ConfigMap of an installed Liqo.
    pub fn with_liqo(cluster_id: &str) -> Self {
        let server = Self {
            store: Arc::default(),
            changed: watch::Sender::new(0),
            requests: Arc::default(),
            rights: Arc::default(),
            generation: watch::Sender::new(0),
        };
        server.put(json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "liqo" },
        }));
        server.put(json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": "liqo-clusterid-configmap",
                "namespace": "liqo",
                "labels": { "app.kubernetes.io/name": "clusterid-configmap" },
            },
            "data": { "CLUSTER_ID": cluster_id },
        }));
        for label in [
            "remote-controlplane",
            "virtual-kubelet-remote",
            "virtual-kubelet-remote-clusterwide",
        ] {
            server.put(json!({
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "ClusterRole",
                "metadata": {
                    "name": format!("liqo-{label}"),
                    "labels": { "app.kubernetes.io/name": label },
                },
                "rules": [],
            }));
        }
        server
    }

    /// A client of this server.
    pub fn client(&self) -> Client {
        let server = self.clone();
        let service = service_fn(move |request: Request<Body>| {
            let server = server.clone();
            async move { Ok::<_, Infallible>(server.answer(request).await) }
        });
        Client::new(service, "default")
    }

    /// A server on which everybody has these rights only.
    pub fn with_rights(self, rules: Vec<Rule>) -> Self {
        self.rights.lock().unwrap().rules = Some(rules);
        self
    }

    /// The same server for somebody who may do everything, and is not counted.
    pub fn administrator(&self) -> Self {
        Self {
            rights: Arc::default(),
            ..self.clone()
        }
    }

    /// What was refused for want of a right.
    pub fn forbidden(&self) -> Vec<Asked> {
        self.rights.lock().unwrap().refused.clone()
    }

    /// Refuses the next writes, as a server that is busy (429), that somebody else has
    /// written to (409), or that is broken (500).
    pub fn refuse_writes(&self, count: u32, code: u16, reason: &'static str) {
        self.refuse_with(count, code, reason, "refused by the test");
    }

    /// Denies the next writes, as an admission webhook does that says this.
    pub fn deny_writes(&self, count: u32, words: &str) {
        let message = format!("admission webhook \"tenants.liqo.io\" denied the request: {words}");
        self.refuse_with(count, 403, "Forbidden", &message);
    }

    fn refuse_with(&self, count: u32, code: u16, reason: &'static str, message: &str) {
        let refusal = Refusal {
            code,
            reason,
            message: message.to_owned(),
        };
        self.rights.lock().unwrap().busy = Some((count, refusal));
    }

    /// A server on which somebody else is faster once for each of these kinds, given by
    /// their plurals, or objects, such as `secrets/liqo-nonce`: when it is to be created,
    /// another controller has just created the same one.
    pub fn overtaking(self, plurals: &[&str]) -> Self {
        let plurals = plurals.iter().map(|plural| (*plural).to_owned());
        self.rights.lock().unwrap().overtaken = plurals.collect();
        self
    }

    /// Lets somebody else be faster at each write of these kinds, given by their plurals.
    pub fn contest(&self, plurals: &[&str]) {
        let plurals = plurals.iter().map(|plural| (*plural).to_owned());
        self.rights.lock().unwrap().contested = plurals.collect();
    }

    /// A server that does not show changes of these kinds, given by their plurals, in its watches.
    pub fn with_late_watches(self, plurals: &[&str]) -> Self {
        let plurals = plurals.iter().map(|plural| (*plural).to_owned());
        self.rights.lock().unwrap().late = plurals.collect();
        self
    }

    /// Whether somebody else creates this object first.
    fn is_overtaken(&self, target: &Target, content: &Value) -> bool {
        let name = content.pointer("/metadata/name").and_then(Value::as_str);
        let object = format!("{}/{}", target.plural, name.unwrap_or_default());
        let mut rights = self.rights.lock().unwrap();
        let mut overtaken = rights.overtaken.iter();
        let found = overtaken.position(|it| *it == target.plural || *it == object);
        found.map(|at| rights.overtaken.remove(at)).is_some()
    }

    /// Why a request is refused before it is looked at.
    fn refusal(
        &self,
        method: &Method,
        is_watch: bool,
        target: &Target,
        content: &Value,
    ) -> Option<Refusal> {
        let is_restricted = self.rights.lock().unwrap().rules.is_some();
        let bindings = match is_restricted {
            true => self.all("rolebindings"),
            false => Vec::new(),
        };
        let mut rights = self.rights.lock().unwrap();
        for asked in Asked::by(method, is_watch, target, content) {
            let mut rules = rights.rules.iter().flatten();
            let is_allowed =
                rights.rules.is_none() || rules.any(|rule| rule.allows(&asked, &bindings));
            if !is_allowed {
                let message = asked.refused();
                rights.refused.push(asked);
                return Some(Refusal {
                    code: 403,
                    reason: "Forbidden",
                    message,
                });
            }
        }
        if *method == Method::GET {
            return None;
        }
        if rights.contested.contains(&target.plural) {
            return Some(Refusal {
                code: 409,
                reason: "Conflict",
                message: "the object has been modified".to_owned(),
            });
        }
        let (left, refusal) = rights.busy.take()?;
        if left > 1 {
            rights.busy = Some((left - 1, refusal.clone()));
        }
        Some(refusal)
    }

    /// The methods and paths of all requests so far.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    /// Creates an object as an administrator would.
    pub fn put(&self, object: Value) {
        let target = Target::of(&object);
        self.change(|store| store.create(&target, object)).unwrap();
    }

    /// All objects of a kind, by its plural.
    pub fn all(&self, plural: &str) -> Vec<Value> {
        let store = self.store();
        store
            .all()
            .filter(|(key, _)| key.plural == plural)
            .map(|(_, object)| object.clone())
            .collect()
    }

    /// Writes the status of an object.
    pub fn patch_status(&self, object: &Value, status: Value) -> Result<Value, Refusal> {
        let target = Target {
            subresource: "status".to_owned(),
            ..Target::of(object)
        };
        self.change(|store| store.patch(&target, json!({ "status": status })))
    }

    /// Replaces an object as an administrator would.
    pub fn replace(&self, object: &Value) {
        let target = Target::of(object);
        self.change(|store| store.replace(&target, object.clone()))
            .unwrap();
    }

    /// Deletes an object as an administrator would.
    pub fn delete(&self, object: &Value) {
        let target = Target::of(object);
        self.change(|store| store.delete(&target, &Value::Null))
            .unwrap();
    }

    /// Removes a kind of resource, as a version of Liqo that does not have it.
    pub fn without_resource(self, plural: &str) -> Self {
        self.store().remove_resource(plural);
        self
    }

    /// Removes a group of resources, as on a cluster where Liqo is not installed yet.
    pub fn without_group(self, group: &str) -> Self {
        self.store().remove_group(group);
        self
    }

    /// Serves every resource from now on.
    pub fn serve_all(&self) {
        self.store().serve_all();
    }

    /// Ends all watches, as a restart does.
    pub fn drop_watches(&self) {
        self.generation.send_modify(|generation| *generation += 1);
    }

    fn store(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap()
    }

    fn change<T>(
        &self,
        change: impl FnOnce(&mut Store) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let (outcome, version) = {
            let mut store = self.store();
            (change(&mut store), store.version())
        };
        self.changed.send_replace(version);
        outcome
    }

    async fn answer(&self, request: Request<Body>) -> Answer {
        let (head, body) = request.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let path = head.uri.path().to_owned();
        self.requests
            .lock()
            .unwrap()
            .push(format!("{} {}", head.method, head.uri));
        let query = head.uri.query().unwrap_or_default().to_owned();
        let parameter = |name: &str| {
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs
                .find(|(key, _)| *key == name)
                .map(|(_, value)| decoded(value))
        };
        let content: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
        let Some(target) = Target::parse(&path) else {
            return self.discover(path.trim_matches('/'));
        };
        let is_watch = parameter("watch").as_deref() == Some("true");
        if let Some(refusal) = self.refusal(&head.method, is_watch, &target, &content) {
            return refused(&refusal);
        }
        if !self.store().serves(&target) {
            return refused(&Refusal::not_found("the resource"));
        }
        let selector = Selector::parse(
            &parameter("labelSelector").unwrap_or_default(),
            &parameter("fieldSelector").unwrap_or_default(),
        );
        if head.method == Method::GET && target.name.is_empty() {
            if is_watch {
                let since = parameter("resourceVersion").and_then(|version| version.parse().ok());
                return self.watch(target, selector, since.unwrap_or_default());
            }
            return json_answer(StatusCode::OK, &self.store().list(&target, &selector));
        }
        let outcome = match head.method {
            Method::GET => self.store().get(&target),
            Method::POST if self.is_overtaken(&target, &content) => self.change(|store| {
                store.create(&target, content.clone())?;
                store.create(&target, content)
            }),
            Method::POST => self.change(|store| {
                let created = store.create(&target, content)?;
                store.collect(&target, &created);
                Ok(created)
            }),
            Method::PUT => self.change(|store| store.replace(&target, content)),
            Method::PATCH => self.change(|store| store.patch(&target, content)),
            Method::DELETE => self.change(|store| store.delete(&target, &content)),
            other => panic!("{other} {path}"),
        };
        match outcome {
            Ok(object) => json_answer(StatusCode::OK, &object),
            Err(refusal) => refused(&refusal),
        }
    }

    /// Events since a version, until the watches are dropped.
    fn watch(&self, target: Target, selector: Selector, since: u64) -> Answer {
        let server = self.clone();
        let mut generation = self.generation.subscribe();
        let lines = stream::unfold(
            (since, self.changed.subscribe()),
            move |(seen, mut changed)| {
                let is_late = server.rights.lock().unwrap().late.contains(&target.plural);
                let store = server.store();
                let (events, version) = match is_late {
                    true => (Vec::new(), seen),
                    false => (store.events(&target, &selector, seen), store.version()),
                };
                drop(store);
                async move {
                    if events.is_empty() && changed.changed().await.is_err() {
                        return None;
                    }
                    let lines: Vec<u8> = events
                        .iter()
                        .flat_map(|event| [event.to_string().into_bytes(), b"\n".to_vec()].concat())
                        .collect();
                    Some((lines, (version, changed)))
                }
            },
        );
        let ended = async move {
            let _ = generation.changed().await;
        };
        let frames = lines
            .take_until(Box::pin(ended))
            .map(|lines| Ok(Frame::data(Bytes::from(lines))));
        Response::new(StreamBody::new(frames).boxed_unsync())
    }

    fn discover(&self, group: &str) -> Answer {
        let resources = self.store().resources(group);
        if resources.is_empty() {
            return refused(&Refusal::not_found("the group"));
        }
        let of_group = group.trim_start_matches("apis/");
        json_answer(
            StatusCode::OK,
            &json!({
                "kind": "APIResourceList",
                "apiVersion": "v1",
                "groupVersion": of_group,
                "resources": resources,
            }),
        )
    }
}

fn refused(refusal: &Refusal) -> Answer {
    let status = StatusCode::from_u16(refusal.code).unwrap();
    let body = json!({
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "message": refusal.message,
        "reason": refusal.reason,
        "code": refusal.code,
    });
    json_answer(status, &body)
}

fn json_answer(status: StatusCode, body: &Value) -> Answer {
    let body = Full::new(Bytes::from(body.to_string())).boxed_unsync();
    Response::builder()
        .status(status)
        .header("content-type", "application/json")
        .body(body)
        .unwrap()
}
