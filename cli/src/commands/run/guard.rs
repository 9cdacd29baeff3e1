//! The guard in front of Liqo's own authentication module: it answers the API server's reviews
//! of every object that this module acts on. Who may write which object, the policies of
//! `deploy/` say.

mod judge;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::{
    Router, body::Bytes, extract::State, middleware::from_fn_with_state, response::Response,
    routing::post,
};
use kube::core::admission::{AdmissionResponse, Operation};
use liqo_auth::model::{AuthzPolicy, ClusterId, Kind, Namespace, Object, Resource, Tenant, names};
use serde_json::Value;

pub(super) use self::judge::Machines;
use self::judge::{How, Judge, Verdict};
use super::webhook::{
    Request, answer, is_of_a_person,
    room::{Room, within},
    value,
};
use crate::arguments::GuardMode;

struct Guard {
    judge: Box<dyn Judge>,
    mode: GuardMode,
    /// The namespace of Liqo's own accounts. `None` without a provider's side.
    liqo: Option<String>,
}

/// The answers to an API server.
pub(super) fn router(judge: impl Judge, mode: GuardMode, liqo: Option<String>) -> Router {
    let judge = Box::new(judge);
    let guard = Arc::new(Guard { judge, mode, liqo });
    Router::new()
        .route("/guard", post(review))
        .route_layer(from_fn_with_state(Arc::new(Room::default()), within))
        .with_state(guard)
}

async fn review(State(guard): State<Arc<Guard>>, body: Bytes) -> Response {
    answer(&body, async |request: &Request| {
        let allowed = AdmissionResponse::from(request);
        let Some(refusal) = guard.refusal(request).await? else {
            return Ok(allowed);
        };
        Ok(match guard.mode {
            GuardMode::Enforce => refused(allowed, refusal),
            GuardMode::Audit => warned(allowed, request, &refusal.reason),
        })
    })
    .await
}

/// Why Liqo must not act on an object, and the status code of the answer.
struct Refusal {
    reason: String,
    code: u16,
}

impl Refusal {
    /// Liqo's replicator does not try again until the object changes.
    fn forbidden(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            code: 403,
        }
    }

    /// Who has written the object tries again soon.
    fn unavailable(reason: impl Into<String>) -> Self {
        Self {
            code: 503,
            ..Self::forbidden(reason)
        }
    }
}

fn refused(allowed: AdmissionResponse, refusal: Refusal) -> AdmissionResponse {
    let mut denied = allowed.deny(refusal.reason);
    denied.result.code = refusal.code;
    denied
}

fn warned(mut allowed: AdmissionResponse, request: &Request, reason: &str) -> AdmissionResponse {
    let (object, user) = (&request.name, &request.user_info.username);
    tracing::warn!(
        kind = request.kind.kind,
        object,
        user,
        reason,
        "would be refused"
    );
    allowed.warnings = Some(vec![format!("liqo-auth would refuse this: {reason}")]);
    allowed
}

impl Guard {
    /// Why Liqo must not act on the changed object. `None` if it may.
    async fn refusal(&self, request: &Request) -> anyhow::Result<Option<Refusal>> {
        let (new, old) = (value(&request.object)?, value(&request.old_object)?);
        let is_written = matches!(request.operation, Operation::Create | Operation::Update);
        if !is_written || says_the_same(&old, &new) {
            return Ok(None);
        }
        let adopts = is_adopted(request, &old, &new);
        let makes_nonce = self.is_made_by_liqo(request, &old, &new);
        let mut object = Object::from_value(new);
        if is_waived(request, &object) {
            return Ok(None);
        }
        if !makes_nonce {
            // It is no nonce that the guard has seen Liqo make, whatever else it is.
            object.metadata_mut().labels.remove(names::NONCE_LABEL);
        }
        let namespace = &object.metadata().namespace;
        let namespace = self.judge.namespace(namespace).await?;
        let Some(peer) = namespace.as_ref().and_then(peer_of) else {
            return Ok(Some(Refusal::forbidden(ELSEWHERE)));
        };
        let records = self.mode == GuardMode::Enforce && !request.dry_run;
        let how = How { records, adopts };
        Ok(match self.judge.judge(&peer, &object, how).await? {
            Verdict::Passed => None,
            Verdict::Refused(error) => {
                Some(Refusal::forbidden(format!("{error}. {}", error.advice())))
            }
            Verdict::Awaited => Some(Refusal::unavailable(AWAITED)),
        })
    }

    /// Whether Liqo stores another nonce than before. Who else may write one, the policies say.
    fn is_made_by_liqo(&self, request: &Request, old: &Value, new: &Value) -> bool {
        let account = request.user_info.username.as_deref().unwrap_or_default();
        let account = account.strip_prefix("system:serviceaccount:");
        let namespace = account.and_then(|account| account.split_once(':'));
        let namespace = namespace.map(|(namespace, _)| namespace);
        let is_other = old.pointer(NONCE) != new.pointer(NONCE);
        namespace.is_some() && namespace == self.liqo.as_deref() && is_other
    }
}

/// Whether a person adds the label to a stored Tenant by which the guard adopts its peering, and
/// changes nothing else: neither does a file of the peer adopt it, nor a label that was there.
fn is_adopted(request: &Request, old: &Value, new: &Value) -> bool {
    let label = |tenant: &Value| tenant.pointer("/metadata/labels")?.get(ADOPT).cloned();
    let is_added = label(new) == Some(Value::from(names::TRUE)) && label(old) != label(new);
    let is_all = old.is_object() && old.get("spec") == new.get("spec");
    request.kind.kind == Kind::Tenant.as_str() && is_added && is_all && is_of_a_person(request)
}

/// Whether a change leaves everything as it is that Liqo goes by. As long as a finalizer keeps an
/// object that is being deleted, Liqo goes by what it says.
fn says_the_same(old: &Value, new: &Value) -> bool {
    let fields = [
        "/spec",
        "/data",
        "/type",
        "/metadata/labels",
        REMOTE_TENANT_NAMESPACE,
    ];
    let is_same = |field: &&str| old.pointer(field) == new.pointer(field);
    old.is_object() && fields.iter().all(is_same)
}

/// Whether a person lets a consumer in without a handshake.
fn is_waived(request: &Request, object: &Object) -> bool {
    let policy = Tenant::from_object(object).and_then(|tenant| tenant.spec.authz_policy);
    policy == Some(AuthzPolicy::TolerateNoHandshake) && is_of_a_person(request)
}

/// The peer whose tenant namespace this is.
fn peer_of(namespace: &Namespace) -> Option<ClusterId> {
    let labels = &namespace.metadata.labels;
    let is_tenants = labels.get(names::TENANT_NAMESPACE_LABEL)? == names::TRUE;
    let peer = labels.get(names::REMOTE_CLUSTER_ID_LABEL)?;
    is_tenants.then(|| peer.parse().ok()).flatten()
}

const NONCE: &str = "/data/nonce";
/// Where Liqo's replicator writes at the provider.
const REMOTE_TENANT_NAMESPACE: &str = "/metadata/annotations/liqo.io~1remote-tenant-namespace";
const ADOPT: &str = "liqo-auth/adopt";
const ELSEWHERE: &str = "the object is in no tenant namespace, where nobody answers for it. Write \
                         it to the tenant namespace of its peer";
const AWAITED: &str = "the object cannot be judged yet. Try again in a few seconds";
