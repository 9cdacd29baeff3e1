package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509/pkix"
	"path/filepath"
	"strings"
	"testing"

	liqov1beta1 "github.com/liqotech/liqo/apis/core/v1beta1"
	"github.com/liqotech/liqo/pkg/liqo-controller-manager/authentication"
)

const (
	peeringRequestRead    = "peering-user/csr.yaml is read"
	peeringMetadata       = "peering-user/csr.yaml: name and label"
	peeringSpec           = "peering-user/csr.yaml: signer, usages and lifetime"
	peeringSubject        = "peering-user/csr.yaml: the CSR names"
	peeringSigned         = "peering-user/csr.yaml: the CSR is signed"
	peeringAsLiqos        = "peering-user/csr.yaml: the CSR is, byte for byte"
	peeringApproved       = "peering-user/csr.yaml: the request is approved"
	peeringRightsRead     = "peering-user/rolebindings.yaml is read"
	peeringTwo            = "peering-user/rolebindings.yaml: there are two"
	peeringReader         = "liqo-peer-user-cluster-a-liqo-ns-reader binds"
	peeringWriter         = "liqo-peer-user-cluster-a-tenant-ns-writer binds"
	peeringKey            = "peering-user/kubeconfig.yaml: the kubeconfig's key"
	peeringKeyCarried     = "peering-user/kubeconfig.yaml: the certificate carries"
	peeringCertificate    = "peering-user/kubeconfig.yaml: the certificate names"
	peeringTrusted        = "peering-user/kubeconfig.yaml: the certificate is verified"
	peeringNames          = "peering-user/kubeconfig.yaml: the kubeconfig's names"
	peeringServer         = "peering-user/kubeconfig.yaml: the kubeconfig's server"
	peeringProxy          = "peering-user/kubeconfig.yaml: the kubeconfig's proxy"
	peeringNamespace      = "peering-user/kubeconfig.yaml: the kubeconfig's namespace"
	peeringMaterial       = "peering-user/kubeconfig.yaml: the kubeconfig's CA and certificate"
	peeringConfigAsLiqos  = "peering-user/kubeconfig.yaml: the kubeconfig is, byte for byte"
	peeringPair           = "peering-user/kubeconfig.yaml: the kubeconfig's certificate and key"
	peeringTLS            = "client-go makes a TLS client of peering-user/kubeconfig.yaml"
	peeringConfigIsLoaded = "peering-user/kubeconfig.yaml is loaded"
	peeringConfigStrict   = "peering-user/kubeconfig.yaml has no field"
)

func TestWhatIsChangedInAPeeringUsersRequestFails(t *testing.T) {
	const request, in = "peering-user/csr.yaml", "peering-user"
	wantEachFails(t, []changed{
		{"no request", in,
			without(request),
			[]string{peeringRequestRead, peeringReader, peeringWriter}},
		{"an unknown field", in,
			set(request, "x", "spec", "unknown"),
			[]string{peeringRequestRead, peeringReader, peeringWriter}},
		{"another name", in,
			set(request, "liqo-peer-user-cluster-z", "metadata", "name"),
			[]string{peeringMetadata}},
		{"no label", in,
			unset(request, "metadata", "labels"),
			[]string{peeringMetadata}},
		{"another signer", in,
			set(request, "kubernetes.io/kubelet-serving", "spec", "signerName"),
			[]string{peeringSpec}},
		{"another usage", in,
			set(request, []any{"digital signature", "key encipherment", "server auth"}, "spec", "usages"),
			[]string{peeringSpec}},
		{"too short a life", in,
			set(request, 599, "spec", "expirationSeconds"),
			[]string{peeringSpec}},
		{"as short a life as may be", in,
			set(request, 600, "spec", "expirationSeconds"),
			nil},
		{"nobody's groups", in,
			set(request, []any{"system:unauthenticated"}, "spec", "groups"),
			[]string{peeringSpec}},
		{"the groups of an administrator, as an API server writes them", in,
			set(request, []any{"system:masters", "system:authenticated"}, "spec", "groups"),
			nil},
		{"the control plane's subject", in,
			edit(request, peeringCSR("cluster-a", "liqo.io"), "spec", "request"),
			[]string{peeringSubject, peeringReader, peeringWriter}},
		{"another cluster's user", in,
			edit(request, peeringCSR("liqo-peer-user-cluster-z-"+strings.Repeat("0", 32), "liqo.io"), "spec", "request"),
			[]string{peeringSubject, peeringReader, peeringWriter}},
		{"a suffix in capitals", in,
			edit(request, peeringCSR("liqo-peer-user-cluster-a-"+strings.Repeat("A", 32), "liqo.io"), "spec", "request"),
			[]string{peeringSubject, peeringReader, peeringWriter}},
		{"another suffix", in,
			edit(request, peeringCSR("liqo-peer-user-cluster-a-"+strings.Repeat("0", 32), "liqo.io"), "spec", "request"),
			[]string{peeringReader, peeringWriter, peeringCertificate}},
		{"another organization", in,
			edit(request, peeringCSR("liqo-peer-user-cluster-a-"+strings.Repeat("0", 32), "system:masters"), "spec", "request"),
			[]string{peeringSubject, peeringAsLiqos, peeringReader, peeringWriter, peeringCertificate}},
		{"the CSR by another key", in,
			edit(request, csrOfAnotherKey, "spec", "request"),
			[]string{peeringAsLiqos, peeringKey, peeringKeyCarried}},
		{"one bit of the CSR's signature", in,
			edit(request, flipBitInPEM, "spec", "request"),
			[]string{peeringSigned, peeringAsLiqos}},
		{"a certificate without approval", in,
			unset(request, "status", "conditions"),
			[]string{peeringApproved}},
		{"a denial", in,
			set(request, "Denied", "status", "conditions", "0", "type"),
			[]string{peeringApproved}},
		{"another certificate", in,
			edit(request, flipBit, "status", "certificate"),
			[]string{peeringMaterial, peeringConfigAsLiqos}},
		{"no certificate yet", in,
			unset(request, "status"),
			nil},
	})
}

func TestWhatIsChangedInAPeeringUsersRightsFails(t *testing.T) {
	const rights, in = "peering-user/rolebindings.yaml", "peering-user"
	wantEachFails(t, []changed{
		{"no rights", in,
			without(rights),
			[]string{peeringRightsRead}},
		{"empty rights", in,
			write(rights, ""),
			[]string{peeringTwo, peeringReader, peeringWriter}},
		{"a third", in,
			appendTo(rights, "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata:\n  name: third\n"),
			[]string{peeringTwo}},
		{"another kind", in,
			replaceIn(rights, "kind: RoleBinding", "kind: Role"),
			[]string{peeringRightsRead}},
		{"another name", in,
			replaceIn(rights, "ns-reader", "ns-writer"),
			[]string{peeringReader}},
		{"no label", in,
			replaceIn(rights, "    liqo.io/peering-user-name:", "    name:"),
			[]string{peeringReader, peeringWriter}},
		{"another namespace of Liqo", in,
			replaceIn(rights, "  namespace: liqo\n", "  namespace: default\n"),
			[]string{peeringReader}},
		{"another tenant namespace", in,
			replaceIn(rights, "  namespace: liqo-tenant-cluster-a\n", "  namespace: liqo-tenant-cluster-z\n"),
			[]string{peeringWriter}},
		{"another role", in,
			replaceIn(rights, "name: liqo-peering-user-tenant-ns", "name: cluster-admin"),
			[]string{peeringWriter}},
		{"a Role for the ClusterRole", in,
			replaceIn(rights, "kind: ClusterRole", "kind: Role"),
			[]string{peeringWriter}},
		{"a group", in,
			replaceIn(rights, "kind: User", "kind: Group"),
			[]string{peeringReader, peeringWriter}},
		{"the consumer's control plane", in,
			replaceIn(rights, "- apiGroup: rbac.authorization.k8s.io\n", "- apiGroup: rbac.authorization.k8s.io\n  kind: User\n  name: cluster-a\n- apiGroup: rbac.authorization.k8s.io\n"),
			[]string{peeringReader, peeringWriter}},
	})
}

func TestWhatIsChangedInAPeeringUsersKubeconfigFails(t *testing.T) {
	const kubeconfig, in = "peering-user/kubeconfig.yaml", "peering-user"
	wantEachFails(t, []changed{
		{"no kubeconfig", in,
			without(kubeconfig),
			[]string{peeringConfigStrict, peeringConfigIsLoaded}},
		{"the provider's name", in,
			replaceIn(kubeconfig, ": cluster-a\n", ": cluster-b\n"),
			[]string{peeringNames, peeringConfigAsLiqos}},
		{"another name of the user", in,
			replaceIn(kubeconfig, "cluster-a-user", "liqo-peer-user-cluster-a"),
			[]string{peeringNames, peeringConfigAsLiqos}},
		{"another namespace", in,
			replaceIn(kubeconfig, "namespace: liqo-tenant-cluster-a", "namespace: liqo"),
			[]string{peeringNamespace, peeringConfigAsLiqos}},
		{"another server", in,
			replaceIn(kubeconfig, "https://127.0.0.1:6543", "https://127.0.0.2:6543"),
			[]string{peeringServer, peeringConfigAsLiqos}},
		{"a proxy", in,
			replaceIn(kubeconfig, "    server:", "    proxy-url: http://10.0.0.1:8118\n    server:"),
			[]string{peeringProxy, peeringConfigAsLiqos}},
		{"the control plane's kubeconfig", in,
			copyOver("kubeconfig.yaml", kubeconfig),
			[]string{peeringAsLiqos, peeringKey, peeringKeyCarried, peeringCertificate, peeringNames, peeringMaterial, peeringConfigAsLiqos}},
		{"the control plane's key", in,
			keyOf("by-hand", kubeconfig),
			[]string{peeringPair, peeringTLS, peeringKey}},
		{"a time after the certificate's end", in,
			write("now.txt", "2036-11-20T23:00:00Z"),
			[]string{certificateTrusted, peeringTrusted}},
	})
}

// Only the common name is random, so that the other function makes the same.
func TestTheCSRIsThatOfLiqosFunction(t *testing.T) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	csr, name, err := authentication.GenerateCSRForPeerUser(private, "cluster-a")
	if err != nil {
		t.Fatal(err)
	}
	key, subject, err := parsePeeringCSR(csr, "cluster-a")
	if err != nil {
		t.Fatal(err)
	}
	if err := key.matches(private.Public()); err != nil || subject.commonName != name {
		t.Errorf("found %q, %v, not %q", subject.commonName, err, name)
	}
	same, err := generateControlPlaneCSR(private, liqov1beta1.ClusterID(name))
	if err := all(err, sameBytes(same, csr)); err != nil {
		t.Error(err)
	}
}

// peeringCSR is a CSR by the key of the peering user.
func peeringCSR(commonName, organization string) func(*testing.T, string, []byte) []byte {
	return func(t *testing.T, dir string, _ []byte) []byte {
		name := pkix.Name{CommonName: commonName, Organization: []string{organization}}
		return csrWith(t, name, keyIn(t, filepath.Join(dir, "peering-user")))
	}
}
