//! A provider on EKS: the handshake is the same, but at its end the peer gets
//! an AWS user.

mod granting;
mod revocation;

use std::sync::Arc;

use liqo_auth::{
    Machine,
    consumer::PeerSettings,
    crypto::RecordKey,
    machine::Step,
    model::AwsConfig,
    provider::{AwsIdentities, NameTable, Provider},
};

use crate::clusters::{
    exchange::{Exchange, RECORD_KEY, Setup, ed25519, id},
    iam::Iam,
};

pub(crate) fn exchange_with(iam: &Arc<Iam>) -> Exchange {
    let setup = Setup {
        settings: PeerSettings {
            accept_aws: true,
            ..PeerSettings::default()
        },
        ..Setup::new()
    };
    let mut exchange = setup.exchange();
    let identities: Arc<dyn AwsIdentities> = iam.clone();
    exchange.provider = Provider::builder(
        id("cl-provider"),
        setup.endpoint.clone(),
        RecordKey::new(RECORD_KEY).unwrap(),
    )
    .principals(Arc::new(NameTable::default()))
    .key(ed25519(2))
    .aws(identities)
    .build();
    exchange
}

fn authenticated(iam: &Arc<Iam>) -> Exchange {
    let mut exchange = exchange_with(iam);
    exchange.settle();
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
    exchange
}

fn given(exchange: &Exchange) -> AwsConfig {
    let status = exchange.stored_tenant().status;
    status.auth_params.unwrap().aws_config.unwrap()
}

impl Exchange {
    /// Lets only the provider work, until it has nothing to do.
    fn settle_provider(&mut self) -> Step {
        for _ in 0..16 {
            let step = self
                .provider
                .reconcile(&self.provider_view(), self.env())
                .unwrap();
            let step = self.carry_out(true, step);
            if step.is_settled() {
                return step;
            }
        }
        panic!("the provider does not settle");
    }
}
