//! What is due in a peering, and what is refused of what it has.

use liqo_auth::model::{Kind, Timestamp, names};

use super::{Certificate, Peering, Refusal};

impl Peering {
    /// Whether the next certificate is due, and is not there. An expired one is due in each phase,
    /// but for a peer that gets none.
    pub(crate) fn owes(&self, certificate: &Certificate, now: Timestamp) -> bool {
        certificate.renewal.is_owed() || self.has_expired(certificate, now)
    }

    /// Whether a certificate has ended that the peer should have. A drained peer gets none, nor
    /// does one whose peering ends.
    pub(crate) fn has_expired(&self, certificate: &Certificate, now: Timestamp) -> bool {
        let gets_none = self.is_drained() || self.phase == "Ending";
        certificate.ends < now && !gets_none
    }

    /// The slice that has a certificate; `None` for that of the control plane.
    pub(crate) fn slice_of(&self, certificate: &Certificate) -> Option<&str> {
        let mut slices = self.slices.iter();
        let slice = slices.find(|slice| slice.certificate.as_ref() == Some(certificate));
        slice.map(|slice| slice.name.as_str())
    }

    /// What is refused of what has this certificate, and not of another slice.
    pub(crate) fn refusal_of(&self, certificate: &Certificate) -> Option<&Refusal> {
        let holder = self.slice_of(certificate);
        let mut refused = self.refused.iter();
        refused.find(|refusal| self.refused_slice(refusal) == holder)
    }

    /// What is refused of the control plane, of what has a certificate, and of the provider's
    /// answers. A slice whose first request is refused has nothing to renew.
    pub(crate) fn refused_answers(&self) -> impl Iterator<Item = &Refusal> {
        self.refused.iter().filter(|refusal| {
            let slice = self.refused_slice(refusal);
            let mut slices = self.slices.iter();
            let slice = slices.find(|it| Some(it.name.as_str()) == slice);
            // What cannot be read may have a certificate.
            slice.is_none_or(|slice| {
                slice.certificate.is_some()
                    || refusal.is_of_an_answer()
                    || refusal.unreadable().is_some()
            })
        })
    }

    /// The slice that a refusal is about; `None` if it is about the control plane.
    fn refused_slice(&self, refusal: &Refusal) -> Option<&str> {
        let object = refusal.refused.as_ref()?.object.as_ref()?;
        let mut slices = self.slices.iter();
        let slice = slices.find(|slice| {
            let is_itself = object.kind == Kind::ResourceSlice && object.name == slice.name;
            is_itself || object.name == names::resource_slice_identity_name(&slice.name)
        });
        slice.map(|slice| slice.name.as_str())
    }
}
