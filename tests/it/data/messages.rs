//! Messages: their sender, addressee and digest.

use liqo_auth::{
    Machine,
    error::{ApiMisuse, Disposition, Error},
    machine::{Message, MessageBody, Step},
    model::ClusterId,
    policy::Policy,
};

use crate::clusters::exchange::{Exchange, Setup, id};

#[test]
fn a_message_for_another_cluster_is_refused() {
    let exchange = with_messages();
    for (body, is_for_provider) in bodies(&exchange) {
        let (sender, own) = ends(&exchange, is_for_provider);
        let message = Message::new(&sender, &id("cl-other"), body);
        let fault = ApiMisuse::OtherAddressee {
            found: id("cl-other"),
            expected: own,
        };
        let error = receive(&exchange, is_for_provider, message).unwrap_err();
        assert_eq!(error.fault(), &fault.into());
        assert_eq!(error.code(), "message-for-another-cluster");
        assert_eq!(error.disposition(), Disposition::GiveUp);
    }
}

#[test]
fn a_message_that_is_not_from_the_peer_of_the_view_is_refused() {
    let exchange = with_messages();
    for (body, is_for_provider) in bodies(&exchange) {
        let (sender, own) = ends(&exchange, is_for_provider);
        let message = Message::new(&id("cl-other"), &own, body);
        let fault = ApiMisuse::OtherSender {
            found: id("cl-other"),
            expected: sender,
        };
        let error = receive(&exchange, is_for_provider, message).unwrap_err();
        assert_eq!(error.fault(), &fault.into());
        assert_eq!(error.code(), "message-from-another-cluster");
    }
}

#[test]
fn equal_messages_have_equal_digests_and_different_ones_different_digests() {
    let exchange = with_messages();
    let mut digests = std::collections::BTreeSet::new();
    let mut count = 0;
    for (body, is_for_provider) in bodies(&exchange) {
        let (from, to) = ends(&exchange, is_for_provider);
        for message in [
            Message::new(&from, &to, body.clone()),
            Message::new(&to, &from, body.clone()),
            Message::new(&from, &id("cl-other"), body),
        ] {
            assert_eq!(message.digest(), message.clone().digest());
            let read = Message::from_json(message.to_json().expose(), &Policy::strict());
            assert_eq!(read.unwrap().digest(), message.digest());
            digests.insert(message.digest());
            count += 1;
        }
    }
    assert_eq!(digests.len(), count);
}

#[test]
fn a_malformed_message_is_refused() {
    for (text, expected) in [
        ("", "line 1, column 0: found invalid JSON"),
        (
            r#"{"type":"nonce","from":"a","to":"b","more":1}"#,
            "found a field that is not known",
        ),
        (
            r#"{"type":"nonce","from":"a","to":"b"}"#,
            "expected a nonce",
        ),
        (
            r#"{"type":"nonce","from":"a","to":"b","nonce":"x","tenant":{}}"#,
            "expected a nonce",
        ),
        (
            r#"{"type":"nonce","from":"a","to":"b","nonce":"x"}"#,
            "nonce: ",
        ),
        (
            r#"{"type":"tenant","from":"a","to":"b","tenant":{"apiVersion":"v1","kind":"Secret"}}"#,
            "expected a tenant",
        ),
        (
            r#"{"type":"identity","from":"a","to":"b","identity":{}}"#,
            "expected a Kubernetes object",
        ),
        (
            r#"{"type":"nonce","from":"A","to":"b","nonce":"x"}"#,
            "from: ",
        ),
        (
            r#"{"type":"nonce","from":"a","from":"a"}"#,
            "from: found twice",
        ),
    ] {
        let error = Message::from_json(text.as_bytes(), &Policy::strict()).unwrap_err();
        assert!(error.to_string().contains(expected), "{text}: {error}");
    }
}

fn with_messages() -> Exchange {
    let mut exchange = Setup::new().exchange();
    exchange.settle();
    exchange
}

/// The messages. The flag says whether the message is for the provider.
fn bodies(exchange: &Exchange) -> Vec<(MessageBody, bool)> {
    vec![
        (exchange.nonce().into(), false),
        (exchange.tenant().into(), true),
        (exchange.identity().into(), false),
    ]
}

/// The sender and the addressee.
fn ends(exchange: &Exchange, is_for_provider: bool) -> (ClusterId, ClusterId) {
    let provider = exchange.provider.cluster_id().clone();
    let consumer = exchange.consumer.cluster_id().clone();
    if is_for_provider {
        (consumer, provider)
    } else {
        (provider, consumer)
    }
}

fn receive(exchange: &Exchange, at_provider: bool, message: Message) -> Result<Step, Error> {
    if at_provider {
        let view = exchange.provider_view();
        exchange.provider.receive(&view, message, exchange.env())
    } else {
        let view = exchange.consumer_view();
        exchange.consumer.receive(&view, message, exchange.env())
    }
}
