//! The certificates that were read last.
//!
//! Each look at a peer reads the same few certificates again. What a certificate says depends
//! on its bytes alone, and nothing is trusted for being here.

use std::{cell::RefCell, collections::VecDeque};

use super::Certificate;

thread_local! {
    /// The last one that was used comes first.
    static KNOWN: RefCell<VecDeque<Certificate>> = const { RefCell::new(VecDeque::new()) };
}

/// So many are kept: those of a few Identities, with their authorities.
const MOST: usize = 8;
/// A longer one is not kept.
const LONGEST: usize = 4096;

/// The certificate with these bytes, which are read unless they are known.
pub(super) fn certificate(
    der: Vec<u8>,
    read: impl FnOnce(Vec<u8>) -> Option<Certificate>,
) -> Option<Certificate> {
    if der.len() > LONGEST {
        return read(der);
    }
    let found = match take(&der) {
        Some(found) => found,
        None => read(der)?,
    };
    KNOWN.with_borrow_mut(|known| {
        known.push_front(found.clone());
        known.truncate(MOST);
    });
    Some(found)
}

fn take(der: &[u8]) -> Option<Certificate> {
    KNOWN.with_borrow_mut(|known| {
        let place = known.iter().position(|known| known.der == der)?;
        known.remove(place)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        crypto::{Authority, Entropy},
        policy::Policy,
    };

    /// A certificate with these bytes and this serial number.
    fn with(der: Vec<u8>, serial: u8) -> Certificate {
        let now = "2026-11-20T13:00:00Z".parse().unwrap();
        let life = core::time::Duration::from_secs(3600);
        let authority = Authority::new("a", now, life, &Entropy::from_bytes([5; 32])).unwrap();
        let some = authority
            .ca_bundle()
            .certificates()
            .first()
            .unwrap()
            .clone();
        let serial = vec![serial];
        Certificate {
            der,
            serial,
            ..some
        }
    }

    /// The serial number of the certificate with these bytes, if it is read as this one.
    fn serial(der: &[u8], serial: u8) -> u8 {
        let found = certificate(der.to_vec(), |der| Some(with(der, serial))).unwrap();
        assert_eq!(found.der, der);
        found.serial[0]
    }

    #[test]
    fn the_same_bytes_are_read_once() {
        assert_eq!(serial(b"one", 1), 1);
        assert_eq!(serial(b"two", 2), 2);
        assert_eq!((serial(b"one", 3), serial(b"two", 3)), (1, 2));
        assert_eq!(serial(b"onE", 4), 4);
    }

    #[test]
    fn those_that_are_used_are_kept_and_no_more_than_a_few() {
        for round in 0..3 {
            for other in 0..u8::try_from(MOST).unwrap() - 1 {
                serial(&[round, other], 1);
                assert_eq!(serial(b"one", round + 1), 1);
            }
        }
        assert_eq!(KNOWN.with_borrow(VecDeque::len), MOST);
        assert_eq!(serial(&[0, 0], 2), 2);
    }

    #[test]
    fn what_cannot_be_read_and_what_is_long_is_read_each_time() {
        assert_eq!(certificate(b"none".to_vec(), |_| None), None);
        assert_eq!(serial(b"none", 1), 1);
        let (short, long) = (vec![7; LONGEST], vec![7; LONGEST + 1]);
        assert_eq!((serial(&short, 1), serial(&short, 2)), (1, 1));
        assert_eq!((serial(&long, 1), serial(&long, 2)), (1, 2));
    }

    #[test]
    fn a_bundle_is_read_the_same_when_it_is_known() {
        let now = "2026-11-20T13:00:00Z".parse().unwrap();
        let life = core::time::Duration::from_secs(3600);
        let authority = Authority::new("b", now, life, &Entropy::from_bytes([6; 32])).unwrap();
        let pem = authority.ca_bundle().pem();
        let read = || crate::crypto::CaBundle::from_pem(pem, &Policy::strict()).unwrap();
        let first = read();
        assert_eq!(first, read());
        assert_eq!(&first, authority.ca_bundle());
    }
}
