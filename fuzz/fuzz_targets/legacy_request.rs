//! Requests of the legacy token protocol. Nothing panics. Each request is read,
//! answered or refused. Without the token nothing is written.
#![no_main]

use libfuzzer_sys::fuzz_target;
use liqo_auth::{
    crypto::RecordKey,
    legacy::{Foreign, ForeignSettings, HttpRequest, Reading, TokenProtocol},
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
    let settings = ForeignSettings {
        protocol: TokenProtocol::TrustWhoeverHoldsTheToken,
        policy: Policy::compatible(),
        service_accounts: Some(accounts),
        ..ForeignSettings::default()
    };
    let foreign = Foreign::new(id, Endpoint::new(url, None), key, settings);
    for path in ["/identity", "/identity/certificate"] {
        let request = HttpRequest::new("POST", path, bytes);
        let Reading::Identity(request) = foreign.read(&request) else {
            continue;
        };
        let objects = Objects::new(&env().entropy);
        let view = objects.view(&request.peer);
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
