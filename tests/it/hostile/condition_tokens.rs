//! Whoever writes the Tenant while the administrator makes a condition milder
//! does not get a milder one than the administrator said.

use liqo_auth::model::{TenantCondition, names};

use crate::clusters::pool::{Pool, consumer};

const RECORD: &str = "liqo-auth-provider-cl-consumer";

#[test]
fn a_lift_to_cordoned_never_becomes_active() {
    // The administrator's word reaches the Tenant, and the provider stops.
    let mut pool = drained();
    let step = {
        let view = pool.at_provider.view(&consumer());
        pool.provider
            .set_condition(&view, TenantCondition::Cordoned)
            .unwrap()
    };
    let [to_tenant, to_record] = &step.effects[..] else {
        panic!("{:#?}", step.effects);
    };
    pool.at_provider.apply(to_tenant).unwrap();
    let token = pool
        .tenant()
        .metadata
        .annotations
        .get(names::LIFT_CONDITION_ANNOTATION)
        .unwrap()
        .clone();

    // The peer applies its Tenant again, which says Active.
    pool.write_condition(TenantCondition::Active).settle();
    assert_eq!(condition(&pool), TenantCondition::Drained);

    // The word holds for what the administrator said.
    pool.edit_tenant(|tenant| {
        let annotations = &mut tenant.metadata.annotations;
        annotations.insert(names::LIFT_CONDITION_ANNOTATION.into(), token);
    });
    pool.write_condition(TenantCondition::Cordoned).settle();
    assert_eq!(condition(&pool), TenantCondition::Cordoned);
    assert!(pool.at_provider.apply(to_record).is_err());
}

/// The record offers one token for each condition that is milder.
#[test]
fn each_token_lifts_to_its_own_condition() {
    use TenantCondition::{Active, Cordoned, Drained};
    let fields = [
        ("liftCondition", Active),
        ("liftConditionToCordoned", Cordoned),
    ];
    for (field, milder) in fields {
        for said in [Active, Cordoned] {
            let mut pool = drained();
            let token = token(&pool, field).unwrap();
            pool.edit_tenant(|tenant| {
                tenant.spec.tenant_condition = Some(said);
                let annotations = &mut tenant.metadata.annotations;
                annotations.insert(names::LIFT_CONDITION_ANNOTATION.into(), token);
            })
            .settle();
            let expected = if said == milder { milder } else { Drained };
            assert_eq!(condition(&pool), expected, "{field} {said:?}");
        }
    }
    let mut pool = Pool::new();
    pool.write_condition(Cordoned).settle();
    assert!(token(&pool, "liftCondition").is_some());
    assert!(token(&pool, "liftConditionToCordoned").is_none());
}

/// The stored records of the first format contain tokens to `Active` of this form. The
/// other token names the condition that it lifts to.
#[test]
fn the_tokens_of_stored_records_stay_valid() {
    // HMAC-SHA-256 under the record key, shortened to 16 bytes, over the domain, both IDs,
    // "Drained", the Unix time of the record, and "Cordoned" for the other token. The
    // length precedes each part. Computed with Python's `hmac`.
    let pool = drained();
    let tokens = ["liftCondition", "liftConditionToCordoned"].map(|field| token(&pool, field));
    let expected = ["k5N0KigNX3FzCHugl8t9Qg", "Y4iBCaRoqtdznJ17sXqIdw"];
    assert_eq!(tokens, expected.map(|token| Some(token.to_owned())));
}

/// A condition that is no milder uses up no token, and the Tenant gets none.
#[test]
fn the_same_condition_again_changes_nothing() {
    use TenantCondition::{Active, Cordoned, Drained};
    for condition in [Active, Cordoned, Drained] {
        let mut pool = Pool::new();
        pool.write_condition(condition).settle();
        let view = pool.at_provider.view(&consumer());
        let step = pool.provider.set_condition(&view, condition).unwrap();
        assert_eq!(step.effects, [], "{condition:?}");
    }
}

/// The end of a peering lifts nothing: the peer would come back without its
/// condition.
#[test]
fn a_tenant_that_is_being_deleted_lifts_no_condition() {
    let mut pool = drained();
    let token = token(&pool, "liftCondition").unwrap();
    let now = pool.now;
    pool.edit_tenant(|tenant| {
        tenant.spec.tenant_condition = Some(TenantCondition::Active);
        tenant.metadata.deletion_timestamp = Some(now);
        tenant
            .metadata
            .finalizers
            .push("example.org/keeps".to_owned());
        let annotations = &mut tenant.metadata.annotations;
        annotations.insert(names::LIFT_CONDITION_ANNOTATION.into(), token);
    })
    .settle();
    assert_eq!(condition(&pool), TenantCondition::Drained);
}

fn drained() -> Pool {
    let mut pool = Pool::new();
    pool.write_condition(TenantCondition::Drained).settle();
    assert_eq!(condition(&pool), TenantCondition::Drained);
    pool
}

/// The recorded condition.
fn condition(pool: &Pool) -> TenantCondition {
    let record = pool.secret("liqo", RECORD).unwrap();
    let text = record.get("record").unwrap();
    let record: serde_json::Value = serde_json::from_slice(text).unwrap();
    match record.get("condition").and_then(|it| it.as_str()) {
        None => TenantCondition::Active,
        Some("Cordoned") => TenantCondition::Cordoned,
        Some("Drained") => TenantCondition::Drained,
        Some(other) => panic!("{other}"),
    }
}

fn token(pool: &Pool, field: &str) -> Option<String> {
    let record = pool.secret("liqo", RECORD).unwrap();
    let token = record.get(field)?.to_vec();
    Some(String::from_utf8(token).unwrap())
}
