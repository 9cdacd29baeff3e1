//! The provider's key for its own nonces and records.

use hmac::{Hmac, Mac};
use rand_core::TryCryptoRng;
use sha2::Sha256;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::entropy::{keyed, update_parts};
use crate::model::ValueError;

/// 32 secret bytes, shared by the replicas of one provider. With this key, a
/// provider authenticates its nonces and seals its records.
///
/// Predecessors only verify. Thus, a replacement of the key does not interrupt
/// running exchanges. All keys are wiped on drop, and `Debug` does not show them.
///
/// # Examples
/// ```
/// use liqo_auth::crypto::RecordKey;
///
/// let key = RecordKey::new([2; 32])?.with_predecessor([1; 32])?;
/// assert_eq!(format!("{key:?}"), "RecordKey(…)");
/// assert!(RecordKey::new([0; 32]).is_err());
/// # Ok::<(), liqo_auth::model::ValueError>(())
/// ```
#[derive(Clone, Zeroize, derive_more::Debug)]
#[debug("RecordKey(…)")]
pub struct RecordKey {
    current: MacKey,
    predecessors: Vec<MacKey>,
}

// Each of its keys wipes itself.
impl ZeroizeOnDrop for RecordKey {}

/// The bytes of a key, and HMAC-SHA-256 after it has read them. Each MAC begins with
/// a copy of this state.
#[derive(Clone, ZeroizeOnDrop)]
struct MacKey {
    bytes: [u8; 32],
    // The state wipes itself on drop.
    #[zeroize(skip)]
    state: Hmac<Sha256>,
}

/// The key that made a MAC: the present record key or a predecessor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SealMaker {
    /// The present key.
    Current,
    /// A key that was replaced.
    Predecessor,
}

impl RecordKey {
    /// The key with these bytes.
    ///
    /// # Errors
    /// [`ValueError`] for a key of zeros only.
    pub fn new(bytes: [u8; 32]) -> Result<Self, ValueError> {
        let key = Self {
            current: MacKey::new(bytes),
            predecessors: Vec::new(),
        };
        if key.current.bytes == [0; 32] {
            return Err(ALL_ZERO);
        }
        Ok(key)
    }

    /// The same key with a predecessor. The nonces and seals of the predecessor are
    /// also verified.
    ///
    /// # Errors
    /// [`ValueError`] for a key of zeros only.
    pub fn with_predecessor(mut self, bytes: [u8; 32]) -> Result<Self, ValueError> {
        let predecessor = Self::new(bytes)?;
        self.predecessors.push(predecessor.current.clone());
        Ok(self)
    }

    /// A new key from a random number generator.
    ///
    /// # Errors
    /// The error of the generator.
    pub fn draw<R: TryCryptoRng + ?Sized>(rng: &mut R) -> Result<Self, R::Error> {
        let mut bytes = Zeroizing::new([0; 32]);
        loop {
            rng.try_fill_bytes(&mut *bytes)?;
            if let Ok(key) = Self::new(*bytes) {
                return Ok(key);
            }
        }
    }

    /// The key's bytes, to be stored as a secret.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.current.bytes
    }

    /// HMAC-SHA-256 over a domain and parts, each preceded by its length.
    pub(crate) fn mac(&self, domain: &str, parts: &[&[u8]]) -> [u8; 32] {
        let mut mac = self.current.state.clone();
        update_parts(&mut mac, domain, parts);
        mac.finalize().into_bytes().into()
    }

    /// Whether this key or a predecessor made the MAC, which may be truncated to 16
    /// bytes or more. The comparison takes constant time.
    pub(crate) fn verify(&self, domain: &str, parts: &[&[u8]], mac: &[u8]) -> bool {
        self.maker_of(domain, parts, mac).is_some()
    }

    /// The maker of the MAC, which may be truncated to 16 bytes or more; `None` if
    /// no known key made it. The comparison takes constant time.
    pub(crate) fn maker_of(&self, domain: &str, parts: &[&[u8]], mac: &[u8]) -> Option<SealMaker> {
        let is_by = |key: &MacKey| {
            let mut expected = key.state.clone();
            update_parts(&mut expected, domain, parts);
            mac.len() >= SHORTEST_MAC && expected.verify_truncated_left(mac).is_ok()
        };
        if is_by(&self.current) {
            return Some(SealMaker::Current);
        }
        let is_earlier = self.predecessors.iter().any(is_by);
        is_earlier.then_some(SealMaker::Predecessor)
    }
}

impl MacKey {
    fn new(bytes: [u8; 32]) -> Self {
        let state = keyed(&bytes);
        Self { bytes, state }
    }
}

impl Zeroize for MacKey {
    fn zeroize(&mut self) {
        self.bytes.zeroize();
        self.state = keyed(&self.bytes);
    }
}

const ALL_ZERO: ValueError = ValueError("the record key is all zeros");
const SHORTEST_MAC: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_recognises_what_it_and_its_predecessors_made() {
        let old = RecordKey::new([1; 32]).unwrap();
        let new = RecordKey::new([2; 32])
            .unwrap()
            .with_predecessor([1; 32])
            .unwrap();
        let mac = old.mac("d", &[b"x", b"y"]);
        assert!(old.verify("d", &[b"x", b"y"], &mac));
        assert!(new.verify("d", &[b"x", b"y"], &mac));
        assert!(new.verify("d", &[b"x", b"y"], &mac[..16]));
        assert!(!old.verify("d", &[b"x", b"y"], &new.mac("d", &[b"x", b"y"])));
        for (domain, parts, mac) in [
            ("e", &[&b"x"[..], b"y"][..], &mac[..]),
            ("d", &[b"xy"], &mac),
            ("d", &[b"x", b"y"], &mac[..15]),
            ("d", &[b"x", b"y"], &[]),
            ("d", &[b"x", b"y"], &[mac.as_slice(), &[0]].concat()),
        ] {
            assert!(!new.verify(domain, parts, mac));
        }
    }

    #[test]
    fn each_drawing_gives_another_key() {
        let mut rng = getrandom::SysRng;
        let [one, other] = [(); 2].map(|()| *RecordKey::draw(&mut rng).unwrap().as_bytes());
        assert_ne!(one, other);
        assert_ne!(one, [0; 32]);
    }

    #[test]
    fn a_wiped_key_recognises_nothing_of_before() {
        let mut key = RecordKey::new([2; 32])
            .unwrap()
            .with_predecessor([1; 32])
            .unwrap();
        let old = RecordKey::new([1; 32]).unwrap();
        let macs = [key.mac("d", &[b"x"]), old.mac("d", &[b"x"])];
        assert!(macs.iter().all(|mac| key.verify("d", &[b"x"], mac)));
        key.zeroize();
        assert_eq!(key.as_bytes(), &[0; 32]);
        assert!(!macs.iter().any(|mac| key.verify("d", &[b"x"], mac)));
    }
}
