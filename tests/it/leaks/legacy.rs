//! The secrets of the token protocol: tokens, the home's key, and the record keys.

use liqo_auth::legacy::{AuthToken, HttpRequest, Reading};

use super::{Search, print_objects};
use crate::legacy::pair::{Pair, ask_undelivered, body, env, key, post};

#[test]
fn no_request_or_answer_prints_a_token() {
    for mut pair in [Pair::new(), Pair::of_accounts()] {
        let token = pair.token();
        let mut search = Search::new()
            .bytes("the token", token.expose().as_bytes())
            .key("the home's private key", &key(1))
            .bytes("the foreign cluster's record key", &[1; 32])
            .bytes("the home's record key", &[2; 32]);
        search.print(&token);
        search.print(&(&pair.foreign, &pair.home));
        pair.set_token(&token);
        for _ in 0..6 {
            let Some(request) = pair.next_request() else {
                break;
            };
            search.print(&request);
            // The server stops after so many effects, and the home asks again.
            for effects in 0..4 {
                handled(&pair, &request.http, effects, &mut search);
            }
            let answer = ask_undelivered(
                &pair.foreign,
                &mut pair.at_foreign,
                &request.http,
                usize::MAX,
            );
            let response = answer.unwrap().response.unwrap();
            search.print(&response);
            search.print_step(&pair.receive(&request, &response));
            search.print(&pair.phase());
            print_objects(&pair.at_home, &mut search);
            print_objects(&pair.at_foreign, &mut search);
        }
        search.assert_clean();
    }
}

/// A refused token is a secret as well: it may be right somewhere else.
#[test]
fn no_refusal_prints_the_token_that_it_refuses() {
    let pair = Pair::new();
    let wrong = AuthToken::make(&env().entropy);
    let mut search = Search::new().bytes("the refused token", wrong.expose().as_bytes());
    let request = post(&body("cl-home", &key(5), wrong.expose()));
    handled(&pair, &request, usize::MAX, &mut search);
    search.assert_clean();
}

/// Prints what a foreign cluster does with a request, up to so many effects.
fn handled(pair: &Pair, http: &HttpRequest, effects: usize, search: &mut Search) {
    let reading = pair.foreign.read(http);
    search.print(&reading);
    let Reading::Identity(request) = reading else {
        return;
    };
    let mut objects = pair.at_foreign.clone();
    let view = objects.view(&request.peer);
    let reply = pair.foreign.handle(&view, &request, env()).unwrap();
    search.print_step(&Ok(reply.step.clone()));
    if let Some(response) = &reply.response {
        search.print(response);
        search.printed.extend(response.body.expose());
    }
    for effect in reply.step.effects.iter().take(effects) {
        objects.apply(effect).unwrap();
    }
    print_objects(&objects, search);
}
