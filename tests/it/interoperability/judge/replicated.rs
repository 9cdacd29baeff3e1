//! Two clusters with replication between them after the handshake.

use liqo_auth::{machine::replication, model::Resource};

use crate::clusters::exchange::Exchange;

pub(crate) const AT_CONSUMER: &str = "liqo-tenant-cl-provider";
pub(crate) const AT_PROVIDER: &str = "liqo-tenant-cl-consumer";

/// Lets both sides work and replicates the shared objects, until nothing
/// changes.
pub(crate) fn settle(two: &mut Exchange) {
    for _ in 0..32 {
        let before = (two.at_provider.clone(), two.at_consumer.clone());
        two.turn_of_provider();
        replicate(two);
        two.turn_of_consumer();
        assert_eq!(two.refused, []);
        if before == (two.at_provider.clone(), two.at_consumer.clone()) {
            assert_eq!(two.phases(), ("Authenticated", "Authenticated"));
            return;
        }
    }
    panic!("it does not settle");
}

/// Replicates, as Liqo's crd-replicator does.
pub(crate) fn replicate(two: &mut Exchange) {
    let forth = replication::to_provider(&two.consumer_view(), &two.provider_view()).unwrap();
    let back = replication::to_consumer(&two.consumer_view(), &two.provider_view()).unwrap();
    two.carry_out(true, forth);
    two.carry_out(false, back);
}

/// The object on the consumer, and its replica on the provider.
pub(crate) fn both<K: Resource + Clone>(two: &Exchange, name: &str) -> (K, K) {
    (
        two.at_consumer.get::<K>(AT_CONSUMER, name).unwrap().clone(),
        two.at_provider.get::<K>(AT_PROVIDER, name).unwrap().clone(),
    )
}
