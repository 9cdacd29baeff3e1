//! A home cluster and a foreign cluster in memory, and the transport between
//! them.

use core::time::Duration;
use std::sync::Arc;

use liqo_auth::{
    crypto::{Authority, Csr, Entropy, KeyPair, KeyStore, OneKey, RecordKey, SigningKey, Subject},
    error::Error,
    legacy::{
        AuthToken, Foreign, ForeignSettings, HomeCluster, HomeClusterSettings, HttpRequest,
        HttpResponse, Next, Phase, Reading, Reply, Request, TokenProtocol,
    },
    machine::{Effect, Env, Objects, Step},
    model::{
        AuthStatus, ClusterId, ForeignCluster, Object, Resource, Secret, ServiceAccount, Timestamp,
        names,
    },
    policy::Policy,
    provider::{AuthoritySigner, Endpoint, NameTable},
};

use crate::clusters::store;

pub(crate) const FOREIGN: &str = "3114c478-173d-4344-8f01-eb21efb95aea";
pub(crate) const HOME: &str = "cl-home";

pub(crate) struct Pair {
    pub(crate) foreign: Foreign,
    pub(crate) at_foreign: Objects,
    pub(crate) home: HomeCluster,
    pub(crate) at_home: Objects,
    /// The statuses of the answers to the home's requests.
    pub(crate) statuses: Vec<u16>,
}

impl Pair {
    pub(crate) fn new() -> Self {
        Self::of(foreign_settings(), home_settings())
    }

    /// Both sides use the form of version 0.2.
    pub(crate) fn of_accounts() -> Self {
        Self::of(foreign_of_accounts(), compatible_home())
    }

    pub(crate) fn of(settings: ForeignSettings, home_settings: HomeClusterSettings) -> Self {
        let foreign = foreign(settings);
        let mut at_foreign = store::empty();
        let step = foreign.token_step(at_foreign.iter(), &env()).unwrap();
        apply(&mut at_foreign, &step);
        let mut cluster = ForeignCluster::default();
        cluster.metadata.name = "my-cluster".into();
        cluster.spec.foreign_auth_url = "https://foreign.example:443".into();
        Self {
            foreign,
            at_foreign,
            home: home(home_settings),
            at_home: store::holding([Object::from(cluster)]),
            statuses: Vec::new(),
        }
    }

    pub(crate) fn token(&self) -> AuthToken {
        let token = self.foreign.token(self.at_foreign.iter(), now()).unwrap();
        token.unwrap()
    }

    /// Stores the token at the home, as the administrator does with the script
    /// of the documentation.
    pub(crate) fn set_token(&mut self, token: &AuthToken) {
        let view = self.at_home.view(self.foreign.cluster_id());
        let step = self.home.set_remote_token(&view, token, now()).unwrap();
        apply(&mut self.at_home, &step);
    }

    pub(crate) fn cluster(&self) -> &ForeignCluster {
        self.at_home.get("", "my-cluster").unwrap()
    }

    pub(crate) fn status(&self) -> AuthStatus {
        self.cluster().status.auth_status()
    }

    pub(crate) fn set_status(&mut self, status: AuthStatus) {
        let mut cluster = self.cluster().clone();
        // The field is that of 0.2; the condition, that of later versions.
        if cluster.status.auth_status.is_some() {
            cluster.status.auth_status = Some(status);
        } else {
            let mut conditions = cluster.status.peering_conditions.iter_mut();
            let present = conditions.find(|it| it.condition_type == "AuthenticationStatus");
            present.unwrap().status = match status {
                AuthStatus::Pending => "Pending",
                AuthStatus::Accepted => "Established",
                AuthStatus::Refused => "Denied",
                AuthStatus::EmptyRefused => "EmptyDenied",
            }
            .to_owned();
        }
        self.at_home.insert(cluster.into());
    }

    pub(crate) fn phase(&self) -> Phase {
        let view = self.at_home.view(self.foreign.cluster_id());
        self.home.look(&view).unwrap()
    }

    /// Lets the home do what it can do alone. Returns its next request, if any.
    pub(crate) fn next_request(&mut self) -> Option<Request> {
        for _ in 0..8 {
            if self.cluster().spec.cluster_identity.cluster_id.is_empty() {
                return Some(self.home.discover(self.cluster()).unwrap());
            }
            let view = self.at_home.view(self.foreign.cluster_id());
            let Next { step, request, .. } = self.home.reconcile(&view, &env()).unwrap();
            apply(&mut self.at_home, &step);
            if request.is_some() || step.effects.is_empty() {
                return request;
            }
        }
        panic!("no end");
    }

    pub(crate) fn receive(
        &mut self,
        request: &Request,
        response: &HttpResponse,
    ) -> Result<Step, Error> {
        let cluster = self.cluster();
        let step = if cluster.spec.cluster_identity.cluster_id.is_empty() {
            self.home.receive_ids(cluster, response)?
        } else {
            let view = self.at_home.view(self.foreign.cluster_id());
            self.home.receive(&view, request, response, &env())?
        };
        apply(&mut self.at_home, &step);
        Ok(step)
    }

    /// Lets both sides work until the home has nothing to send.
    pub(crate) fn run(&mut self) {
        for _ in 0..8 {
            let Some(request) = self.next_request() else {
                return;
            };
            let answer = ask(&self.foreign, &mut self.at_foreign, &request.http);
            let response = answer.response.unwrap();
            self.statuses.push(response.status);
            self.receive(&request, &response).unwrap();
        }
        panic!("no end: {:?}", self.statuses);
    }

    /// Lets the foreign side clean up until nothing is left to do.
    pub(crate) fn collect_garbage(&mut self) {
        for _ in 0..8 {
            let view = self.at_foreign.view(&HOME.parse().unwrap());
            let step = self.foreign.reconcile(&view).unwrap();
            if step.effects.is_empty() {
                return;
            }
            apply(&mut self.at_foreign, &step);
        }
        panic!("no end");
    }
}

pub(crate) fn foreign(settings: ForeignSettings) -> Foreign {
    let endpoint = Endpoint::new(
        "https://172.19.0.3:6443".parse().unwrap(),
        Some(authority().ca_bundle()),
    );
    let record_key = RecordKey::new([1; 32]).unwrap();
    Foreign::new(FOREIGN.parse().unwrap(), endpoint, record_key, settings)
}

pub(crate) fn foreign_settings() -> ForeignSettings {
    let entropy = Entropy::from_bytes([3; 32]);
    ForeignSettings {
        protocol: TokenProtocol::TrustWhoeverHoldsTheToken,
        signer: Some(Arc::new(AuthoritySigner::new(authority(), entropy))),
        principals: Arc::new(NameTable::default()),
        ..ForeignSettings::default()
    }
}

/// A foreign cluster of 0.2.
pub(crate) fn foreign_of_accounts() -> ForeignSettings {
    ForeignSettings {
        policy: Policy::compatible(),
        service_accounts: Some("guests".parse().unwrap()),
        ..foreign_settings()
    }
}

pub(crate) fn single_use() -> ForeignSettings {
    ForeignSettings {
        single_use_token: true,
        ..foreign_settings()
    }
}

fn authority() -> Authority {
    Authority::new("ca", now(), TWO_YEARS, &Entropy::from_bytes([9; 32])).unwrap()
}

pub(crate) fn home(settings: HomeClusterSettings) -> HomeCluster {
    home_with(Arc::new(OneKey(Arc::new(key(1)))), settings)
}

pub(crate) fn home_with(keys: Arc<dyn KeyStore>, settings: HomeClusterSettings) -> HomeCluster {
    let record_key = RecordKey::new([2; 32]).unwrap();
    HomeCluster::new(HOME.parse().unwrap(), keys, record_key, settings)
}

pub(crate) fn home_settings() -> HomeClusterSettings {
    HomeClusterSettings {
        protocol: TokenProtocol::TrustWhoeverHoldsTheToken,
        ..HomeClusterSettings::default()
    }
}

pub(crate) fn compatible_home() -> HomeClusterSettings {
    HomeClusterSettings {
        policy: Policy::compatible(),
        ..home_settings()
    }
}

/// A request of version 0.4 from a home with this ID and key.
pub(crate) fn body(id: &str, key: &KeyPair, token: &str) -> serde_json::Value {
    use base64::{Engine, engine::general_purpose::STANDARD};
    let peer: ClusterId = id.parse().unwrap();
    let csr = Csr::make(&Subject::control_plane(&peer), key)
        .unwrap()
        .at_once()
        .unwrap();
    let _ = key.public_key();
    serde_json::json!({
        "cluster": { "clusterID": id, "clusterName": id },
        "destinationClusterToken": token,
        "certificateSigningRequest": STANDARD.encode(csr.pem()),
    })
}

pub(crate) fn post(body: &serde_json::Value) -> HttpRequest {
    HttpRequest::new(
        "POST",
        "/identity/certificate",
        serde_json::to_vec(body).unwrap(),
    )
}

pub(crate) fn key(number: u8) -> KeyPair {
    KeyPair::from_entropy(&Entropy::from_bytes([number; 32]))
}

/// Handles a request up to the delivery of its answer, as a server does.
pub(crate) fn ask(foreign: &Foreign, objects: &mut Objects, request: &HttpRequest) -> Reply {
    let answer = ask_undelivered(foreign, objects, request, usize::MAX).unwrap();
    if answer.was_issued() {
        let Reading::Identity(request) = foreign.read(request) else {
            panic!("unreadable");
        };
        let step = foreign.delivered(&objects.view(&request.peer)).unwrap();
        apply(objects, &step);
    }
    answer
}

/// Handles a request, but the server stops after so many effects.
pub(crate) fn ask_undelivered(
    foreign: &Foreign,
    objects: &mut Objects,
    request: &HttpRequest,
    mut effects: usize,
) -> Option<Reply> {
    let request = match foreign.read(request) {
        Reading::Identity(request) => request,
        Reading::Reply(answer) => return Some(answer),
        _ => panic!("another reading"),
    };
    for _ in 0..8 {
        let view = objects.view(&request.peer);
        let answer = foreign.handle(&view, &request, env()).unwrap();
        for effect in &answer.step.effects {
            effects = effects.checked_sub(1)?;
            apply_one(objects, effect);
        }
        if answer.response.is_some() {
            return Some(answer);
        }
    }
    panic!("no response");
}

pub(crate) fn apply(objects: &mut Objects, step: &Step) {
    for effect in &step.effects {
        apply_one(objects, effect);
    }
}

/// Applies an effect as a cluster does: an object with a finalizer is not
/// deleted, and service accounts get tokens.
pub(crate) fn apply_one(objects: &mut Objects, effect: &Effect) {
    if let Effect::Delete { id, .. } = effect
        && let Some(account) = objects.get::<ServiceAccount>(&id.namespace, &id.name)
        && account.id() == *id
        && !account.metadata.finalizers.is_empty()
    {
        let mut account = account.clone();
        account.metadata.deletion_timestamp = Some(now());
        objects.insert(account.into());
        return;
    }
    objects.apply(effect).unwrap();
    let gone: Vec<_> = objects
        .iter()
        .filter(|object| {
            matches!(object, Object::ServiceAccount(account)
                if account.metadata.deletion_timestamp.is_some()
                    && account.metadata.finalizers.is_empty())
        })
        .map(Object::id)
        .collect();
    for id in gone {
        objects.remove(&id);
    }
    let unfilled: Vec<Secret> = objects
        .iter()
        .filter_map(Secret::from_object)
        .filter(|secret| secret.secret_type.as_deref() == Some(names::SERVICE_ACCOUNT_TOKEN))
        .filter(|secret| secret.get(names::TOKEN).is_none())
        .cloned()
        .collect();
    for mut secret in unfilled {
        let token = format!("token-of-{}", secret.metadata.name);
        secret
            .data
            .insert(names::TOKEN.into(), token.into_bytes().into());
        objects.insert(secret.into());
    }
}

pub(crate) fn env() -> Env {
    Env {
        now: now(),
        entropy: Entropy::from_bytes([7; 32]),
    }
}

pub(crate) fn now() -> Timestamp {
    "2026-11-20T13:00:00Z".parse().unwrap()
}

const TWO_YEARS: Duration = Duration::from_secs(2 * 365 * 86_400);
