//! A slice cannot make its record so large that nobody can read it.

use liqo_auth::model::{
    Kind, Object, Quantity, ResourceSliceConditionStatus as Said, ResourceSliceConditionType,
};

use crate::clusters::pool::{Pool, replica, resources};

const ACCEPTED: [Option<Said>; 2] = [Some(Said::Accepted), Some(Said::Accepted)];
const DENIED: [Option<Said>; 2] = [Some(Said::Accepted), Some(Said::Denied)];

/// A slice that asks for so many resources of such names and amounts.
fn asks(pool: &mut Pool, number: usize, name: usize, amount: &str) {
    pool.edit("mypool", |slice| {
        slice.spec.resources = (0..number)
            .map(|it| {
                let resource = format!("{it:05}{}", "n".repeat(name - 5));
                (resource, Quantity::from(amount))
            })
            .collect();
    });
}

/// The Secrets as an API server would give them.
fn read_again(pool: &mut Pool) {
    let secrets: Vec<Object> = pool
        .at_provider
        .iter()
        .filter(|object| object.id().kind == Kind::Secret)
        .map(|object| Object::from_value(object.to_value()))
        .collect();
    for secret in secrets {
        assert!(secret.as_unreadable().is_none(), "{}", secret.id());
        pool.at_provider.insert(secret);
    }
}

#[test]
fn a_slice_that_asks_for_too_much_is_denied() {
    let long = format!("0.{}", "0".repeat(63));
    for (number, name, amount) in [
        (500, 400, "1"),
        (129, 5, "1"),
        (1, 318, "1"),
        (1, 5, long.as_str()),
    ] {
        let mut pool = Pool::new();
        pool.bring(replica("mypool")).settle();
        asks(&mut pool, number, name, amount);
        pool.settle();
        read_again(&mut pool);
        assert_eq!(pool.said("mypool"), DENIED, "{number} {name} {amount}");
        let said = pool.condition("mypool", ResourceSliceConditionType::Resources);
        let message = &said.unwrap().message;
        assert!(message.contains("expected at most"), "{message}");
        assert!(message.len() < 300, "{message}");
        // The same slice asks for less.
        pool.edit("mypool", |slice| {
            slice.spec.resources = resources(&[("cpu", "2")]);
        });
        pool.settle();
        assert_eq!(pool.said("mypool"), ACCEPTED);
    }
}

#[test]
fn the_most_that_a_slice_may_ask_for_can_be_read_again() {
    let mut pool = Pool::new();
    pool.bring(replica("mypool")).settle();
    asks(&mut pool, 128, 317, &format!("1.{}", "0".repeat(62)));
    pool.settle();
    assert_eq!(pool.said("mypool"), ACCEPTED);
    read_again(&mut pool);
    pool.settle();
    assert_eq!(pool.said("mypool"), ACCEPTED);
}

/// A provider without these limits wrote such records.
#[test]
fn a_record_over_the_limit_is_made_anew() {
    for is_gone in [false, true] {
        let mut pool = Pool::new();
        pool.bring(replica("mypool")).settle();
        let name = pool.records().remove(0);
        let mut record = pool.secret("liqo", &name).unwrap().clone();
        let text = "x".repeat(300_000).into_bytes();
        record.data.insert("record".to_owned(), text.into());
        let record = Object::from_value(Object::from(record).to_value());
        assert!(record.as_unreadable().is_some());
        pool.at_provider.insert(record);
        if is_gone {
            pool.remove("mypool");
        }
        pool.settle();
        read_again(&mut pool);
        assert!(
            pool.at_provider
                .iter()
                .all(|it| it.as_unreadable().is_none())
        );
        if !is_gone {
            assert_eq!(pool.refused, []);
            assert_eq!(pool.said("mypool"), ACCEPTED);
        }
    }
}
