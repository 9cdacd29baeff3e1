//! Reads private keys of all algorithms, also those that the library reads by AWS-LC alone.

use liqo_auth::{
    crypto::{KeyError, KeyPair, KeyPairError, PublicKey, SigningKey},
    policy::Policy,
};
use zeroize::Zeroizing;

use crate::{curves, rsa};

/// The public key of a private key in PKCS #8.
pub(crate) fn public_key(pem: &[u8]) -> Result<PublicKey, KeyPairError> {
    let policy = Policy::compatible();
    let feature = match KeyPair::from_pkcs8_pem(pem, &policy) {
        Ok(pair) => return Ok(pair.public_key().clone()),
        Err(KeyPairError::Public(KeyError::FeatureNotEnabled { feature, .. })) => feature,
        Err(error) => return Err(error),
    };
    let algorithm = if feature == "rsa" { "RSA" } else { "ECDSA" };
    let invalid = KeyPairError::Invalid { algorithm };
    let block = pem::parse(pem).map_err(|_| invalid.clone())?;
    let der = Zeroizing::new(block.into_contents());
    let public = match feature {
        "rsa" => rsa::public_key(&der),
        _ => curves::public_key(&der),
    };
    let public = public.ok_or(invalid)?;
    PublicKey::from_spki_der(&public, &policy).map_err(KeyPairError::Public)
}
