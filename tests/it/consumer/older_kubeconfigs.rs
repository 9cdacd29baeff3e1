//! A kubeconfig that Liqo 1.0 wrote says the same as ours, and stays as it is.

use liqo_auth::model::{Object, Secret};

use crate::clusters::exchange::{Exchange, Setup};

const NAMESPACE: &str = "liqo-tenant-cl-provider";
const NAME: &str = "kubeconfig-controlplane-cl-provider";

/// An exchange that is finished, with its kubeconfig changed in one place.
fn finished_with(what: &str, by: &str) -> Exchange {
    let mut exchange = Setup::new().exchange();
    exchange.settle();
    let mut secret: Secret = exchange
        .at_consumer
        .get::<Secret>(NAMESPACE, NAME)
        .unwrap()
        .clone();
    let ours = exchange.kubeconfig();
    assert!(ours.contains(what));
    let text = ours.replacen(what, by, 1);
    let value = text.into_bytes().into();
    secret.data.insert("kubeconfig".to_owned(), value);
    exchange.at_consumer.insert(Object::from(secret));
    exchange
}

#[test]
fn a_finished_exchange_of_liqo_1_0_stays_as_it_is() {
    let mut exchange = finished_with("kind: Config\n", "kind: Config\npreferences: {}\n");
    assert_eq!(exchange.consumer_phase().name(), "Authenticated");
    let step = exchange.turn_of_consumer();
    assert_eq!(step.effects, []);
    assert!(exchange.kubeconfig().contains("preferences: {}"));
}

#[test]
fn a_kubeconfig_that_says_something_else_is_written_anew() {
    for (what, by) in [
        ("kind: Config\n", "kind: Config\npreferences: {a: b}\n"),
        (
            "kind: Config\n",
            "kind: Config\npreferences: {}\npreferences: {}\n",
        ),
        (
            "    server: https",
            "    preferences: {}\n    server: https",
        ),
        (
            "  name: cl-provider\n",
            "  name: cl-provider\n- cluster: {}\n",
        ),
    ] {
        let mut exchange = finished_with(what, by);
        assert_eq!(exchange.consumer_phase().name(), "NeedsKubeconfig", "{by}");
        exchange.settle();
        assert!(!exchange.kubeconfig().contains(by), "{by}");
    }
}
