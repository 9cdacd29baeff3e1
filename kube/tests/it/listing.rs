//! The lists of a tool, page by page.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use http::{Request, Response};
use kube::{Client, client::Body};
use liqo_auth::{
    machine::Watch,
    model::{Kind, Object},
};
use liqo_auth_kube::{Error, list};
use serde_json::{Value, json};
use tower::service_fn;

const GONE: u16 = 410;

#[tokio::test]
async fn a_list_whose_rest_is_gone_begins_anew() {
    let (listed, asked) = slices(|number, _| match number {
        0 | 2 => (200, page(&["a", "b"], "rest")),
        1 => (GONE, gone()),
        _ => (200, page(&["c"], "")),
    })
    .await;
    let listed = listed.unwrap();
    let names = listed.iter().map(|slice| slice.id().name);
    assert_eq!(names.collect::<Vec<_>>(), ["a", "b", "c"]);
    assert_eq!(asked, 4);
}

#[tokio::test]
async fn a_list_whose_rest_is_always_gone_is_given_up() {
    let (listed, asked) = slices(|_, query| match query.contains("continue=") {
        false => (200, page(&["a"], "rest")),
        true => (GONE, gone()),
    })
    .await;
    let Err(Error::Request { .. }) = listed else {
        panic!("{listed:?}");
    };
    assert_eq!(asked, 6);
}

#[tokio::test]
async fn a_list_of_empty_pages_without_an_end_is_given_up() {
    let (listed, asked) = slices(|_, _| (200, page(&[], "rest"))).await;
    let Err(Error::Request { source, .. }) = listed else {
        panic!("{listed:?}");
    };
    let shown = format!("{source:?}");
    assert!(shown.contains("EmptyPages"), "{shown}");
    assert_eq!(asked, 65);
}

/// A page of slices with these names, and the token of the next page.
fn page(names: &[&str], next: &str) -> Value {
    let items = names.iter().map(|name| {
        json!({
            "apiVersion": "authentication.liqo.io/v1beta1",
            "kind": "ResourceSlice",
            "metadata": { "name": name, "namespace": "liqo-tenant-rome" },
        })
    });
    json!({
        "apiVersion": "authentication.liqo.io/v1beta1",
        "kind": "ResourceSliceList",
        "metadata": { "resourceVersion": "1", "continue": next },
        "items": items.collect::<Vec<_>>(),
    })
}

fn gone() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Status",
        "status": "Failure",
        "reason": "Expired",
        "code": GONE,
    })
}

/// What a tool lists from a server with these answers, and how often it asks. An answer follows
/// from the number of the request and from its query.
async fn slices(answer: fn(usize, &str) -> (u16, Value)) -> (Result<Vec<Object>, Error>, usize) {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = asked.clone();
    let service = service_fn(move |request: Request<Body>| {
        let number = counted.fetch_add(1, Ordering::Relaxed);
        let (status, body) = answer(number, request.uri().query().unwrap_or_default());
        let answer = Response::builder().status(status);
        let answer = answer.body(Body::from(body.to_string().into_bytes()));
        async move { answer.map_err(kube::Error::HttpError) }
    });
    let client = Client::new(service, "default");
    let listed = list(&client, [Watch::all(Kind::ResourceSlice)]).await;
    (listed, asked.load(Ordering::Relaxed))
}
