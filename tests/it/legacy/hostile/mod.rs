//! Requests and answers that an honest cluster never sends.

mod answers;
mod anything;
mod kept_answers;
mod limits;
mod requests;
mod service_accounts;
mod tokens;

use liqo_auth::legacy::{HttpResponse, Request};
use serde_json::Value;

use crate::legacy::pair::{Pair, ask};

/// A home that has sent its request, and an honest answer.
fn asked() -> (Pair, Request, Value) {
    let mut pair = Pair::new();
    let token = pair.token();
    pair.set_token(&token);
    let ids = pair.next_request().unwrap();
    let response = ask(&pair.foreign, &mut pair.at_foreign, &ids.http).response;
    pair.receive(&ids, &response.unwrap()).unwrap();
    let request = pair.next_request().unwrap();
    let answer = ask(&pair.foreign, &mut pair.at_foreign, &request.http);
    let body = serde_json::from_slice(answer.response.unwrap().body.expose()).unwrap();
    (pair, request, body)
}

fn response(status: u16, body: &[u8]) -> HttpResponse {
    let mut response = HttpResponse::unavailable();
    response.status = status;
    response.body = body.into();
    response
}
