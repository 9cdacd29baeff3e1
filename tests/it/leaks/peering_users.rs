//! The private key of a peering user. It is in the user's kubeconfig, and nowhere else.

use liqo_auth::crypto::KeyPair;
use memchr::memmem;

use super::{Search, entropy, print_objects};
use crate::{
    administration::peering_users::{begin, signed, with_roles},
    clusters::exchange::RECORD_KEY,
};

#[test]
fn no_step_of_a_peering_user_prints_its_key() {
    let mut exchange = with_roles();
    let mut search = Search::new()
        .key("the user's key", &KeyPair::from_entropy(&entropy(50)))
        .bytes("the record key", &RECORD_KEY);

    let new = begin(&exchange).unwrap();
    search.print(&(&new, new.request(), new.certificate_signing_request()));
    let question = serde_json::to_string(new.request()).unwrap();
    search.printed.extend(question.bytes());

    let user = signed(&new).unwrap();
    let kubeconfig = user.kubeconfig.to_yaml();
    let is_shown = |(_, form): &(&str, Vec<u8>)| memmem::find(kubeconfig.expose(), form).is_some();
    assert!(
        search.forms.iter().any(is_shown),
        "the kubeconfig has the key"
    );
    search.print(&(&user, &kubeconfig));
    search.print_step(&Ok(user.step.clone()));
    search
        .printed
        .extend_from_slice(user.step.to_json().expose());
    exchange.carry_out(true, user.step);
    print_objects(&exchange.at_provider, &mut search);

    search.print_error(&begin(&exchange).unwrap_err());
    let view = exchange.provider_view();
    search.print_side(&exchange.provider, &view, exchange.env());
    let deleted = exchange.provider.delete_peering_user(&view);
    search.print_step(&deleted);
    exchange.carry_out(true, deleted.unwrap());
    print_objects(&exchange.at_provider, &mut search);
    search.assert_clean();
}
