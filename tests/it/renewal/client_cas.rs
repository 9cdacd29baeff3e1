//! The CAs by which the provider's API server lets clients in are replaced: what is on record
//! by an earlier CA is signed anew, once for each set of CAs.

use core::time::Duration;
use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU8, Ordering},
    },
};

use liqo_auth::{
    Machine,
    crypto::{Answer, Authority, BoxError, CaBundle, CertificateChain, Entropy, RecordKey},
    error::{Error, Fault, PolicyRefusal},
    machine::{Holder, Step},
    model::{Bytes, TenantCondition},
    policy::Policy,
    provider::{
        CsrSigner, Endpoint, Grant, NameTable, Phase, Provider, Renewal, SigningRequest,
        SliceDecision, SliceRequest,
    },
};

use crate::clusters::{
    exchange::{API_SERVER, Exchange, RECORD_KEY, Setup, authority, ed25519, id, now},
    notary::{DAY, YEAR},
    pool::{Pool, replica},
};

/// Signs with one of many CAs, which all have the name of kubeadm's.
struct Signer {
    /// The number of the CA that signs, or [`AWAY`].
    ca: AtomicU8,
    /// The certificates, each with the number of its CA.
    issued: Mutex<Vec<(u8, CertificateChain)>>,
}

fn ca(number: u8) -> Authority {
    let entropy = Entropy::from_bytes([number; 32]);
    Authority::new("kubernetes", now(), 30 * YEAR, &entropy).unwrap()
}

impl CsrSigner for Signer {
    fn sign(&self, request: &SigningRequest) -> Result<Answer<CertificateChain>, BoxError> {
        let number = self.ca.load(Ordering::Relaxed);
        if number == AWAY {
            return Ok(Answer::Pending);
        }
        let mut issued = self.issued.lock().unwrap();
        let entropy = Entropy::from_bytes([u8::try_from(issued.len()).unwrap(); 32]);
        let SigningRequest {
            csr,
            subject,
            public_key,
            now,
            lifetime,
            ..
        } = request;
        let chain = ca(number).issue(csr, subject, public_key, *now, *lifetime, &entropy)?;
        issued.push((number, chain.clone()));
        Ok(Answer::Ready(chain))
    }
}

const AWAY: u8 = 0;

fn bundle(cas: &[u8]) -> CaBundle {
    let pem: Vec<u8> = cas
        .iter()
        .flat_map(|number| ca(*number).ca_bundle().pem().to_vec())
        .collect();
    CaBundle::from_pem(&pem, &Policy::compatible()).unwrap()
}

/// A peering with a certificate by the first CA, and a provider that knows nothing of client CAs.
struct Peering {
    signer: Arc<Signer>,
    exchange: Exchange,
    lifetime: Duration,
}

impl Peering {
    fn new() -> Self {
        let signer = Arc::new(Signer {
            ca: AtomicU8::new(1),
            issued: Mutex::default(),
        });
        let mut peering = Self {
            signer,
            exchange: Setup::new().exchange(),
            lifetime: 90 * DAY,
        };
        peering.exchange.provider = peering.provider(None);
        peering.exchange.settle();
        assert_eq!(peering.exchange.provider_phase().name(), "Authenticated");
        peering.exchange.now = now() + DAY;
        peering
    }

    fn provider(&self, cas: Option<&[u8]>) -> Provider {
        let endpoint = Endpoint::new(API_SERVER.parse().unwrap(), Some(ca(1).ca_bundle()));
        let signer: Arc<dyn CsrSigner> = self.signer.clone();
        Provider::builder(
            id("cl-provider"),
            endpoint,
            RecordKey::new(RECORD_KEY).unwrap(),
        )
        .principals(Arc::new(NameTable::default()))
        .key(ed25519(2))
        .signer(signer)
        .configure(|config| {
            config.certificate_lifetime = self.lifetime;
            config.client_cas = cas.map(bundle);
        })
        .build()
    }

    fn signs_with(&mut self, number: u8) -> &mut Self {
        self.signer.ca.store(number, Ordering::Relaxed);
        self
    }

    /// A minute later, the API server trusts these CAs. Returns the last step.
    fn trusts(&mut self, cas: &[u8]) -> Step {
        self.exchange.now = self.exchange.now + Duration::from_secs(60);
        self.exchange.provider = self.provider(Some(cas));
        self.settle()
    }

    fn settle(&mut self) -> Step {
        for _ in 0..8 {
            let step = self.exchange.turn_of_provider();
            if step.is_settled() {
                return step;
            }
        }
        panic!("it does not settle: {:?}", self.exchange.provider_phase());
    }

    fn signed(&self) -> usize {
        self.signer.issued.lock().unwrap().len()
    }

    /// Whether the peer's certificate is by this CA.
    fn is_by(&self, number: u8) -> bool {
        let status = self.exchange.stored_tenant().status.auth_params.unwrap();
        let chain = self.exchange.certificate();
        assert_eq!(status.signed_crt.as_slice(), chain.pem());
        let issued = self.signer.issued.lock().unwrap();
        issued.contains(&(number, chain))
    }

    fn renewal(&self) -> Renewal {
        match self.exchange.provider_phase() {
            Phase::Authenticated(issued) => issued.renewal.clone(),
            phase => panic!("{phase:?}"),
        }
    }

    fn sign_again(&mut self) {
        let (view, holder) = (self.exchange.provider_view(), Holder::ControlPlane);
        let step = self
            .exchange
            .provider
            .sign_again(&view, &holder, true, self.exchange.now);
        self.exchange.carry_out(true, step.unwrap());
        self.settle();
    }
}

fn refusals(step: &Step) -> Vec<Fault> {
    let faults = step.refused.iter();
    faults.map(|it| it.error.fault().clone()).collect()
}

fn not_trusted() -> Vec<Fault> {
    vec![PolicyRefusal::CertificateNotTrusted.into()]
}

fn refusal_of(renewal: Renewal) -> Option<Error> {
    match renewal {
        Renewal::Denied { error, .. } => Some(error),
        _ => None,
    }
}

#[test]
fn a_certificate_by_a_ca_that_is_gone_is_signed_anew_and_carried() {
    let mut peering = Peering::new();
    let first = peering.exchange.certificate();
    // A set that trusts the certificate is noted once, also in a record of an earlier version.
    peering.exchange.provider = peering.provider(Some(&[1]));
    let noted = peering.exchange.turn_of_provider();
    assert_eq!(noted.effects.len(), 1);
    assert!(peering.exchange.turn_of_provider().is_settled());
    // While one CA takes the place of the other, nobody is cut off.
    peering.signs_with(2).trusts(&[1, 2]);
    assert_eq!(
        (peering.signed(), peering.exchange.certificate()),
        (1, first)
    );
    assert!(matches!(peering.renewal(), Renewal::NotBefore(_)));

    let step = peering.trusts(&[2]);
    assert_eq!((refusals(&step), peering.signed()), (vec![], 2));
    assert!(peering.is_by(2));
    let due = peering.exchange.now + 60 * DAY;
    assert!(matches!(peering.renewal(), Renewal::NotBefore(at) if at == due));
    // The consumer takes it as any renewal.
    peering.exchange.settle();
    let identity = peering.exchange.stored_identity();
    assert_eq!(
        identity.spec.auth_params.signed_crt.as_slice(),
        peering.exchange.certificate().pem()
    );
    // The same set in another order, and without any.
    for cas in [Some(&[2, 3][..]), Some(&[3, 2]), None, Some(&[2])] {
        peering.exchange.provider = peering.provider(cas);
        peering.settle();
        assert_eq!(peering.signed(), 2, "{cas:?}");
    }
}

#[test]
fn a_signer_that_the_api_server_does_not_trust_signs_once_for_each_set() {
    let mut peering = Peering::new();
    let step = peering.trusts(&[2]);
    assert_eq!((refusals(&step), peering.signed()), (not_trusted(), 2));
    let error = refusal_of(peering.renewal()).unwrap();
    assert_eq!(error.fault(), &PolicyRefusal::CertificateNotTrusted.into());
    // The peer stays let in, as far as this provider is concerned.
    peering.exchange.now = peering.exchange.now + DAY;
    assert_eq!(refusals(&peering.settle()), not_trusted());
    assert_eq!(peering.signed(), 2);
    // Another set is another reason, once. So is no return to the first set.
    for (cas, signed) in [([3], 3), ([2], 3), ([3], 3), ([2], 3)] {
        assert_eq!(refusals(&peering.trusts(&cas)), not_trusted());
        assert_eq!(peering.signed(), signed, "{cas:?}");
    }
    // A person who has mended the signer says so. So does one who has mended the set.
    peering.signs_with(2).trusts(&[2]);
    assert_eq!(peering.signed(), 3);
    peering.exchange.now = peering.exchange.now + DAY;
    peering.sign_again();
    assert_eq!((refusals(&peering.settle()), peering.signed()), (vec![], 4));
    assert!(peering.is_by(2));
    assert_eq!(refusals(&peering.trusts(&[1, 2])), vec![]);
    assert_eq!(peering.signed(), 4);
}

#[test]
fn its_usual_renewal_comes_in_its_time() {
    let mut peering = Peering::new();
    peering.trusts(&[2]);
    let Renewal::Denied { again_at, .. } = peering.renewal() else {
        panic!("{:?}", peering.renewal());
    };
    assert_eq!(again_at, peering.exchange.now + 60 * DAY);
    peering.exchange.now = again_at;
    peering.settle();
    assert_eq!(peering.signed(), 3);
}

#[test]
fn a_few_sets_are_remembered() {
    let mut peering = Peering::new();
    let sets: Vec<u8> = (2..=10).collect();
    for number in &sets {
        peering.trusts(&[*number]);
    }
    assert_eq!(peering.signed(), 1 + sets.len());
    for number in &sets[1..] {
        peering.trusts(&[*number]);
    }
    assert_eq!(peering.signed(), 1 + sets.len());
    // The first one is forgotten.
    peering.trusts(&[2]);
    assert_eq!(peering.signed(), 2 + sets.len());
}

#[test]
fn a_signer_that_is_away_is_asked_until_it_answers() {
    let mut peering = Peering::new();
    peering.signs_with(AWAY);
    let step = peering.trusts(&[2]);
    assert_eq!(refusals(&step), not_trusted());
    assert_eq!(step.wait.awaiting.len(), 1);
    assert!(matches!(peering.renewal(), Renewal::Due(_)));
    // The state of the peering says so, too.
    let named = |peering: &Peering| {
        let (view, now) = (peering.exchange.provider_view(), peering.exchange.now);
        let status = Machine::look(&peering.exchange.provider, &view, now).unwrap();
        let refused = status.control_plane.refused;
        refused.map(|error| error.code())
    };
    assert_eq!(named(&peering), Some("certificate-not-trusted"));
    // The set comes back before the signer does.
    assert_eq!(refusals(&peering.trusts(&[1])), vec![]);
    assert_eq!(named(&peering), None);
    peering.trusts(&[2]);
    peering.signs_with(2).settle();
    assert_eq!(named(&peering), None);
    assert_eq!((peering.signed(), peering.is_by(2)), (2, true));
}

#[test]
fn the_certificate_of_the_next_ca_may_end_earlier() {
    let mut peering = Peering::new();
    let first = peering.exchange.certificate();
    let identity = peering.exchange.stored_identity();
    peering.lifetime = 30 * DAY;
    let step = peering.signs_with(2).trusts(&[2]);
    assert_eq!((refusals(&step), peering.signed()), (vec![], 2));
    assert!(peering.is_by(2));
    let second = peering.exchange.certificate();
    assert!(second.leaf().not_after < first.leaf().not_after);
    let due = peering.exchange.now + 20 * DAY;
    assert!(matches!(peering.renewal(), Renewal::NotBefore(at) if at == due));
    // The consumer takes it, and the first one does not come back.
    peering.exchange.settle();
    let holds = |peering: &Peering| {
        peering
            .exchange
            .stored_identity()
            .spec
            .auth_params
            .signed_crt
    };
    assert_eq!(holds(&peering).as_slice(), second.pem());
    let error = peering.exchange.hand_over(identity).unwrap_err();
    assert_eq!(error.code(), "certificate-older");
    // Nothing else is signed for these CAs, nor for the first ones.
    for cas in [[2], [1], [2]] {
        peering.trusts(&cas);
    }
    assert_eq!(peering.signed(), 3);
}

/// It lets nobody in either, and ends earlier.
#[test]
fn a_certificate_that_ends_earlier_and_is_as_useless_is_not_asked_for_again() {
    let mut peering = Peering::new();
    let first = peering.exchange.certificate();
    peering.lifetime = 30 * DAY;
    peering.trusts(&[2]);
    peering.exchange.now = peering.exchange.now + 20 * DAY;
    let step = peering.settle();
    assert_eq!(
        (peering.signed(), peering.exchange.certificate()),
        (2, first)
    );
    assert!(matches!(
        refusals(&step)[..],
        [Fault::Policy(PolicyRefusal::RenewalEndsNoLater { .. })]
    ));
    // Nor does a person get one in place of one that lets the peer in.
    let mut peering = Peering::new();
    peering.lifetime = 30 * DAY;
    peering.trusts(&[1]);
    let first = peering.exchange.certificate();
    peering.signs_with(2).sign_again();
    assert_eq!(
        (peering.signed(), peering.exchange.certificate()),
        (2, first)
    );
}

#[test]
fn nothing_is_signed_for_a_peer_that_is_not_in_force() {
    // Drained
    let mut peering = Peering::new();
    peering
        .exchange
        .edit_tenant(|tenant| tenant.spec.tenant_condition = Some(TenantCondition::Drained));
    peering.settle();
    is_not_signed(peering, "Drained");
    // Refused
    let mut peering = Peering::new();
    let key = ed25519(60).public_key().to_pem();
    peering
        .exchange
        .edit_tenant(|tenant| tenant.spec.public_key = Bytes::from(key.as_bytes()));
    peering.settle();
    is_not_signed(peering, "Refused");
    // Ended
    let mut peering = Peering::new();
    let end = peering
        .exchange
        .provider
        .end(&peering.exchange.provider_view());
    peering.exchange.carry_out(true, end.unwrap());
    peering.settle();
    is_not_signed(peering, "Ended");
}

fn is_not_signed(mut peering: Peering, phase: &str) {
    assert_eq!(peering.exchange.provider_phase().name(), phase);
    peering.signs_with(2).trusts(&[2]);
    assert_eq!(peering.signed(), 1, "{phase}");
}

#[test]
fn slices_are_signed_anew_but_for_those_that_are_denied() {
    let trusting = |pool: &Pool, cas: &CaBundle| {
        let endpoint = Endpoint::new(API_SERVER.parse().unwrap(), None);
        let (signer, cas): (Arc<dyn CsrSigner>, _) = (pool.signer.clone(), cas.clone());
        let denies_one = |request: &SliceRequest<'_>| {
            let decision = match request.slice {
                "denied" => SliceDecision::Deny {
                    reason: "NoRoom".into(),
                    message: "The cluster is full.".into(),
                },
                _ => SliceDecision::Grant(Grant::default()),
            };
            Ok::<_, BoxError>(Answer::Ready(decision))
        };
        Provider::builder(
            id("cl-provider"),
            endpoint,
            RecordKey::new(RECORD_KEY).unwrap(),
        )
        .principals(Arc::new(NameTable::default()))
        .key(ed25519(2))
        .signer(signer)
        .slices(Arc::new(denies_one))
        .configure(|config| config.client_cas = Some(cas))
        .build()
    };
    let mut pool = Pool::new();
    let own = authority().ca_bundle().clone();
    pool.provider = trusting(&pool, &own);
    pool.bring(replica("mypool"))
        .bring(replica("denied"))
        .settle();
    let phases = ["mypool", "denied"].map(|slice| pool.phase(slice));
    assert_eq!(phases, ["Accepted", "Denied"]);
    let first = ["mypool", "denied"].map(|slice| pool.certificate(slice));
    let signed = pool.signer.different();

    // The CA of the signer is gone: one for the control plane, and one for the slice.
    pool.wait(DAY);
    pool.provider = trusting(&pool, &bundle(&[2]));
    pool.settle();
    assert_ne!(pool.certificate("mypool"), first[0]);
    assert_eq!(pool.certificate("denied"), first[1]);
    assert_eq!(pool.signer.different(), signed + 2);
    let refused: BTreeSet<_> = pool
        .refused
        .iter()
        .filter(|(_, error)| *error.fault() == PolicyRefusal::CertificateNotTrusted.into())
        .map(|(object, _)| object.as_ref().unwrap().name.clone())
        .collect();
    assert_eq!(refused, ["cl-consumer", "mypool"].map(str::to_owned).into());
    pool.wait(DAY).settle();
    assert_eq!(pool.signer.different(), signed + 2);
    // The set trusts what was signed.
    pool.provider = trusting(&pool, &own);
    pool.settle();
    assert_eq!(pool.refused, []);
    assert_eq!(pool.signer.different(), signed + 2);
}
