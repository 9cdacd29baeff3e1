//! The defect of each input that is refused.

/// The ID of each refused input, and how the name of the expected fault begins.
pub(crate) const DEFECTS: &[(&str, &str)] = &[
    (
        "I002-other-cn",
        r#"PeerMisbehaved(Certificate(Subject { expected: "O=liqo.io, CN=cl-consumer", found: "O=liqo.io, CN=other-tenant""#,
    ),
    (
        "I004-expired",
        "PeerIncompatible(CertificateExpired { not_after: Timestamp(1763642367), now: Timestamp(1795179600)",
    ),
    (
        "I005-future",
        "PeerIncompatible(CertificateNotYetValid { not_before: Timestamp(1826714367), now: Timestamp(1795179600)",
    ),
    (
        "I006-not-clientauth",
        "PeerMisbehaved(Certificate(NotForClientAuthentication",
    ),
    ("I009-crt-garbage", "PeerMisbehaved(Certificate(Pem(NoBlock"),
    (
        "I010-crt-has-key",
        r#"PeerMisbehaved(Certificate(Pem(Label { found: "PRIVATE KEY", expected: "CERTIFICATE""#,
    ),
    ("I013-own-apiserver", "PeerMisbehaved(Url(OwnCluster"),
    ("I014-userinfo", "PeerMisbehaved(Url(Fragment"),
    ("I016-ca-changed", "PeerIncompatible(EndpointChanged"),
    (
        "I017-ca-not-ca",
        "PeerMisbehaved(CaBundle(NotAnAuthority { index: 0",
    ),
    ("I018-proxy-changed", "PeerIncompatible(ProxyMismatch"),
    ("I019-proxy-creds", "PeerMisbehaved(Url(UserInformation"),
    (
        "I020-ns",
        r#"Policy(UnexpectedNamespace { expected: "liqo-tenant-cl-consumer", found: "kube-system""#,
    ),
    (
        "I021-cluster",
        r#"PeerIncompatible(NameMismatch { expected: "cl-provider", found: "cl-other""#,
    ),
    ("I023-aws", "PeerMisbehaved(MixedCredentials"),
    (
        "I026-100y",
        "PeerMisbehaved(Certificate(Lifetime { found: 3155673660s, limit: 315619200s",
    ),
    (
        "N001-tls13-certverify",
        "PeerMisbehaved(NonceForm(TooLong { found: 130, limit: 128",
    ),
    ("N002-csr-tbs", "PeerMisbehaved(NonceForm(Alphabet { at: 2"),
    ("N003-jwt", "PeerMisbehaved(NonceForm(Alphabet { at: 36"),
    ("N005-empty", "PeerMisbehaved(NonceForm(Empty"),
    ("N006-1byte", "PeerMisbehaved(NonceForm(TooShort"),
    (
        "N007-constant",
        "PeerMisbehaved(NonceForm(NotRandom { found: 1, expected: 16",
    ),
    ("N009-newline", "PeerMisbehaved(NonceForm(FinalNewline"),
    ("N010-urlsafe", "PeerMisbehaved(NonceForm(UrlSafe"),
    ("N011-44", "PeerMisbehaved(NonceForm(TooShort"),
    (
        "N012-invalid-utf8",
        "PeerMisbehaved(NonceForm(Alphabet { at: 0",
    ),
    (
        "N020-live-oracle-tls13",
        "PeerMisbehaved(NonceForm(TooLong { found: 130, limit: 128",
    ),
    (
        "R002-O-smuggle-tenant",
        r#"PeerMisbehaved(Csr(Subject { expected: "O=cl-consumer, CN=pool-573ffa690333", found: "O=cl-consumer + O=victim-cluster, CN=pool-573ffa690333""#,
    ),
    ("R004-selfsig-broken", "PeerMisbehaved(Csr(SelfSignature("),
    ("R005-other-key", "PeerIncompatible(CsrKey {"),
    (
        "R010-cid-equals-victim-slice-CN",
        r#"Policy(NameTaken { name: "pool-37893f03fd76""#,
    ),
    (
        "T010-O-kubeadm-admins",
        r#"PeerMisbehaved(Csr(Subject { expected: "O=liqo.io, CN=cl-consumer", found: "O=liqo.io + O=kubeadm:cluster-admins, CN=cl-consumer""#,
    ),
    (
        "T011-O-other-tenant",
        r#"PeerMisbehaved(Csr(Subject { expected: "O=liqo.io, CN=cl-consumer", found: "O=liqo.io + O=victim-cluster, CN=cl-consumer""#,
    ),
    (
        "T013-O-system-nodes",
        r#"PeerMisbehaved(Csr(Subject { expected: "O=liqo.io, CN=cl-consumer", found: "O=liqo.io + O=system:nodes + O=system:serviceaccounts:kube-system + O=system:monitoring, CN=cl-consumer""#,
    ),
    (
        "T014-O-order",
        r#"PeerMisbehaved(Csr(Subject { expected: "O=liqo.io, CN=cl-consumer", found: "O=kubeadm:cluster-admins + O=liqo.io, CN=cl-consumer""#,
    ),
    (
        "T015-O-separate-RDNs",
        r#"PeerMisbehaved(Csr(Subject { expected: "O=liqo.io, CN=cl-consumer", found: "O=liqo.io, O=kubeadm:cluster-admins, CN=cl-consumer""#,
    ),
    (
        "T016-O-and-CN-one-RDN",
        r#"PeerMisbehaved(Csr(Subject { expected: "O=liqo.io, CN=cl-consumer", found: "O=liqo.io + CN=cl-consumer + O=kubeadm:cluster-admins""#,
    ),
    (
        "T018-O-empty-list",
        r#"PeerMisbehaved(Csr(Subject { expected: "O=liqo.io, CN=cl-consumer", found: "CN=cl-consumer""#,
    ),
    (
        "T019-O-empty-string",
        r#"PeerMisbehaved(Csr(Subject { expected: "O=liqo.io, CN=cl-consumer", found: "O=, CN=cl-consumer""#,
    ),
    (
        "T020-O-case",
        r#"PeerMisbehaved(Csr(Subject { expected: "O=liqo.io, CN=cl-consumer", found: "O=LIQO.IO, CN=cl-consumer""#,
    ),
    (
        "T021-empty-subject",
        r#"PeerMisbehaved(Csr(Subject { expected: "O=liqo.io, CN=cl-consumer", found: """#,
    ),
    (
        "T030-CN-twice-last-good",
        r#"PeerMisbehaved(Csr(Subject { expected: "O=liqo.io, CN=cl-consumer", found: "O=liqo.io, CN=kubernetes-admin, CN=cl-consumer""#,
    ),
    (
        "T031-CN-twice-first-good",
        r#"PeerMisbehaved(Csr(Subject { expected: "O=liqo.io, CN=cl-consumer", found: "O=liqo.io, CN=cl-consumer, CN=kubernetes-admin""#,
    ),
    (
        "T032-CN-utf8string",
        r#"PeerMisbehaved(Csr(StringType { expected: "PrintableString", found: "UTF8String""#,
    ),
    (
        "T033-CN-bmpstring",
        r#"PeerMisbehaved(Csr(StringType { expected: "PrintableString", found: "BMPString""#,
    ),
    (
        "T034-CN-t61string",
        r#"PeerMisbehaved(Csr(StringType { expected: "PrintableString", found: "T61String""#,
    ),
    (
        "T035-CN-NUL",
        r#"PeerMisbehaved(Csr(Subject { expected: "O=liqo.io, CN=cl-consumer", found: "O=liqo.io, CN=cl-consumer\\u{0}.evil""#,
    ),
    (
        "T036-CN-homoglyph",
        r#"PeerMisbehaved(Csr(Subject { expected: "O=liqo.io, CN=cl-consumer", found: "O=liqo.io, CN=\\u{441}l-consumer""#,
    ),
    ("T038-CN-before-O", "PeerMisbehaved(Csr(SubjectOrder"),
    (
        "T039-extra-OU",
        r#"PeerMisbehaved(Csr(Subject { expected: "O=liqo.io, CN=cl-consumer", found: "O=liqo.io, OU=admins, CN=cl-consumer, 1.2.840.113549.1.9.1=root@victim""#,
    ),
    ("T050-cid-admin", r#"Policy(NameTaken { name: "admin""#),
    (
        "T050-cid-kube-scheduler",
        r#"Policy(NameTaken { name: "kube-scheduler""#,
    ),
    (
        "T050-cid-kubernetes-admin",
        r#"Policy(NameTaken { name: "kubernetes-admin""#,
    ),
    (
        "T050-cid-masterclient",
        r#"Policy(NameTaken { name: "masterclient""#,
    ),
    ("T052-cid-bad-0", "PeerMisbehaved(ClusterId(Empty"),
    (
        "T052-cid-bad-1",
        "PeerMisbehaved(ClusterId(Character { at: 0",
    ),
    (
        "T052-cid-bad-2",
        "PeerMisbehaved(ClusterId(Character { at: 2",
    ),
    (
        "T052-cid-bad-5",
        "PeerMisbehaved(ClusterId(Character { at: 2",
    ),
    (
        "T052-cid-bad-6",
        "PeerMisbehaved(ClusterId(Character { at: 6",
    ),
    (
        "T052-cid-bad-7",
        "PeerMisbehaved(ClusterId(Character { at: 0",
    ),
    (
        "T052-cid-bad-8",
        "PeerMisbehaved(ClusterId(Character { at: 2",
    ),
    ("L001-empty-both", "PeerIncompatible(WrongToken"),
    ("L004-upper", "PeerIncompatible(WrongToken"),
    (
        "T052-cid-bad-9",
        "PeerMisbehaved(ClusterId(Character { at: 11",
    ),
    (
        "T062-selfsig-empty",
        "PeerMisbehaved(Csr(SelfSignature(Length { found: 0, expected: 64",
    ),
    (
        "T063-selfsig-other-key",
        "PeerMisbehaved(Csr(SelfSignature(Mismatch",
    ),
    (
        "T064-selfsig-alg-unknown",
        r#"PeerMisbehaved(Csr(SignatureAlgorithm { found: "1.2.3.4", expected: Ed25519"#,
    ),
    ("T066-csr-other-key", "PeerIncompatible(CsrKey"),
    (
        "T070-san",
        r#"PeerMisbehaved(Csr(Attributes { found: "1.2.840.113549.1.9.14""#,
    ),
    (
        "T073-attr-challenge",
        r#"PeerMisbehaved(Csr(Attributes { found: "1.2.840.113549.1.9.7""#,
    ),
    ("T074-attrs-missing", "PeerMisbehaved(Csr(AttributesMissing"),
    ("T075-version-7", "PeerMisbehaved(Csr(Version"),
    ("T080-pem-leading-text", "PeerMisbehaved(Csr(Pem(TextBefore"),
    (
        "T085-pem-trailing-newline",
        "PeerMisbehaved(Csr(Pem(TrailingSpace",
    ),
    (
        "T086-pem-no-final-newline",
        "PeerMisbehaved(Csr(Pem(NoFinalNewline",
    ),
    ("T087-pem-crlf", "PeerMisbehaved(Csr(Pem(CarriageReturn"),
    (
        "T090-der-trailing",
        "PeerMisbehaved(Csr(Der(TrailingBytes { count: 1",
    ),
    ("T091-der-long-length", "PeerMisbehaved(Csr(Der(Length"),
    ("T093-raw-der", "PeerMisbehaved(Csr(Pem(NoBlock"),
    ("T094-empty-csr", "PeerMisbehaved(Csr(Empty"),
    (
        "T101-pk-wrong-label",
        r#"PeerMisbehaved(PublicKey(Pem(Label { found: "CERTIFICATE", expected: "PUBLIC KEY""#,
    ),
    (
        "T102-pk-two-blocks",
        "PeerMisbehaved(PublicKey(Pem(SecondBlock",
    ),
    ("T106-pk-empty", "PeerMisbehaved(PublicKey(Empty"),
    ("T107-pk-31", "PeerMisbehaved(PublicKey(Length { found: 31"),
    (
        "T109-pk-dsa",
        r#"PeerMisbehaved(PublicKey(Algorithm { oid: "1.2.840.10040.4.1""#,
    ),
    (
        "T111-pk-ed-params",
        r#"PeerMisbehaved(PublicKey(Parameters { algorithm: "Ed25519""#,
    ),
    (
        "T121-ed-identity-key-raw",
        "PeerMisbehaved(PublicKey(Ed25519SmallOrder",
    ),
    (
        "T122-ed-small-order-2",
        "PeerMisbehaved(PublicKey(Ed25519SmallOrder",
    ),
    (
        "T122-ed-small-order-3",
        "PeerMisbehaved(PublicKey(Ed25519SmallOrder",
    ),
    (
        "T122-ed-small-order-5",
        "PeerMisbehaved(PublicKey(Ed25519SmallOrder",
    ),
    (
        "T122-ed-small-order-6",
        "PeerMisbehaved(PublicKey(Ed25519SmallOrder",
    ),
    (
        "T122-ed-small-order-7",
        "PeerMisbehaved(PublicKey(Ed25519SmallOrder",
    ),
    (
        "T123-ed-all-zero-key",
        "PeerMisbehaved(PublicKey(Ed25519SmallOrder",
    ),
    (
        "T124-ed-noncanonical-A-0",
        "PeerMisbehaved(PublicKey(Ed25519NonCanonical",
    ),
    (
        "T128-ed-small-order-R",
        "PeerIncompatible(NonceSignature(Mismatch",
    ),
    (
        "T129-sig-len-0",
        "PeerIncompatible(NonceSignature(Length { found: 0, expected: 64",
    ),
    (
        "T129-sig-len-1",
        "PeerIncompatible(NonceSignature(Length { found: 63, expected: 64",
    ),
    (
        "T129-sig-len-2",
        "PeerIncompatible(NonceSignature(Length { found: 65, expected: 64",
    ),
    ("T129-sig-len-3", "PeerIncompatible(NonceSignature(Mismatch"),
    (
        "T140-rsa-1536",
        "PeerMisbehaved(PublicKey(RsaModulusBits { found: 1536, shortest: 2048, longest: 4096",
    ),
    (
        "T140-rsa-768",
        "PeerMisbehaved(PublicKey(RsaModulusBits { found: 768, shortest: 2048, longest: 4096",
    ),
    (
        "T141-rsa-prime-modulus",
        "PeerMisbehaved(PublicKey(RsaModulusPrime",
    ),
    ("T142-rsa-e1", "PeerMisbehaved(PublicKey(RsaExponent"),
    (
        "T145-rsa-huge-16384",
        "PeerMisbehaved(PublicKey(TooLong { found: 2880, limit: 2048",
    ),
    ("T160-self-declared-policy", "Policy(SelfDeclaredPolicy"),
    ("T165-short-nonce", "PeerMisbehaved(NonceForm(TooShort"),
];
