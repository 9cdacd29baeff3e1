//! Requests of the legacy token protocol. Nothing panics. Each request is read,
//! answered or refused. Without the token nothing is written.
#![no_main]

use libfuzzer_sys::fuzz_target;
use liqo_auth::{
    crypto::RecordKey,
    legacy::{Foreign, HttpRequest, Reading, TokenProtocol},
    machine::Objects,
    policy::Policy,
    provider::Endpoint,
};
use liqo_auth_fuzz::env;

fuzz_target!(|bytes: &[u8]| {
    let (Ok(id), Ok(url), Ok(key), Ok(accounts)) = (
        "cl-foreign".parse(),
        "https://172.19.0.3:6443".parse(),
        RecordKey::new([1; 32]),
        "guests".parse(),
    ) else {
        return;
    };
    let foreign = Foreign::builder(id, Endpoint::new(url, None), key)
        .enable_token_protocol(TokenProtocol::TrustWhoeverHoldsTheToken)
        .policy(Policy::compatible())
        .hand_out_service_accounts(accounts)
        .build();
    for path in ["/identity", "/identity/certificate"] {
        let request = HttpRequest::new("POST", path, bytes);
        let Reading::Identity(request) = foreign.read(&request) else {
            continue;
        };
        let objects = Objects::new();
        let view = objects.view(request.peer());
        if let Ok(answer) = foreign.handle(&view, &request, env()) {
            assert!(answer.step.effects.is_empty());
            assert!(
                answer
                    .response
                    .is_some_and(|response| response.status >= 400)
            );
        }
    }
});
