//! Both sides compute the same code from their own objects. The recipe of
//! `docs/explanation/comparing-transcripts.md` computes it too, without this library.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use liqo_auth::{
    Machine,
    assurance::transcript::{Code, Transcript},
    crypto::{Algorithm, KeyPair, SigningKey},
    error::{ApiMisuse, Fault, LocalFault, PeerMisbehaved},
    machine::{MessageBody, Objects},
    model::{Identity, Resource, Tenant, manifest, names},
};

use crate::{
    clusters::exchange::{Exchange, Setup, ed25519, id},
    recordings::{recordings, vectors},
};

#[test]
fn both_sides_have_the_same_code_with_every_algorithm() {
    for algorithm in [
        Algorithm::Ed25519,
        Algorithm::Rsa { bits: 2048 },
        Algorithm::EcdsaP256,
    ] {
        let exchange = authenticated(Arc::new(
            KeyPair::generate(algorithm, &mut getrandom::SysRng).unwrap(),
        ));
        let (provider, consumer) = both(&exchange);
        assert_eq!(provider, consumer, "{algorithm:?}");
    }
}

#[test]
fn there_is_no_code_before_the_provider_has_answered_the_tenant() {
    let mut exchange = Setup::new().exchange();
    assert_eq!(at_provider(&exchange), None);
    assert_eq!(at_consumer(&exchange), None);
    exchange.invite();
    exchange.deliver("nonce");
    exchange.deliver("Tenant");
    assert_eq!(at_provider(&exchange), None);
    assert_eq!(at_consumer(&exchange), None);
}

#[test]
fn a_message_that_is_changed_on_the_way_changes_the_code() {
    // Unmodified Liqo proves no key as a provider. Therefore the consumer
    // accepts the first Identity that comes.
    let without_proof = || {
        let setup = Setup {
            provider_key: None,
            ..Setup::new()
        };
        setup.exchange()
    };
    let mut exchange = without_proof();
    exchange.on_the_way = |message| {
        if let MessageBody::Identity(identity) = message {
            identity.spec.auth_params.api_server = "https://172.19.0.66:6443".to_owned();
        }
    };
    exchange.settle();
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
    let (provider, consumer) = both(&exchange);
    assert_eq!(provider.differences(&consumer), ["api-server"]);
    assert_ne!(provider.code(), consumer.code());

    // The Tenant of an attacker, who signs the nonce for the consumer's ID.
    let mut exchange = without_proof();
    exchange.invite();
    let mut enemy = Setup {
        consumer_key: ed25519(66),
        ..Setup::new()
    }
    .exchange();
    enemy.hand_over(exchange.nonce()).unwrap();
    exchange.hand_over(enemy.tenant()).unwrap();
    exchange.turns_of_provider();
    exchange.hand_over(exchange.nonce()).unwrap();
    let mut identity = exchange.identity();
    identity.metadata.namespace = names::tenant_namespace(&id("cl-provider"));
    exchange.at_consumer.insert(identity.into());
    let (provider, consumer) = both(&exchange);
    assert_eq!(provider.differences(&consumer), ["consumer-key"]);
}

#[test]
fn a_new_nonce_and_a_renewed_certificate_do_not_change_the_code() {
    let mut exchange = authenticated(ed25519(1));
    let before = both(&exchange);
    let step = exchange
        .provider
        .replace_nonce(&exchange.provider_view(), exchange.env())
        .unwrap();
    exchange.carry_out(true, step);
    assert_eq!(both(&exchange), before);
    exchange.edit_tenant(|tenant| {
        tenant.status.auth_params.as_mut().unwrap().signed_crt = b"another".as_slice().into();
    });
    assert_eq!(both(&exchange), before);
}

#[test]
fn unreadable_objects_give_an_error_and_no_code() {
    let exchange = authenticated(ed25519(1));
    let error = exchange
        .provider
        .transcript(&exchange.at_provider.view(&id("cl-provider")))
        .unwrap_err();
    assert_eq!(error.fault(), &Fault::ApiMisuse(ApiMisuse::OwnCluster));

    let mut broken = exchange.at_provider.clone();
    let mut record = broken
        .get::<liqo_auth::model::Secret>("liqo", "liqo-auth-provider-cl-consumer")
        .unwrap()
        .clone();
    record.data.remove("seal");
    broken.insert(record.into());
    let error = exchange
        .provider
        .transcript(&broken.view(&id("cl-consumer")))
        .unwrap_err();
    assert_eq!(error.fault(), &Fault::Local(LocalFault::BrokenSeal));

    let mut tenant = exchange.stored_tenant();
    tenant.spec.public_key = b"none".as_slice().into();
    let mut broken = exchange.at_provider.clone();
    broken.insert(tenant.into());
    let error = exchange
        .provider
        .transcript(&broken.view(&id("cl-consumer")))
        .unwrap_err();
    assert!(matches!(
        error.fault(),
        Fault::PeerMisbehaved(PeerMisbehaved::PublicKey(_))
    ));
    assert_eq!(error.at().field, "spec.publicKey");
}

#[test]
fn both_sides_and_the_recipe_agree_on_the_objects_of_liqo() {
    for (liqo, (at_b, at_a)) in recordings().zip([
        ("by-hand/after/cluster-b", "by-hand/after/cluster-a"),
        (
            "exchange/1-authenticated/cluster-b",
            "exchange/1-authenticated/cluster-a",
        ),
        ("rsa-and-proxy/rsa-b", "rsa-and-proxy/rsa-a"),
    ]) {
        let exchange = liqo.after();
        let (provider, consumer) = both(&exchange);
        assert_eq!(provider, consumer, "{}", liqo.name);
        let folder = Folder::new(liqo.name);
        for (side, from) in [("provider", at_b), ("consumer", at_a)] {
            for file in fs::read_dir(vectors().join(from)).unwrap() {
                for object in items(&fs::read_to_string(file.unwrap().path()).unwrap()) {
                    folder.add(side, &object);
                }
            }
        }
        folder.assert_recipe(&exchange, provider.code(), liqo.name);
    }
}

#[test]
fn the_recipe_agrees_on_the_objects_of_this_library() {
    for (name, key) in [
        ("ed25519", ed25519(1)),
        (
            "p384",
            Arc::new(KeyPair::generate(Algorithm::EcdsaP384, &mut getrandom::SysRng).unwrap()),
        ),
    ] {
        let public_key = key.public_key().to_pem();
        let exchange = authenticated(key);
        let folder = Folder::new(name);
        for (side, objects) in [
            ("provider", &exchange.at_provider),
            ("consumer", &exchange.at_consumer),
        ] {
            for object in objects.iter() {
                folder.add(side, &manifest::write_yaml(object));
            }
        }
        folder.add(
            "consumer",
            &format!(
                "apiVersion: v1\ndata:\n  publicKey: {}\nkind: Secret\nmetadata:\n  name: authentication-keys\n  namespace: liqo\n",
                STANDARD.encode(public_key)
            ),
        );
        let (provider, consumer) = both(&exchange);
        assert_eq!(provider, consumer);
        folder.assert_recipe(&exchange, provider.code(), name);
    }
}

fn authenticated(consumer_key: Arc<dyn SigningKey>) -> Exchange {
    let mut exchange = Setup {
        consumer_key,
        ..Setup::new()
    }
    .exchange();
    exchange.settle();
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
    exchange
}

fn both(exchange: &Exchange) -> (Transcript, Transcript) {
    (
        at_provider(exchange).unwrap(),
        at_consumer(exchange).unwrap(),
    )
}

fn at_provider(exchange: &Exchange) -> Option<Transcript> {
    let view = exchange.provider_view();
    exchange.provider.transcript(&view).unwrap()
}

fn at_consumer(exchange: &Exchange) -> Option<Transcript> {
    let view = exchange.consumer_view();
    exchange.consumer.transcript(&view).unwrap()
}

/// Splits a dumped list into objects, each as `kubectl get NAME -o yaml` prints
/// it.
fn items(list: &str) -> Vec<String> {
    let mut items: Vec<String> = Vec::new();
    for line in list.lines() {
        match line.strip_prefix("- ").map(|line| (true, line)) {
            Some((_, line)) => items.push(format!("{line}\n")),
            None => {
                if let (Some(item), Some(line)) = (items.last_mut(), line.strip_prefix("  ")) {
                    item.push_str(line);
                    item.push('\n');
                }
            }
        }
    }
    items
}

/// A folder with the objects of both sides, and a `kubectl` script that prints
/// them.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = name.replace('/', "-");
        let folder = std::env::temp_dir().join(format!(
            "liqo-auth-transcript-{}-{name}",
            std::process::id()
        ));
        fs::create_dir_all(&folder).unwrap();
        for side in ["provider", "consumer"] {
            fs::create_dir(folder.join(side)).unwrap();
            let kubectl = folder.join(side).join("kubectl");
            // kubectl get KIND -n NAMESPACE NAME -o FORMAT
            let script = "#!/bin/sh\nfile=\"$(dirname \"$0\")/${2%%.*}.$4.$5.yaml\"\ncase \"$7\" in\nyaml) cat \"$file\" ;;\n*) sed -n 's/^  publicKey: *//p' \"$file\" | tr -d '\\n' ;;\nesac\n";
            fs::write(&kubectl, script).unwrap();
            fs::set_permissions(&kubectl, fs::Permissions::from_mode(0o755)).unwrap();
        }
        Self(folder)
    }

    fn add(&self, side: &str, yaml: &str) {
        let objects = manifest::read(yaml.as_bytes(), &liqo_auth::policy::Limits::default());
        for object in objects.unwrap() {
            let id = object.id();
            let kind = match id.kind {
                liqo_auth::model::Kind::Tenant => "tenants",
                liqo_auth::model::Kind::Identity => "identities",
                liqo_auth::model::Kind::Secret => "secrets",
                _ => continue,
            };
            let file = format!("{kind}.{}.{}.yaml", id.namespace, id.name);
            fs::write(self.0.join(side).join(file), yaml).unwrap();
        }
    }

    /// Runs the recipe on both sides.
    fn assert_recipe(&self, exchange: &Exchange, code: Code, name: &str) {
        let [functions, provider, consumer] = recipe();
        // The Tenant of the recording by hand is in the namespace in which
        // `kubectl` created it.
        let namespace = of_tenant(&exchange.at_provider);
        let provider = match namespace.as_str() {
            default if default.starts_with("liqo-tenant-") => provider,
            other => provider.replacen(
                "\"liqo-tenant-$CONSUMER\" \"$CONSUMER\"",
                &format!("{other} \"$CONSUMER\""),
                1,
            ),
        };
        for (side, commands) in [("provider", provider), ("consumer", consumer)] {
            let commands = match of_identity(&exchange.at_consumer) {
                Some(other) if side == "consumer" => commands.replacen(
                    "\"liqo-tenant-$PROVIDER\" \"controlplane-$PROVIDER\"",
                    &format!("{other} \"controlplane-$PROVIDER\""),
                    1,
                ),
                _ => commands,
            };
            let folder = self.0.join(side);
            let path = std::env::var("PATH").unwrap();
            let output = Command::new("sh")
                .args(["-euc", &format!("{functions}{commands}")])
                .env("PATH", format!("{}:{path}", folder.display()))
                .env("PROVIDER", exchange.provider.cluster_id().as_str())
                .env("CONSUMER", exchange.consumer.cluster_id().as_str())
                .current_dir(&folder)
                .output()
                .unwrap();
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{name}, {side}: {errors}");
            let printed = String::from_utf8(output.stdout).unwrap();
            assert_eq!(printed, format!("{code}\n"), "{name}, {side}: {errors}");
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn of_tenant(objects: &Objects) -> String {
    let tenant = objects.iter().find_map(Tenant::from_object).unwrap();
    let Tenant { metadata, .. } = tenant;
    metadata.namespace.clone()
}

/// The namespace of the Identity, if it is not the default one.
fn of_identity(objects: &Objects) -> Option<String> {
    let identity: &Identity = objects.iter().find_map(Identity::from_object).unwrap();
    let namespace = &identity.metadata.namespace;
    (!namespace.starts_with("liqo-tenant-")).then(|| namespace.clone())
}

/// The three blocks of the page on transcripts: functions, provider, consumer.
fn recipe() -> [String; 3] {
    let page = "../docs/explanation/comparing-transcripts.md";
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(page)).unwrap();
    let blocks: Vec<String> = text
        .split("```sh\n")
        .skip(1)
        .map(|block| block.split("```").next().unwrap().to_owned())
        .collect();
    blocks.try_into().unwrap()
}
