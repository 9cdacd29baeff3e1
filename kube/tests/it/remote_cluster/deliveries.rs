//! What a delivery writes at the peer.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_tenant_that_is_there_keeps_what_is_the_administrators() {
    let milan = FakeApiServer::with_liqo("milan");
    let remote = RemoteCluster::new(milan.client(), id("milan"), id("rome"));
    milan.put(tenant_namespace("liqo-tenant-rome"));
    milan.put(json!({
        "apiVersion": "authentication.liqo.io/v1beta1",
        "kind": "Tenant",
        "metadata": {
            "name": "rome",
            "namespace": "liqo-tenant-rome",
            "labels": { "team": "a" },
            "annotations": { "liqo-auth/key-succession": "of an earlier key", "note": "b" },
        },
        "spec": {
            "clusterID": "rome",
            "signature": "b2xk",
            "proxyURL": "http://proxy",
            "tenantCondition": "Cordoned",
        },
    }));
    let tenant = Tenant {
        metadata: named("rome"),
        spec: TenantSpec {
            cluster_id: "rome".to_owned(),
            signature: b"new".to_vec().into(),
            ..TenantSpec::default()
        },
        ..Tenant::default()
    };
    remote.deliver(&to_milan(tenant.clone())).await.unwrap();
    let written = &milan.all("tenants")[0];
    let metadata = &written["metadata"];
    assert_eq!(metadata["labels"], json!({ "team": "a" }));
    assert_eq!(metadata["annotations"], json!({ "note": "b" }));
    assert_eq!(
        written["spec"],
        json!({ "clusterID": "rome", "signature": "bmV3", "tenantCondition": "Cordoned" })
    );
    // Once more it writes nothing.
    let before = milan.requests().len();
    remote.deliver(&to_milan(tenant)).await.unwrap();
    let requests = &milan.requests()[before..];
    assert!(
        requests.iter().all(|request| request.starts_with("GET")),
        "{requests:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_tenant_that_another_writer_has_just_created_is_taken_over() {
    let milan = FakeApiServer::with_liqo("milan");
    milan.put(tenant_namespace("liqo-tenant-rome"));
    // As Liqo's webhook does when two Tenants of one name are created at a time.
    let server = milan.client();
    let refusing = service_fn(move |request: Request<Body>| {
        let server = server.clone();
        async move {
            let is_creation = request.method() == Method::POST;
            let answer = server.send(request).await;
            if !is_creation {
                return answer;
            }
            let refusal = json!({ "kind": "Status", "status": "Failure", "code": 403 });
            let refusal = Body::from(refusal.to_string().into_bytes());
            Ok(Response::builder().status(403).body(refusal).unwrap())
        }
    });
    let remote = RemoteCluster::new(Client::new(refusing, "default"), id("milan"), id("rome"));
    let tenant = Tenant {
        metadata: named("rome"),
        ..Tenant::default()
    };
    remote.deliver(&to_milan(tenant)).await.unwrap();
    assert_eq!(names(&milan, "tenants"), ["rome"]);
}

#[tokio::test(start_paused = true)]
async fn a_nonce_asks_the_peer_for_a_signature_and_takes_the_place_of_an_earlier_one() {
    let milan = FakeApiServer::with_liqo("milan");
    let remote = RemoteCluster::new(milan.client(), id("milan"), id("rome"));
    remote.deliver(&to_milan(nonce(1))).await.unwrap();
    remote.deliver(&to_milan(nonce(1))).await.unwrap();
    let first = milan.all("secrets");
    assert_eq!(first.len(), 1);
    assert_eq!(first[0]["metadata"]["name"], "liqo-signed-nonce");
    assert_eq!(first[0]["metadata"]["namespace"], "liqo-tenant-rome");
    assert_eq!(
        first[0]["metadata"]["labels"]["liqo.io/signed-nonce"],
        "true"
    );
    assert_eq!(
        first[0]["data"],
        json!({ "nonce": encoded(nonce(1).as_str()) })
    );
    remote.deliver(&to_milan(nonce(2))).await.unwrap();
    let second = &milan.all("secrets")[0];
    assert_eq!(
        second["data"],
        json!({ "nonce": encoded(nonce(2).as_str()) })
    );
}

#[tokio::test(start_paused = true)]
async fn an_identity_is_written_into_the_tenant_namespace_that_there_is() {
    let milan = FakeApiServer::with_liqo("milan");
    let remote = RemoteCluster::new(milan.client(), id("milan"), id("rome"));
    milan.put(tenant_namespace("ours"));
    let identity = Identity {
        metadata: named("controlplane-rome"),
        ..Identity::default()
    };
    remote.deliver(&to_milan(identity.clone())).await.unwrap();
    assert_eq!(milan.all("identities")[0]["metadata"]["namespace"], "ours");

    milan.put(tenant_namespace("another"));
    let refused = remote.deliver(&to_milan(identity)).await.unwrap_err();
    assert!(
        refused.to_string().contains("2 tenant namespaces"),
        "{refused}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_namespace_without_the_labels_is_not_used() {
    let milan = FakeApiServer::with_liqo("milan");
    milan.put(json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": { "name": "liqo-tenant-rome", "labels": { "liqo.io/tenant-namespace": "true" } },
    }));
    // A peering user may not list namespaces.
    for client in [milan.client(), without_lists(&milan)] {
        let remote = RemoteCluster::new(client, id("milan"), id("rome"));
        let refused = remote.deliver(&to_milan(nonce(1))).await.unwrap_err();
        let text = refused.to_string();
        assert!(
            text.contains("not labelled as the tenant namespace of rome"),
            "{text}"
        );
    }
    assert!(names(&milan, "secrets").is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_peering_user_finds_the_namespace_with_the_default_name() {
    let milan = FakeApiServer::with_liqo("milan");
    milan.put(tenant_namespace("liqo-tenant-rome"));
    let remote = RemoteCluster::new(without_lists(&milan), id("milan"), id("rome"));
    remote.deliver(&to_milan(nonce(1))).await.unwrap();
    assert_eq!(names(&milan, "secrets"), ["liqo-signed-nonce"]);
}
