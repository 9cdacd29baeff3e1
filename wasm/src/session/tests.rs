use serde_json::{Value, json};

/// The answer to a request. The objects of the request follow it, and the bodies of the answer
/// are put into it.
fn answer(request: &Value) -> Value {
    let mut head = request.clone();
    let mut objects = String::new();
    if let Some(seen) = head
        .pointer_mut("/session/seen")
        .and_then(Value::as_array_mut)
    {
        for object in seen {
            let text = object.to_string();
            objects.push_str(&text);
            *object = json!(text.len());
        }
    }
    let answer = crate::answer(format!("{head}\n{objects}").as_bytes());
    let mut parts = answer.splitn(2, |byte| *byte == b'\n');
    let head = parts.next().unwrap_or_default();
    let mut bodies = parts.next().unwrap_or_default();
    let mut found: Value = serde_json::from_slice(head).unwrap_or_default();
    if let Some(effects) = found
        .pointer_mut("/ok/effects")
        .and_then(Value::as_array_mut)
    {
        for effect in effects {
            let length = effect["request"]["body"].as_u64().unwrap_or_default();
            let length = usize::try_from(length).unwrap_or_default();
            let Some((body, rest)) = bodies.split_at_checked(length) else {
                panic!("{effect}");
            };
            effect["request"]["body"] = serde_json::from_slice(body).unwrap_or_default();
            bodies = rest;
        }
    }
    assert!(bodies.is_empty());
    found
}

/// The value of a session's answer.
fn ask(session: Value) -> Value {
    let found = answer(&json!({ "session": session }));
    assert!(found["error"].is_null(), "{found}");
    found["ok"].clone()
}

/// Why a session refuses a request.
fn refusal(session: Value) -> String {
    let found = answer(&json!({ "session": session }));
    assert_eq!(found["error"]["code"], "request-form", "{found}");
    found["error"]["message"]
        .as_str()
        .unwrap_or_default()
        .into()
}

fn opening() -> Value {
    json!({
        "peer": "cl-consumer",
        "side": { "provider": {
            "config": { "clusterID": "cl-provider", "apiServer": "https://172.19.0.3:6443" },
            "backends": [],
        } },
    })
}

fn with() -> Value {
    json!({
        "recordKey": "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=",
        "now": "2026-11-20T13:00:00Z",
        "entropy": "BQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQU=",
        "pollMilliseconds": 10_000,
    })
}

/// The objects that the effects of an answer create, as a store has them.
fn created(answer: &Value) -> Vec<Value> {
    let effects = answer["effects"].as_array().cloned().unwrap_or_default();
    let stored = effects.iter().enumerate().map(|(number, effect)| {
        assert_eq!(effect["type"], "create", "{effect}");
        let mut object = effect["request"]["body"].clone();
        object["metadata"]["uid"] = json!(format!("uid-{number}"));
        object["metadata"]["resourceVersion"] = json!((number + 1).to_string());
        object
    });
    stored.collect()
}

fn shown(objects: &[Value]) -> Value {
    json!({ "applied": vec!["shown"; objects.len()] })
}

/// Opens a session that has invited its peer, up to the effects.
fn invited() -> Value {
    let answer = ask(json!({ "open": opening(), "call": "invite", "with": with() }));
    assert_eq!(answer["next"], "apply", "{answer}");
    assert_eq!(answer["step"]["outbox"], json!([]));
    answer
}

/// Goes on with the objects that the effects of an answer create.
fn applied(answer: &Value) -> Value {
    let objects = created(answer);
    ask(json!({ "seen": objects, "outcomes": shown(&objects), "goOn": true, "with": with() }))
}

fn nonces(answer: &Value) -> usize {
    assert_eq!(answer["next"], "rest", "{answer}");
    let outbox = answer["step"]["outbox"].as_array().map_or(0, Vec::len);
    assert_eq!(answer["numbers"].as_array().map_or(0, Vec::len), outbox);
    outbox
}

#[test]
fn an_order_is_carried_out_and_its_message_is_handed_out_once() {
    let rest = applied(&invited());
    assert_eq!(nonces(&rest), 1);
    assert_eq!(rest["step"]["outbox"][0]["type"], "nonce");
    let again = || json!({ "call": "reconcile", "with": with() });
    assert_eq!(nonces(&ask(again())), 0);
    let mut undelivered = again();
    undelivered["outcomes"] = json!({ "undelivered": rest["numbers"] });
    let handed_out = ask(undelivered);
    assert_eq!(nonces(&handed_out), 1);
    assert_eq!(handed_out["numbers"], rest["numbers"]);
    let mut unknown = again();
    unknown["outcomes"] = json!({ "undelivered": [0, 99] });
    assert_eq!(nonces(&ask(unknown)), 0);
}

#[test]
fn the_bytes_of_an_object_are_in_the_request_alone() {
    let answer = invited();
    let effect = &answer["effects"][0];
    assert!(effect["object"].is_null() && effect["patch"].is_null());
    assert_eq!(effect["request"]["method"], "POST");
    assert_eq!(effect["id"]["kind"], effect["request"]["body"]["kind"]);
}

#[test]
fn an_order_is_repeated_after_a_conflict() {
    let first = invited();
    let overtaken =
        json!({ "outcomes": { "applied": ["overtaken"] }, "goOn": true, "with": with() });
    assert_eq!(
        ask(overtaken),
        json!({ "next": "look", "afterMilliseconds": 50 })
    );
    let again = ask(json!({ "goOn": true, "with": with() }));
    assert_eq!(again["effects"], first["effects"]);
    assert_eq!(nonces(&applied(&again)), 1);
}

#[test]
fn other_writers_end_a_run_that_they_overtake_each_time() {
    invited();
    for number in 1..=9 {
        let overtaken =
            json!({ "outcomes": { "applied": ["overtaken"] }, "goOn": true, "with": with() });
        let found = answer(&json!({ "session": overtaken }));
        if number == 9 {
            assert_eq!(found["error"]["code"], "overtaken");
            assert_eq!(found["error"]["disposition"], "retry");
            return;
        }
        assert_eq!(found["ok"]["afterMilliseconds"], 50 * number);
        assert_eq!(
            ask(json!({ "goOn": true, "with": with() }))["next"],
            "apply"
        );
    }
}

#[test]
fn a_run_that_does_not_come_to_rest_ends() {
    let mut answered = ask(json!({ "open": opening(), "call": "invite", "with": with() }));
    let objects = created(&answered);
    // The store shows the record alone, so that the rest is to be made again and again.
    let record = objects
        .iter()
        .filter(|object| object["metadata"]["namespace"] == "liqo");
    let record: Vec<&Value> = record.collect();
    for _ in 0..40 {
        let effects = answered["effects"].as_array().map_or(0, Vec::len);
        let request = json!({
            "seen": record,
            "outcomes": { "applied": vec!["shown"; effects] },
            "goOn": true,
            "with": with(),
        });
        let found = answer(&json!({ "session": request }));
        if found["error"]["code"] == "restless" {
            return;
        }
        answered = found["ok"].clone();
    }
    panic!("{answered}");
}

#[test]
fn a_change_that_only_a_watch_will_show_is_waited_for() {
    let answer = invited();
    let objects = created(&answer);
    let unshown = json!({ "applied": vec!["unshown"; objects.len()] });
    // The order is one step. The run after it sees nothing yet, and makes the objects again.
    let next = ask(json!({ "outcomes": unshown, "goOn": true, "with": with() }));
    assert_eq!(next["next"], "rest", "{next}");
}

#[test]
fn an_object_that_is_gone_is_not_in_the_next_look() {
    let answer = invited();
    let objects = created(&answer);
    applied(&answer);
    let gone: Vec<Value> = objects
        .iter()
        .map(|object| {
            json!({
                "kind": object["kind"],
                "namespace": object["metadata"]["namespace"].as_str().unwrap_or_default(),
                "name": object["metadata"]["name"],
            })
        })
        .collect();
    let again = ask(json!({ "gone": gone, "call": "invite", "with": with() }));
    assert_eq!(
        again["effects"].as_array().map(Vec::len),
        Some(objects.len())
    );
}

#[test]
fn a_look_leaves_the_run_as_it_is() {
    let answer = invited();
    let look = ask(json!({ "call": "look", "with": with() }));
    assert_eq!(look["status"]["side"], "provider");
    assert_eq!(nonces(&applied(&answer)), 1);
}

#[test]
fn a_request_that_cannot_be_read_changes_nothing() {
    let answer = invited();
    for (request, why) in [
        (
            json!({ "seen": [{ "apiVersion": "v1", "kind": "Secret" }] }),
            "seen: ",
        ),
        (
            json!({ "gone": [{ "kind": "Nothing", "name": "a" }] }),
            "gone: ",
        ),
        (json!({ "goOn": true }), "with: "),
        (
            json!({ "call": "unauthenticate", "with": with() }),
            "call: ",
        ),
        (json!({ "unknown": 1 }), "unknown field"),
    ] {
        let found = refusal(request);
        assert!(found.contains(why), "{found}");
    }
    // Lengths that do not fit the objects after the request.
    for (lengths, objects) in [
        ("2", ""),
        ("2", "{"),
        ("2", "{}{}"),
        ("1,2", "\u{e9}}"),
        ("", "{}"),
    ] {
        let request = format!(r#"{{"session":{{"seen":[{lengths}]}}}}{objects}"#);
        let found = crate::answer(request.as_bytes());
        let found: Value = serde_json::from_slice(&found).unwrap_or_default();
        let message = found["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains("seen: found lengths"), "{found}");
    }
    let mut keyless = with();
    keyless["recordKey"] = Value::Null;
    let found = refusal(json!({ "goOn": true, "with": keyless }));
    assert!(found.starts_with("recordKey: "), "{found}");
    assert_eq!(nonces(&applied(&answer)), 1);
}

#[test]
fn outcomes_that_fit_no_effects_are_refused() {
    let answer = invited();
    let found = refusal(json!({ "goOn": true, "with": with() }));
    assert!(found.contains("less than the effects"), "{found}");
    invited();
    let mut outcomes = shown(&created(&answer));
    if let Some(applied) = outcomes["applied"].as_array_mut() {
        applied.push(json!("shown"));
    }
    let found = refusal(json!({ "outcomes": outcomes, "goOn": true, "with": with() }));
    assert!(found.contains("more than the effects"), "{found}");
}

#[test]
fn bytes_follow_the_requests_of_a_session_alone() {
    let found = crate::answer(b"\"closeSession\" \n");
    assert_eq!(found, br#"{"ok":{}}"#);
    for request in ["\"closeSession\"{}", "", " ", "{\"session\":{}", "{}{}"] {
        let found = crate::answer(request.as_bytes());
        let found: Value = serde_json::from_slice(&found).unwrap_or_default();
        assert_eq!(found["error"]["code"], "request-form", "{request}: {found}");
    }
}

#[test]
fn a_session_is_there_until_it_is_closed() {
    assert!(refusal(json!({ "goOn": true, "with": with() })).starts_with("session: "));
    invited();
    assert_eq!(answer(&json!("closeSession")), json!({ "ok": {} }));
    assert!(refusal(json!({ "goOn": true, "with": with() })).starts_with("session: "));
    ask(json!({ "open": opening() }));
    let found = refusal(json!({ "goOn": true, "with": with() }));
    assert!(found.starts_with("goOn: "), "{found}");
}
