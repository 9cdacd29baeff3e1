//! The same verdicts by a guard, in front of another program that carries out the exchange.

use super::*;

/// Does Liqo's provider see this Tenant?
pub(super) fn judge_tenant(case: &Value, policy: Policy) -> Result<(), Refusal> {
    tenant_is_seen(case, &provider(case, &policy)).map(drop)
}

/// The objects of a provider that has seen the Tenant of a case.
fn tenant_is_seen(case: &Value, provider: &Provider) -> Result<Objects, Refusal> {
    let tenant: Tenant = read(&case["tenant"])?;
    let peer = verify::claimed_consumer(&tenant)?;
    let nonce = case["nonce"].as_str().unwrap().as_bytes();
    let mut objects = Objects::new(&entropy());
    objects.insert(Namespace::for_tenant(&peer).into());
    let mut secret = secret(names::NONCE_SECRET, &peer, nonce);
    let labels = &mut secret.metadata.labels;
    labels.insert(names::NONCE_LABEL.into(), names::TRUE.into());
    // Liqo has made the nonce in front of the guard.
    is_seen(provider, &peer, &mut objects, secret, now())?;
    is_seen(provider, &peer, &mut objects, tenant, now())?;
    Ok(objects)
}

/// Does Liqo's provider see this slice?
pub(super) fn judge_slice(case: &Value, policy: Policy) -> Result<(), Refusal> {
    let consumer: Value = serde_json::from_str(CONSUMER_OF_SLICES).unwrap();
    let provider = provider(case, &policy);
    let mut objects = tenant_is_seen(&consumer, &provider)?;
    let peer = consumer["tenant"]["spec"]["clusterID"].as_str().unwrap();
    let peer = peer.parse().unwrap();
    let slice = replicated(read(&case["resourceSlice"])?, &peer, provider.cluster_id());
    is_seen(&provider, &peer, &mut objects, slice, now())
}

/// Does Liqo's consumer see this Identity?
pub(super) fn judge_identity(case: &Value, policy: Policy) -> Result<(), Refusal> {
    let (consumer, provider, now) = consumer(case, policy);
    let mut objects = Objects::new(&entropy());
    objects.insert(Namespace::for_tenant(&provider).into());
    for identity in [&case["stored"], &case["identity"]] {
        if !identity.is_null() {
            let identity: Identity = read(identity)?;
            is_seen(&consumer, &provider, &mut objects, identity, now)?;
        }
    }
    Ok(())
}

/// Does Liqo's consumer see this text, and sign it?
pub(super) fn judge_nonce(case: &Value, policy: Policy) -> Result<(), Refusal> {
    let text = STANDARD.decode(case["nonce"].as_str().unwrap()).unwrap();
    let provider = "cl-provider".parse().unwrap();
    let mut objects = Objects::new(&entropy());
    objects.insert(Namespace::for_tenant(&provider).into());
    let mut secret = secret(names::SIGNED_NONCE_SECRET, &provider, &text);
    let labels = &mut secret.metadata.labels;
    labels.insert(names::SIGNED_NONCE_LABEL.into(), names::TRUE.into());
    let consumer = consumer_with(new_key(), policy);
    is_seen(&consumer, &provider, &mut objects, secret, now())
}

/// Stores an object in the tenant namespace of its peer if the guard lets it through.
fn is_seen(
    guard: &impl Machine,
    peer: &ClusterId,
    objects: &mut Objects,
    object: impl Into<Object>,
    now: Timestamp,
) -> Result<(), Refusal> {
    let mut object = object.into();
    let metadata = object.metadata_mut();
    metadata.namespace = names::tenant_namespace(peer);
    metadata.uid = "the-uid".into();
    let env = Env {
        now,
        entropy: entropy(),
    };
    let step = guard.guard(&objects.view(peer), &object, env)?;
    assert_eq!(step.wait.awaiting, []);
    for effect in &step.effects {
        objects.apply(effect).unwrap();
    }
    objects.insert(object);
    Ok(())
}
