//! The private key of a CA, in the forms in which programs write it.

use anyhow::{Context, Result, bail};
use aws_lc_rs::{
    encoding::{AsDer, Pkcs8V1Der},
    rsa,
    signature::{
        ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P384_SHA384_ASN1_SIGNING,
        ECDSA_P521_SHA512_ASN1_SIGNING, EcdsaKeyPair,
    },
};
use pem::{EncodeConfig, LineEnding, Pem, encode_config};
use zeroize::{Zeroize, Zeroizing};

/// The key in PKCS#8 PEM. It may be in PKCS#1 (`RSA PRIVATE KEY`, as kubeadm writes it) or
/// SEC1 (`EC PRIVATE KEY`), too, with the curve's parameters before it. A key in PKCS#8
/// stays as it is.
pub(super) fn pkcs8(text: &[u8]) -> Result<Zeroizing<Vec<u8>>> {
    let blocks = pem::parse_many(text).context("it is not in PEM")?;
    let mut keys = blocks.into_iter().filter(|block| block.tag() != PARAMETERS);
    let (Some(key), None) = (keys.next(), keys.next()) else {
        bail!("expected one private key in PEM");
    };
    let tag = key.tag().to_owned();
    let is_encrypted = tag == "ENCRYPTED PRIVATE KEY" || key.headers().get("DEK-Info").is_some();
    let der = Zeroizing::new(key.into_contents());
    let converted = match tag.as_str() {
        _ if is_encrypted => bail!("the key is encrypted: give it without a passphrase"),
        "RSA PRIVATE KEY" => {
            let key = rsa::KeyPair::from_der(&der).context("the RSA key in PKCS#1")?;
            let key = AsDer::<Pkcs8V1Der<'_>>::as_der(&key).context("the RSA key in PKCS#1")?;
            key.as_ref().to_vec()
        }
        "EC PRIVATE KEY" => {
            let curves = [
                &ECDSA_P256_SHA256_ASN1_SIGNING,
                &ECDSA_P384_SHA384_ASN1_SIGNING,
                &ECDSA_P521_SHA512_ASN1_SIGNING,
            ];
            let mut read = curves
                .into_iter()
                .filter_map(|curve| EcdsaKeyPair::from_private_key_der(curve, &der).ok());
            let key = read
                .next()
                .context("the key in SEC1 is not one of P-256, P-384 or P-521")?;
            let key = key.to_pkcs8v1().context("the key in SEC1")?;
            key.as_ref().to_vec()
        }
        _ => return Ok(Zeroizing::new(text.to_vec())),
    };
    let block = Pem::new("PRIVATE KEY", converted);
    let form = EncodeConfig::new().set_line_ending(LineEnding::LF);
    let text = Zeroizing::new(encode_config(&block, form).into_bytes());
    block.into_contents().zeroize();
    Ok(text)
}

/// What `openssl ecparam -genkey` writes before the key.
const PARAMETERS: &str = "EC PARAMETERS";
