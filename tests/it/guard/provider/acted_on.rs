//! What Liqo acts on, although it looks otherwise.

use super::*;

/// A finalizer keeps what is being deleted, and Liqo still acts on it.
#[test]
fn what_is_being_deleted_is_judged_as_before() {
    let exchange = made();
    let (mut guard, tenant) = guard_of(&exchange);
    guard.write(tenant.clone());
    let mut without_request = slice(&exchange);
    without_request.spec.csr = Default::default();
    without_request.metadata.deletion_timestamp = Some(Timestamp::EPOCH);
    assert!(guard.write(without_request.clone()).is_settled());
    let refused = ("csr-refused", "spec.csr".to_owned());
    let mut of_another = without_request.clone();
    of_another.spec.csr = exchange.tenant().spec.csr;
    assert_eq!(guard.refused(of_another.clone()), refused);
    let mut completed = without_request;
    completed.spec.csr = slice(&exchange).spec.csr;
    assert!(guard.write(completed).is_settled());
    let mut other = renew(&exchange);
    other.metadata.deletion_timestamp = Some(Timestamp::EPOCH);
    other.spec.csr = slice(&exchange).spec.csr;
    assert_eq!(guard.refused(other), refused);

    let mut deleted = tenant.clone();
    deleted.metadata.deletion_timestamp = Some(Timestamp::EPOCH);
    let mut changed = deleted.clone();
    changed.spec.public_key = by_another_key(&exchange).spec.public_key;
    assert_eq!(guard.refused(changed).0, "key-changed");
    assert!(guard.write(deleted).is_settled());
    // For a Tenant that is being deleted, Liqo still signs.
    of_another.metadata.deletion_timestamp = None;
    assert_eq!(guard.refused(of_another), refused);
    assert!(guard.write(slice(&exchange)).is_settled());
}

#[test]
fn a_key_is_pinned_for_good_also_by_a_tenant_that_is_deleted_at_once() {
    let exchange = made();
    let (mut guard, tenant) = guard_with(&exchange, |_| {});
    guard.reserve(&tenant.clone().into());
    let mut deleted = tenant;
    deleted.metadata.deletion_timestamp = Some(Timestamp::EPOCH);
    let id = deleted.id();
    guard.objects.insert(deleted.into());
    assert_eq!(guard.confirm(&id).effects.len(), 1);
    assert!(guard.confirm(&id).is_settled());
}

/// After a change of the Tenant, Liqo signs it, whatever its labels say of its origin.
#[test]
fn a_slice_that_asks_for_a_certificate_of_the_peer_is_a_replica() {
    let exchange = made();
    let (mut guard, tenant) = guard_of(&exchange);
    guard.write(tenant);
    for replicated in [None, Some("false")] {
        let mut slice = slice(&exchange);
        let labels = &mut slice.metadata.labels;
        labels.remove(names::REPLICATED_LABEL);
        let label = replicated.map(|it| (names::REPLICATED_LABEL.to_owned(), it.to_owned()));
        labels.extend(label);
        let field = "metadata.labels[liqo.io/replicated]".to_owned();
        assert_eq!(guard.refused(slice), ("name-mismatch", field));
    }
}
