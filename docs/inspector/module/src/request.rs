//! Reads a request, and answers it.

use liqo_auth::policy::Policy;
use liqo_auth_inspection::{Companions, Input, Inspection, Report, text::printable};
use zeroize::Zeroizing;

use crate::{
    answer::{Answer, Head},
    private_key,
};

/// Answers a request.
pub fn answer(request: &[u8]) -> Vec<u8> {
    let answer = said(request).unwrap_or_else(|why| Answer::Failure(why.to_owned()));
    serde_json::to_vec(&answer).unwrap_or_default()
}

fn said(request: &[u8]) -> Result<Answer, &'static str> {
    let (length, rest) = request
        .split_first_chunk()
        .ok_or("the request has no head")?;
    let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
    let (head, mut rest) = rest.split_at_checked(length).ok_or("the head is cut off")?;
    let head: Head = serde_json::from_slice(head).map_err(|_| "the head cannot be read")?;
    let now = head.now.parse().map_err(|_| "the time cannot be read")?;
    let (mut inputs, mut unread) = (Vec::new(), Vec::new());
    for file in head.files {
        let (text, others) = rest
            .split_at_checked(file.length)
            .ok_or("a file is cut off")?;
        rest = others;
        let name = printable(&file.name).replace('\n', "\\n");
        match Input::read(name, Zeroizing::new(text.to_vec())) {
            Ok(input) => inputs.push(input),
            Err(sentence) => unread.push(sentence),
        }
    }
    let inspection = Inspection::<&'static str> {
        policy: &Policy::default(),
        remote_cluster_id: None,
        nonce: &|| Ok(None),
        cluster: None,
        public_key: private_key::public_key,
        companions: Companions::of(&inputs),
        now,
    };
    let reports = inputs.iter().map(|input| inspection.reports(input));
    let reports: Vec<Vec<Report>> = reports.collect::<Result<_, _>>()?;
    Ok(Answer::of(unread, &reports.concat()))
}
