package main

import (
	"bytes"
	"encoding/pem"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// The words by which a test names the checks that must fail.
const (
	tenantRead        = "tenant.yaml is read"
	tenantNames       = "the Tenant's name, label and clusterID"
	tenantNamespaces  = "the Tenant's namespace"
	tenantKeyRead     = "the Tenant's public key"
	signatureVerified = "(VerifyNonce)"
	csrChecked        = "(CheckCSRForControlPlane)"
	csrSigned         = "the Tenant's CSR is signed by its own key"
	csrAsLiqos        = "the Tenant's CSR is, byte for byte"
	signatureAsLiqos  = "the Tenant's signature is, byte for byte"

	identityRead       = "identity.yaml is read"
	identityNames      = "the Identity's name, label, clusterID and type"
	identityNamespaces = "the Identity's namespaces"
	identityServer     = "the Identity's API server"
	identityProxy      = "the Identity's proxy"
	certificateKey     = "the Identity's certificate carries the Tenant's key"
	certificateSubject = "the Identity's certificate names"
	certificateTrusted = "the Identity's certificate is verified"

	kubeconfigStrict    = "kubeconfig.yaml has no field"
	kubeconfigPair      = "(tls.X509KeyPair)"
	kubeconfigTLS       = "(TLSConfigFor)"
	kubeconfigKey       = "the kubeconfig's key is the Tenant's"
	kubeconfigNames     = "the kubeconfig's names"
	kubeconfigServer    = "the kubeconfig's server"
	kubeconfigProxy     = "the kubeconfig's proxy"
	kubeconfigNamespace = "the kubeconfig's namespace"
	kubeconfigMaterial  = "the kubeconfig's CA and certificate"
	kubeconfigAsLiqos   = "the kubeconfig is, byte for byte"
)

// What Liqo wrote must pass, in the form that every version takes.
func TestLiqosOwnObjectsPass(t *testing.T) {
	for _, name := range []string{"by-hand", "resourceslice", "peering-user"} {
		t.Run(name, func(t *testing.T) {
			wantFailed(t, exchangeForEveryVersion(t, name))
		})
	}
}

func TestWhatIsChangedFails(t *testing.T) {
	wantEachFails(t, []changed{
		{"one bit of the signature", "by-hand",
			edit("tenant.yaml", flipBit, "spec", "signature"),
			[]string{signatureVerified, signatureAsLiqos}},
		{"the nonce of another exchange", "by-hand",
			write("nonce.txt", strings.Repeat("A", 86)+"=="),
			[]string{signatureVerified, signatureAsLiqos}},
		{"a final newline in the nonce", "by-hand",
			appendTo("nonce.txt", "\n"),
			[]string{"nonce.txt", signatureVerified, signatureAsLiqos}},
		{"the CSR of another cluster ID", "by-hand",
			edit("tenant.yaml", csrOf("cluster-z"), "spec", "csr"),
			[]string{csrChecked, csrAsLiqos}},
		{"the CSR of another key", "by-hand",
			edit("tenant.yaml", csrOfAnotherKey, "spec", "csr"),
			[]string{csrChecked, csrAsLiqos}},
		{"a CSR without organization, on which Liqo panics", "by-hand",
			edit("tenant.yaml", csrWithoutOrganization, "spec", "csr"),
			[]string{csrChecked, csrAsLiqos}},
		{"one bit of the CSR's signature, which Liqo leaves to the API server", "by-hand",
			edit("tenant.yaml", flipBitInPEM, "spec", "csr"),
			[]string{csrSigned, csrAsLiqos}},
		{"another public key", "by-hand",
			edit("tenant.yaml", flipBit, "spec", "publicKey"),
			[]string{signatureVerified, csrChecked, certificateKey, kubeconfigKey}},
		{"a public key that is too short", "by-hand",
			edit("tenant.yaml", shorten, "spec", "publicKey"),
			[]string{tenantKeyRead, signatureVerified, csrChecked, certificateKey, kubeconfigKey}},
		{"another label on the Tenant", "by-hand",
			set("tenant.yaml", "cluster-z", "metadata", "labels", "liqo.io/remote-cluster-id"),
			[]string{tenantNames}},
		{"another name of the Tenant", "by-hand",
			set("tenant.yaml", "cluster-z", "metadata", "name"),
			[]string{tenantNames}},
		{"another namespace of the Tenant", "by-hand",
			set("tenant.yaml", "liqo-tenant-cluster-z", "metadata", "namespace"),
			[]string{tenantNamespaces}},
		{"an unknown field in the Tenant", "by-hand",
			set("tenant.yaml", "x", "spec", "unknown"),
			[]string{tenantRead, identityProxy, certificateKey, kubeconfigKey}},
		{"a field of the Tenant in another case", "by-hand",
			set("tenant.yaml", "Active", "spec", "TenantCondition"),
			[]string{tenantRead, identityProxy, certificateKey, kubeconfigKey}},
		{"a field of the Tenant twice", "by-hand",
			appendTo("tenant.yaml", "kind: Tenant\n"),
			[]string{tenantRead, identityProxy, certificateKey, kubeconfigKey}},
		{"a second document after the Tenant", "by-hand",
			appendTo("tenant.yaml", "---\nkind: Tenant\n"),
			[]string{tenantRead, identityProxy, certificateKey, kubeconfigKey}},

		{"another type of the Identity", "by-hand",
			set("identity.yaml", "ResourceSlice", "spec", "type"),
			[]string{identityNames}},
		{"another clusterID of the Identity", "by-hand",
			set("identity.yaml", "cluster-z", "spec", "clusterID"),
			[]string{identityNames, kubeconfigNames, kubeconfigAsLiqos}},
		{"another namespace in the Identity", "by-hand",
			set("identity.yaml", "liqo-tenant-cluster-z", "spec", "namespace"),
			[]string{identityNamespaces, kubeconfigNamespace, kubeconfigAsLiqos}},
		{"an API server without TLS", "by-hand",
			set("identity.yaml", "http://127.0.0.1:6543", "spec", "authParams", "apiServer"),
			[]string{identityServer, kubeconfigServer, kubeconfigAsLiqos}},
		{"a proxy that nobody asked for", "by-hand",
			set("identity.yaml", "http://10.0.0.1:8118", "spec", "authParams", "proxyURL"),
			[]string{identityProxy, kubeconfigProxy, kubeconfigAsLiqos}},
		{"the certificate and CA of another exchange", "by-hand",
			authParamsOf("rsa-and-proxy"),
			[]string{certificateKey, certificateSubject, kubeconfigMaterial, kubeconfigAsLiqos}},
		{"the CA of another exchange", "by-hand",
			caOf("rsa-and-proxy"),
			[]string{certificateTrusted, kubeconfigMaterial, kubeconfigAsLiqos}},
		{"no CA", "by-hand",
			set("identity.yaml", "", "spec", "authParams", "ca"),
			[]string{certificateTrusted, kubeconfigMaterial, kubeconfigAsLiqos}},
		{"a time after the certificate's end", "by-hand",
			write("now.txt", "2036-11-20T23:00:00Z"),
			[]string{certificateTrusted}},
		{"an unknown field in the Identity", "by-hand",
			set("identity.yaml", "x", "spec", "unknown"),
			[]string{identityRead}},
		{"a Tenant instead of the Identity", "by-hand",
			copyOver("tenant.yaml", "identity.yaml"),
			[]string{identityRead}},

		{"another server in the kubeconfig", "by-hand",
			replaceIn("kubeconfig.yaml", "https://127.0.0.1:6543", "https://127.0.0.2:6543"),
			[]string{kubeconfigServer, kubeconfigAsLiqos}},
		{"another namespace in the kubeconfig", "by-hand",
			replaceIn("kubeconfig.yaml", "namespace: liqo-tenant-cluster-a", "namespace: default"),
			[]string{kubeconfigNamespace, kubeconfigAsLiqos}},
		{"a proxy in the kubeconfig", "by-hand",
			replaceIn("kubeconfig.yaml", "    server:", "    proxy-url: http://10.0.0.1:8118\n    server:"),
			[]string{kubeconfigProxy, kubeconfigAsLiqos}},
		{"another name of the user", "by-hand",
			replaceIn("kubeconfig.yaml", "controlplane-cluster-b", "someone"),
			[]string{kubeconfigNames, kubeconfigAsLiqos}},
		{"the key of another exchange", "by-hand",
			keyOf("rsa-and-proxy", "kubeconfig.yaml"),
			[]string{kubeconfigPair, kubeconfigTLS, kubeconfigKey}},
		{"an unknown field in the kubeconfig", "by-hand",
			appendTo("kubeconfig.yaml", "unknown: x\n"),
			[]string{kubeconfigStrict, kubeconfigAsLiqos}},
	})
}

// changed is an exchange of testdata in which one thing was changed.
type changed struct {
	title string
	in    string
	apply change
	// want are the checks that must fail, and no others.
	want []string
}

func wantEachFails(t *testing.T, changes []changed) {
	t.Helper()
	for _, change := range changes {
		t.Run(change.title, func(t *testing.T) {
			dir := exchangeForEveryVersion(t, change.in)
			change.apply(t, dir)
			wantFailed(t, dir, change.want...)
		})
	}
}

func TestExitCodes(t *testing.T) {
	good := exchangeForEveryVersion(t, "by-hand")
	bad := exchangeForEveryVersion(t, "by-hand")
	write("nonce.txt", "")(t, bad)
	for _, call := range []struct {
		args []string
		code int
		last string
	}{
		{[]string{good}, 0, "35 passed, 0 failed"},
		{[]string{bad}, 1, "32 passed, 3 failed"},
		{[]string{t.TempDir()}, 1, "0 passed, 1 failed"},
		{nil, 2, ""},
		{[]string{good, bad}, 2, ""},
		{[]string{filepath.Join(good, "tenant.yaml")}, 2, ""},
		{[]string{filepath.Join(good, "nothing")}, 2, ""},
	} {
		var stdout, stderr bytes.Buffer
		if code := run(call.args, &stdout, &stderr); code != call.code {
			t.Errorf("judge %q: found exit code %d, not %d", call.args, code, call.code)
		}
		lines := strings.Split(strings.TrimSpace(stdout.String()), "\n")
		if last := lines[len(lines)-1]; last != call.last {
			t.Errorf("judge %q: found the last line %q, not %q", call.args, last, call.last)
		}
		if (call.code == 2) != (stderr.Len() > 0) {
			t.Errorf("judge %q: found on the error output %q", call.args, stderr.String())
		}
	}
}

// wantFailed wants exactly these checks to fail, and all others to pass.
func wantFailed(t *testing.T, dir string, want ...string) {
	t.Helper()
	var stdout bytes.Buffer
	report := &report{out: &stdout}
	judge(dir, report)
	var failed []string
	for line := range strings.Lines(stdout.String()) {
		if strings.HasPrefix(line, "FAILED ") {
			failed = append(failed, strings.TrimSpace(line))
		}
	}
	for _, line := range failed {
		if !slices.ContainsFunc(want, func(what string) bool { return strings.Contains(line, what) }) {
			t.Errorf("unexpected: %s", line)
		}
	}
	for _, what := range want {
		if !slices.ContainsFunc(failed, func(line string) bool { return strings.Contains(line, what) }) {
			t.Errorf("passed, but must fail: %s", what)
		}
	}
	if report.failed != len(failed) || report.passed == 0 {
		t.Errorf("found %d passed, %d failed, with %d lines of failures", report.passed, report.failed, len(failed))
	}
}

// exchangeForEveryVersion copies what Liqo 1.2.0 wrote, with the Tenant's key in
// the raw form, which 1.0.0 takes too. Nothing else depends on the form.
func exchangeForEveryVersion(t *testing.T, name string) string {
	t.Helper()
	dir := exchangeAsWritten(t, name)
	edit("tenant.yaml", func(t *testing.T, _ string, key []byte) []byte {
		block, _ := pem.Decode(key)
		return block.Bytes[len(block.Bytes)-32:]
	}, "spec", "publicKey")(t, dir)
	return dir
}

func exchangeAsWritten(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", name))); err != nil {
		t.Fatal(err)
	}
	return dir
}

func readManifest(t *testing.T, path string) map[string]any {
	t.Helper()
	manifest := map[string]any{}
	if err := yaml.Unmarshal(readFile(t, path), &manifest); err != nil {
		t.Fatal(err)
	}
	return manifest
}

func writeManifest(t *testing.T, path string, manifest map[string]any) {
	t.Helper()
	text, err := yaml.Marshal(manifest)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, path, text)
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func writeFile(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
