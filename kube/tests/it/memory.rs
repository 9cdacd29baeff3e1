//! The memory of a controller while a peer holds large objects, or lists without an end.
//!
//! Each measurement runs in a process of its own, since the peak is that of the process.

use std::{
    env, fs,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use futures::stream;
use http::{Method, Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody, combinators::UnsyncBoxBody};
use kube::{Client, client::Body};
use liqo_auth::{crypto::BoxError, machine::Watch, model::Kind};
use liqo_auth_kube::list;
use tokio::task::JoinSet;
use tower::service_fn;

use crate::{
    clusters::id,
    events::provider,
    fake::FakeApiServer,
    life::until,
    remote_cluster::tenant_namespace,
    replicating::{Replicator, as_rome, authenticated_in_memory},
};

#[test]
fn large_objects_of_a_peer_cost_a_provider_little_memory() {
    for field in ["spec", "status", "annotations", "small values"] {
        let growth = measured("memory::a_provider_lists_large_objects", field);
        assert!(growth <= MOST_GROWTH, "{field}: {growth} kB");
    }
}

#[test]
fn many_objects_of_a_peer_within_the_limits_cost_a_provider_little_memory() {
    let growth = measured("memory::a_provider_lists_many_objects", "spec");
    assert!(growth <= MOST_GROWTH, "{growth} kB");
}

#[test]
fn what_a_peer_holds_costs_a_tool_little_memory() {
    for test in [
        "memory::a_tool_lists_large_objects",
        "memory::a_tool_lists_many_objects",
    ] {
        for field in ["spec", "small values"] {
            let growth = measured(test, field);
            assert!(growth <= MOST_GROWTH, "{test}, {field}: {growth} kB");
        }
    }
}

#[test]
fn a_provider_that_lists_without_an_end_costs_a_consumer_little_memory() {
    let growth = measured("memory::a_consumer_replicates_to_a_list_without_an_end", "");
    assert!(growth <= MOST_GROWTH, "{growth} kB");
}

#[tokio::test]
#[ignore = "runs in a process of its own, which another test starts"]
async fn a_provider_lists_large_objects() {
    a_provider_lists(1400, 2).await;
}

/// All of them together are more than twice what is allowed.
#[tokio::test]
#[ignore = "runs in a process of its own, which another test starts"]
async fn a_provider_lists_many_objects() {
    a_provider_lists(244, 16).await;
}

#[tokio::test]
#[ignore = "runs in a process of its own, which another test starts"]
async fn a_tool_lists_large_objects() {
    a_tool_lists(1400, 2).await;
}

#[tokio::test]
#[ignore = "runs in a process of its own, which another test starts"]
async fn a_tool_lists_many_objects() {
    a_tool_lists(244, 16).await;
}

/// Reports what a list of so many pages of slices of this size costs.
async fn a_tool_lists(kilobytes_of_each: usize, pages: usize) {
    let lists = Lists {
        field: env::var(FIELD).unwrap(),
        kilobytes: kilobytes_of_each,
        pages,
        listed: Arc::default(),
    };
    let client = lists.on(&FakeApiServer::with_liqo("milan"));
    let at_rest = kilobytes("VmRSS");
    let listed = list(&client, [Watch::all(Kind::ResourceSlice)]).await;
    assert_eq!(listed.unwrap().len(), 32 * pages);
    report(at_rest);
}

/// Reports what so many pages of slices of this size cost a provider.
async fn a_provider_lists(kilobytes_of_each: usize, pages: usize) {
    let milan = FakeApiServer::with_liqo("milan");
    milan.put(tenant_namespace("liqo-tenant-rome"));
    let mut running = JoinSet::new();
    let handle = provider(milan.client(), &mut running).await;
    handle.invite(&id("rome")).await.unwrap();
    let at_rest = kilobytes("VmRSS");

    let lists = Lists {
        field: env::var(FIELD).unwrap(),
        kilobytes: kilobytes_of_each,
        pages,
        listed: Arc::default(),
    };
    let handle = provider(lists.on(&milan), &mut running).await;
    handle.invite(&id("rome")).await.unwrap();
    assert_eq!(lists.listed(), pages, "all pages are listed");
    report(at_rest);
}

#[tokio::test]
#[ignore = "runs in a process of its own, which another test starts"]
async fn a_consumer_replicates_to_a_list_without_an_end() {
    let clusters = authenticated_in_memory().await;
    let at_rest = kilobytes("VmRSS");
    let lists = Lists {
        field: "spec".to_owned(),
        kilobytes: 200,
        pages: usize::MAX,
        listed: Arc::default(),
    };
    let _replicator = Replicator::start(&clusters, lists.on(&as_rome(&clusters.milan))).await;
    let mut before = 0;
    until("the list is given up", async || {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let after = lists.listed();
        let is_given_up = after > 2 && after == before;
        before = after;
        is_given_up
    })
    .await;
    report(at_rest);
}

/// By how many kilobytes the peak of the named test exceeds its memory at rest.
fn measured(test: &str, field: &str) -> u64 {
    let ran = Command::new(env::current_exe().unwrap())
        .args([test, "--exact", "--ignored", "--nocapture"])
        .env(FIELD, field)
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&ran.stdout);
    let growth = output
        .lines()
        .find_map(|line| line.split_once(REPORT)?.1.parse().ok());
    growth.unwrap_or_else(|| panic!("{output}{}", String::from_utf8_lossy(&ran.stderr)))
}

fn report(at_rest: u64) {
    println!("\n{REPORT}{}", kilobytes("VmHWM").saturating_sub(at_rest));
}

/// A field of this process' status, in kilobytes.
fn kilobytes(field: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(field)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Lists of slices of a peer, each with its bulk in this field.
#[derive(Clone)]
struct Lists {
    field: String,
    /// The size of each slice.
    kilobytes: usize,
    pages: usize,
    /// The number of pages that were listed.
    listed: Arc<AtomicUsize>,
}

impl Lists {
    fn listed(&self) -> usize {
        self.listed.load(Ordering::Relaxed)
    }

    /// A client of the server that has these slices.
    fn on(&self, server: &FakeApiServer) -> Client {
        let (inner, lists) = (server.client(), self.clone());
        let service = service_fn(move |request: Request<Body>| {
            let (inner, lists) = (inner.clone(), lists.clone());
            async move {
                let query = request.uri().query().unwrap_or_default();
                let is_list = request.method() == Method::GET
                    && request.uri().path().ends_with("/resourceslices")
                    && !query.contains("watch=");
                if is_list {
                    let mut limits = query.split('&').filter_map(|it| it.strip_prefix("limit="));
                    let limit = limits.next().and_then(|limit| limit.parse().ok());
                    return Ok(Response::new(lists.page(limit.unwrap())));
                }
                let answer = inner.send(request).await?;
                Ok::<_, kube::Error>(answer.map(|body| body.map_err(Into::into).boxed_unsync()))
            }
        });
        Client::new(service, "default")
    }

    /// The next page of so many slices, which is made while it is read.
    fn page(&self, length: usize) -> UnsyncBoxBody<Bytes, BoxError> {
        let page = self.listed.fetch_add(1, Ordering::Relaxed);
        let next = match page + 1 < self.pages {
            true => "next",
            false => "",
        };
        let head = format!(
            r#"{{"kind":"ResourceSliceList","apiVersion":"{VERSION}","metadata":{{"continue":"{next}","resourceVersion":"1"}},"items":["#
        );
        let (field, kilobytes) = (self.field.clone(), self.kilobytes);
        let slices = (0..length).flat_map(move |index| {
            let comma = if index == 0 { "" } else { "," };
            let slice = slice(page * length + index, &field, kilobytes);
            [Bytes::from_static(comma.as_bytes())]
                .into_iter()
                .chain(slice)
        });
        let frames = [head.into()].into_iter().chain(slices).chain(["]}".into()]);
        StreamBody::new(stream::iter(frames.map(|bytes| Ok(Frame::data(bytes))))).boxed_unsync()
    }
}

fn slice(index: usize, field: &str, kilobytes: usize) -> impl Iterator<Item = Bytes> + use<> {
    let head = format!(
        r#"{{"apiVersion":"{VERSION}","kind":"ResourceSlice","metadata":{{"name":"slice-{index}","namespace":"liqo-tenant-rome","uid":"{index}","resourceVersion":"1","labels":{{"liqo.io/replicated":"true","liqo.io/originID":"rome","liqo.io/remote-cluster-id":"rome"}}"#
    );
    let text: &[u8; 1024] = &[b'A'; 1024];
    let (before, bulk, after): (&str, &'static [u8], &str) = match field {
        "spec" => (r#"},"spec":{"class":""#, text, r#""}}"#),
        "status" => (r#"},"spec":{},"status":{"a":""#, text, r#""}}"#),
        "annotations" => (r#","annotations":{"a":""#, text, r#""}},"spec":{}}"#),
        "small values" => (r#"},"spec":{"a":["#, ONES.as_flattened(), "1]}}"),
        field => panic!("{field}"),
    };
    let bulk = std::iter::repeat_n(Bytes::from_static(bulk), kilobytes);
    [(head + before).into()]
        .into_iter()
        .chain(bulk)
        .chain([after.to_owned().into()])
}

static ONES: [[u8; 2]; 512] = [*b"1,"; 512];
const VERSION: &str = "authentication.liqo.io/v1beta1";
const FIELD: &str = "LIQO_AUTH_BULK_IN";
const REPORT: &str = "growth in kB: ";
/// 48 MiB.
const MOST_GROWTH: u64 = 48 * 1024;
