//! A signer that does not answer at once: a person, or the approval of an API
//! server. The provider asks, waits, and continues when the answer is there. It
//! never blocks, and a restart in between loses nothing.
//!
//! The [`CsrSigner`] answers [`Answer::Pending`] until it has the certificate.
//! The request is available in two places: the signer receives it, and the
//! phase [`NeedsCredential`](liqo_auth::provider::NeedsCredential) shows it,
//! even if the provider has no signer yet.
//!
//! ```sh
//! cargo run --example signer_answers_later
//! ```

use core::time::Duration;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use liqo_auth::{
    Machine,
    consumer::{Consumer, ConsumerConfig},
    crypto::{
        Algorithm, Answer, Authority, BoxError, CertificateChain, Entropy, KeyPair, OneKey,
        RecordKey,
    },
    machine::{Awaited, Env, Objects, Step},
    model::{ClusterId, Timestamp},
    provider::{
        CredentialRequest, CsrSigner, Endpoint, NameTable, Phase, Provider, ProviderBuilder,
        RequestId, SigningRequest,
    },
};

fn main() -> Result<(), BoxError> {
    let authority = Authority::new("ca", now()?, YEAR, &entropy()?)?;
    by_what_the_signer_was_asked(&authority)?;
    by_what_the_phase_shows(&authority)
}

fn by_what_the_signer_was_asked(authority: &Authority) -> Result<(), BoxError> {
    let desk = Arc::new(SigningService::default());
    let provider = provider(authority)?.signer(desk.clone()).build();
    let (mut objects, consumer) = at_the_proof(&provider)?;

    let step = provider.reconcile(&objects.view(&consumer), env()?)?;
    let [Awaited::Credential(id)] = step.wait.awaiting[..] else {
        return Err("the signer should answer Pending".into());
    };
    println!("the signing service has the request {id}");

    desk.sign_all(authority)?;
    settle(&provider, &mut objects, &consumer)?;
    let status = provider.look(&objects.view(&consumer), now()?)?;
    println!("the provider's phase is now {}\n", status.phase.name());
    Ok(())
}

fn by_what_the_phase_shows(authority: &Authority) -> Result<(), BoxError> {
    let desk = Arc::new(SigningService::default());
    let provider = provider(authority)?.signer(desk.clone()).build();
    let (mut objects, consumer) = at_the_proof(&provider)?;

    let status = provider.look(&objects.view(&consumer), now()?)?;
    let Phase::NeedsCredential(needs) = status.phase else {
        return Err("the phase should be NeedsCredential".into());
    };
    let CredentialRequest::Certificate(request) = needs.request else {
        return Err("the provider should ask for a certificate".into());
    };
    println!("a person has to sign the request {}", request.id);
    desk.lay_down(&request, signed(&request, authority)?);

    settle(&provider, &mut objects, &consumer)?;
    match provider.look(&objects.view(&consumer), now()?)?.phase {
        Phase::Authenticated(issued) => {
            let until = issued
                .credential
                .shown
                .valid_until()
                .ok_or("there should be a certificate")?;
            println!("the Identity can be handed out until {until}");
            Ok(())
        }
        phase => Err(format!("the provider stopped at {}", phase.name()).into()),
    }
}

/// A service that keeps each request until its certificate is signed.
#[derive(Default)]
struct SigningService(Mutex<BTreeMap<RequestId, (SigningRequest, Option<CertificateChain>)>>);

impl CsrSigner for SigningService {
    fn sign(&self, request: &SigningRequest) -> Result<Answer<CertificateChain>, BoxError> {
        let mut desk = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, certificate) = desk
            .entry(request.id)
            .or_insert_with(|| (request.clone(), None));
        Ok(match certificate {
            None => Answer::Pending,
            Some(chain) => Answer::Ready(chain.clone()),
        })
    }
}

impl SigningService {
    fn lay_down(&self, request: &SigningRequest, chain: CertificateChain) {
        let mut desk = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        desk.insert(request.id, (request.clone(), Some(chain)));
    }

    fn sign_all(&self, authority: &Authority) -> Result<(), BoxError> {
        let mut desk = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (request, certificate) in desk.values_mut() {
            if certificate.is_none() {
                *certificate = Some(signed(request, authority)?);
            }
        }
        Ok(())
    }
}

fn signed(request: &SigningRequest, authority: &Authority) -> Result<CertificateChain, BoxError> {
    Ok(authority.issue(
        &request.csr,
        &request.subject,
        &request.public_key,
        request.now,
        request.lifetime,
        &entropy()?,
    )?)
}

/// The provider's objects after a consumer has proved its key, and the consumer's ID.
fn at_the_proof(provider: &Provider) -> Result<(Objects, ClusterId), BoxError> {
    let key = KeyPair::generate(Algorithm::Ed25519, &mut getrandom::SysRng)?;
    let consumer = Consumer::new(
        ConsumerConfig::new("rome".parse()?),
        Arc::new(OneKey(Arc::new(key))),
    );
    let peer = consumer.cluster_id().clone();
    let (mut objects, nowhere) = (Objects::new(&entropy()?), Objects::new(&entropy()?));

    let mut step = provider.invite(&objects.view(&peer), env()?)?;
    apply(&step, &mut objects)?;
    let nonce = step.outbox.remove(0);
    let mut step = consumer.receive(&nowhere.view(provider.cluster_id()), nonce, env()?)?;
    let tenant = step.outbox.remove(0);
    // The first step stores the Tenant, the second one the proof.
    let step = provider.receive(&objects.view(&peer), tenant, env()?)?;
    apply(&step, &mut objects)?;
    let step = provider.reconcile(&objects.view(&peer), env()?)?;
    apply(&step, &mut objects)?;
    Ok((objects, peer))
}

fn provider(authority: &Authority) -> Result<ProviderBuilder, BoxError> {
    let api_server = "https://api.milan.example:6443".parse()?;
    let endpoint = Endpoint::new(api_server, Some(authority.ca_bundle()));
    let record_key = RecordKey::draw(&mut getrandom::SysRng)?;
    Ok(Provider::builder("milan".parse()?, endpoint, record_key)
        .principals(Arc::new(NameTable::default()))
        .configure(|config| config.certificate_lifetime = Duration::from_secs(24 * 60 * 60)))
}

fn settle(
    provider: &Provider,
    objects: &mut Objects,
    consumer: &ClusterId,
) -> Result<(), BoxError> {
    loop {
        let step = provider.reconcile(&objects.view(consumer), env()?)?;
        if step.is_settled() {
            return Ok(());
        }
        apply(&step, objects)?;
    }
}

fn apply(step: &Step, objects: &mut Objects) -> Result<(), BoxError> {
    for effect in &step.effects {
        println!("  {}", effect.id());
        objects.apply(effect)?;
    }
    Ok(())
}

fn env() -> Result<Env, BoxError> {
    Ok(Env {
        now: now()?,
        entropy: entropy()?,
    })
}

fn entropy() -> Result<Entropy, BoxError> {
    Ok(Entropy::draw(&mut getrandom::SysRng)?)
}

/// A fixed time. A real embedder reads its clock.
fn now() -> Result<Timestamp, BoxError> {
    Ok("2026-11-20T13:00:00Z".parse()?)
}

const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
