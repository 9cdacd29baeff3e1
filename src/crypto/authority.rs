//! A small certificate authority: the embedded default.

mod approved;

use core::{fmt, time::Duration};
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CustomExtension, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, Issuer, KeyIdMethod, KeyUsagePurpose, SerialNumber,
};
use sha2::{Digest, Sha256};

use super::{
    BoxError, CaBundle, CaBundleError, Certificate, CertificateChain, Csr, Entropy, KeyPair,
    NotAtOnce, PublicKey, SigningKey, Subject,
    certificate_chain::LABEL,
    der::{CONTEXT_PRIMITIVE_0, SEQUENCE, element, single},
    name::Name,
    pem_block,
    rcgen_key::{Signer, Unsigned, key_bits},
    rcgen_name,
};
use crate::{model::Timestamp, policy::Policy};

/// An authority that issues client certificates as the signer
/// `kubernetes.io/kube-apiserver-client` does. Its key may be anywhere, if the
/// key answers at once.
///
/// # Examples
/// ```
/// use core::time::Duration;
/// use liqo_auth::{
///     crypto::{
///         Authority, ClientCertificateExpectation, Csr, Entropy, Issuance, KeyPair, SigningKey,
///         Subject,
///     },
///     model::Timestamp,
///     policy::Policy,
/// };
///
/// let now: Timestamp = "2026-11-20T13:00:00Z".parse()?;
/// let day = Duration::from_secs(24 * 60 * 60);
/// let authority = Authority::new("cl-provider-ca", now, 365 * day, &entropy(1))?;
///
/// let key = KeyPair::from_entropy(&entropy(2));
/// let subject = Subject::control_plane(&"cl-consumer".parse()?);
/// let csr = Csr::make(&subject, &key)?.at_once()?;
/// let chain = authority.issue(&csr, &subject, key.public_key(), now, day, &entropy(3))?;
///
/// let expectation = ClientCertificateExpectation { subject: &subject, key: key.public_key(), now };
/// chain.check_client(&expectation, &Policy::strict())?;
/// assert_eq!(chain.issued_by(authority.ca_bundle()), Issuance::Verified);
/// # fn entropy(n: u8) -> Entropy { Entropy::from_bytes([n; 32]) }
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[derive(Clone)]
pub struct Authority {
    key: Arc<dyn SigningKey>,
    bundle: CaBundle,
    pem: String,
    // Invariant: rcgen writes its name as the certificate's subject is written.
    issuer: Arc<CertificateParams>,
}

/// Why an [`Authority`] could not be made, or did not issue.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AuthorityError {
    /// The authority's certificate cannot be read, or is none of an authority.
    #[error("the authority's certificate is refused: {0}")]
    Certificate(CaBundleError),
    /// There is more than one certificate where the authority's own belongs.
    #[error("there are {found} certificates where the authority's own belongs")]
    NotOneCertificate {
        /// How many there are.
        found: usize,
    },
    /// The authority's certificate is for another key.
    #[error("the authority's certificate is for another key")]
    Key,
    /// The authority's name cannot be written again as it stands in its
    /// certificate: a part with two values, a part that is there twice, or a
    /// type of string that is not for names.
    #[error("the authority's name cannot be copied byte for byte: \"{found}\"")]
    Name {
        /// The name, escaped and cut to a readable length.
        found: String,
    },
    /// The authority's own certificate does not hold at this time.
    #[error("the authority's certificate holds from {not_before} to {not_after}; it is {now}")]
    NotValid {
        /// When it begins to hold.
        not_before: Timestamp,
        /// The last second in which it holds.
        not_after: Timestamp,
        /// The time given.
        now: Timestamp,
    },
    /// The request is for another subject or key than the certificate.
    #[error("the request is for another subject or key")]
    Request,
    /// The key did not sign.
    #[error("the authority's key did not sign: {reason}")]
    Signing {
        /// What the key reported.
        reason: String,
    },
    /// The key answers later, or refuses. A certificate whose key needs time is
    /// for a `CsrSigner` of its own.
    #[error("the authority's key did not sign: {0}")]
    NotAtOnce(NotAtOnce),
}

impl Authority {
    /// A new authority with an Ed25519 key out of the entropy, whose
    /// self-signed certificate holds from `now` on for `lifetime`.
    ///
    /// # Errors
    /// [`AuthorityError::Signing`], [`AuthorityError::NotAtOnce`].
    pub fn new(
        common_name: &str,
        now: Timestamp,
        lifetime: Duration,
        entropy: &Entropy,
    ) -> Result<Self, AuthorityError> {
        let key = Arc::new(KeyPair::from_entropy(entropy));
        Self::with_key(common_name, key, now, lifetime, entropy)
    }

    /// A new authority with a key that there is already.
    ///
    /// # Errors
    /// [`AuthorityError::Signing`], [`AuthorityError::NotAtOnce`].
    pub fn with_key(
        common_name: &str,
        key: Arc<dyn SigningKey>,
        now: Timestamp,
        lifetime: Duration,
        entropy: &Entropy,
    ) -> Result<Self, AuthorityError> {
        let mut params = template(now - BACKDATE, now + lifetime);
        params.serial_number = Some(serial(
            entropy.derive("authority serial", &[common_name.as_bytes()]),
        ));
        params
            .distinguished_name
            .push(DnType::CommonName, common_name);
        params.key_usages = vec![
            KeyUsagePurpose::DigitalSignature,
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::CrlSign,
        ];
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_identifier_method = KeyIdMethod::PreSpecified(key_identifier(key.public_key()));
        let signer = Signer::new(&*key);
        let certificate = params.self_signed(&signer);
        let certificate = certificate.map_err(|error| signing(signer.why(error)))?;
        let pem = pem_block::write(LABEL, certificate.der());
        Self::from_pem(pem.as_bytes(), key, &Policy::strict())
    }

    /// An authority whose certificate and key there are already.
    ///
    /// # Errors
    /// [`AuthorityError::Certificate`], [`AuthorityError::NotOneCertificate`],
    /// [`AuthorityError::Key`] or [`AuthorityError::Name`].
    pub fn from_pem(
        certificate: &[u8],
        key: Arc<dyn SigningKey>,
        policy: &Policy,
    ) -> Result<Self, AuthorityError> {
        let bundle =
            CaBundle::from_pem(certificate, policy).map_err(AuthorityError::Certificate)?;
        let [certificate] = bundle.certificates() else {
            let found = bundle.certificates().len();
            return Err(AuthorityError::NotOneCertificate { found });
        };
        if certificate.spki_der() != key.public_key().spki_der() {
            return Err(AuthorityError::Key);
        }
        let issuer = issuer(certificate, key.public_key()).ok_or_else(|| AuthorityError::Name {
            found: certificate.subject(),
        })?;
        let pem = pem_block::write(LABEL, certificate.der());
        Ok(Self {
            key,
            bundle,
            pem,
            issuer: Arc::new(issuer),
        })
    }

    /// The authority's certificate, as the CA of what it issues.
    pub const fn ca_bundle(&self) -> &CaBundle {
        &self.bundle
    }

    /// The authority's certificate in canonical PEM.
    pub fn certificate_pem(&self) -> &str {
        &self.pem
    }

    /// Issues a client certificate for a request.
    ///
    /// The subject is copied from the request as it is encoded there. The
    /// certificate holds from five minutes before `now` on, until `lifetime`
    /// after it or until the authority's own certificate ends.
    ///
    /// # Errors
    /// [`AuthorityError::Request`], [`AuthorityError::NotValid`] or
    /// [`AuthorityError::Signing`], [`AuthorityError::NotAtOnce`].
    pub fn issue(
        &self,
        csr: &Csr,
        subject: &Subject,
        public_key: &PublicKey,
        now: Timestamp,
        lifetime: Duration,
        entropy: &Entropy,
    ) -> Result<CertificateChain, AuthorityError> {
        let name = csr
            .name_for(subject, public_key)
            .ok_or(AuthorityError::Request)?;
        self.issue_to(&name, public_key, now, lifetime, csr, entropy)
    }

    fn issue_to(
        &self,
        name: &Name<'_>,
        public_key: &PublicKey,
        now: Timestamp,
        lifetime: Duration,
        csr: &Csr,
        entropy: &Entropy,
    ) -> Result<CertificateChain, AuthorityError> {
        let name = rcgen_name::of_name(name).ok_or(AuthorityError::Request)?;
        let certificate = self.certificate()?;
        let (not_before, not_after) = (certificate.not_before(), certificate.not_after());
        if now < not_before || now > not_after {
            return Err(AuthorityError::NotValid {
                not_before,
                not_after,
                now,
            });
        }
        let mut params = template(now - BACKDATE, not_after.min(now + lifetime));
        params.serial_number = Some(serial(
            entropy.derive("certificate serial", &[&csr.digest()]),
        ));
        params.distinguished_name = name;
        params.key_usages = vec![
            KeyUsagePurpose::DigitalSignature,
            KeyUsagePurpose::KeyEncipherment,
        ];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        params.custom_extensions = extensions(certificate);
        let signer = Signer::new(&*self.key);
        let issuer = Issuer::from_params(&self.issuer, &signer);
        let certificate = params.signed_by(&Unsigned(public_key), &issuer);
        let certificate = certificate.map_err(|error| signing(signer.why(error)))?;
        CertificateChain::of_leaf(certificate.der())
            .ok_or_else(|| signing(rcgen::Error::CouldNotParseCertificate.into()))
    }

    fn certificate(&self) -> Result<&Certificate, AuthorityError> {
        self.bundle
            .certificates()
            .first()
            .ok_or(AuthorityError::NotOneCertificate { found: 0 })
    }
}

impl fmt::Debug for Authority {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("Authority")
            .field(&self.bundle)
            .finish()
    }
}

/// How far clocks may differ: the Kubernetes signer's number.
const BACKDATE: Duration = Duration::from_secs(5 * 60);

const BASIC_CONSTRAINTS: &[u64] = &[2, 5, 29, 19];
const AUTHORITY_KEY: &[u64] = &[2, 5, 29, 35];

fn template(not_before: Timestamp, not_after: Timestamp) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.not_before = not_before.to_date_time();
    params.not_after = not_after.to_date_time();
    params.distinguished_name = DistinguishedName::new();
    params
}

/// Positive, and of 16 bytes whatever was drawn.
fn serial(mut drawn: [u8; 16]) -> SerialNumber {
    drawn[0] = (drawn[0] & 0x7f) | 0x40;
    SerialNumber::from_slice(&drawn)
}

/// The extensions that rcgen would write in another order than Kubernetes'
/// signer does, or not without a SubjectKeyIdentifier, which that leaves out.
fn extensions(authority: &Certificate) -> Vec<CustomExtension> {
    let mut no_authority =
        CustomExtension::from_oid_content(BASIC_CONSTRAINTS, element(SEQUENCE, &[]));
    no_authority.set_criticality(true);
    let mut extensions = vec![no_authority];
    if let (Some(identifier), _) = authority.key_identifiers() {
        let identifier = element(SEQUENCE, &[&element(CONTEXT_PRIMITIVE_0, &[identifier])]);
        extensions.push(CustomExtension::from_oid_content(AUTHORITY_KEY, identifier));
    }
    extensions
}

/// The issuer of what the authority signs, if rcgen writes its name byte for
/// byte as it stands in the authority's certificate. Go, and with it a
/// Kubernetes API server, finds an authority by these bytes.
fn issuer(authority: &Certificate, key: &PublicKey) -> Option<CertificateParams> {
    let (subject, _) = authority.names();
    let mut params = template(authority.not_before(), authority.not_after());
    let name = Name::read(single(subject, SEQUENCE).ok()?).ok()?;
    params.distinguished_name = rcgen_name::of_name(&name)?;
    (rcgen_name::written(&params.distinguished_name, key)? == subject).then_some(params)
}

/// RFC 7093 section 2, method 1: the first 20 bytes of the SHA-256 of the key.
fn key_identifier(key: &PublicKey) -> Vec<u8> {
    let digest = Sha256::digest(key_bits(key));
    digest.iter().take(20).copied().collect()
}

fn signing(error: BoxError) -> AuthorityError {
    match error.downcast::<NotAtOnce>() {
        Ok(answer) => AuthorityError::NotAtOnce(*answer),
        Err(error) => AuthorityError::Signing {
            reason: error.to_string(),
        },
    }
}

#[cfg(test)]
mod tests;
