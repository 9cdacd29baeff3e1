//! The certificate request, by a key that may answer later.

use crate::{
    consumer::{look::Look, record::Plan},
    crypto::{Csr, SigningKey, Subject},
    error::Error,
    machine::answering::signed,
};

impl Look<'_> {
    /// The first stored request that has the subject and the key, or a new request.
    /// `None` if the key has not answered yet.
    pub(crate) fn csr<'k>(
        &self,
        subject: &Subject,
        key: &dyn SigningKey,
        kept: impl IntoIterator<Item = &'k [u8]>,
        plan: &mut Plan<'_>,
    ) -> Result<Option<Csr>, Error> {
        let public = key.public_key();
        let mut kept = kept
            .into_iter()
            .filter_map(|pem| Csr::verify(pem, subject, public, self.policy()).ok());
        match kept.next() {
            Some(csr) => Ok(Some(csr)),
            None => signed(
                || Csr::make_for(self.peer(), subject, key),
                plan,
                || Csr::signature_id(subject, public),
            ),
        }
    }
}
