//! DNS names as the names of objects and of hosts.

/// Whether an object may have this name: a DNS subdomain, which consists of labels with
/// dots between them. The length is not checked. Source: RFC 1123 section 2.1;
/// Kubernetes `validation.IsDNS1123Subdomain`.
pub(crate) fn is_dns_subdomain(name: &str) -> bool {
    name.split('.').all(is_dns_label)
}

/// Whether the text is a label: lower-case letters, digits, and hyphens inside. The
/// length is not checked.
fn is_dns_label(text: &str) -> bool {
    let is_allowed = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
    !text.is_empty()
        && !text.starts_with('-')
        && !text.ends_with('-')
        && text.bytes().all(is_allowed)
}
