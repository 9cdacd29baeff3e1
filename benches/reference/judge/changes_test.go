package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	liqov1beta1 "github.com/liqotech/liqo/apis/core/v1beta1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// change alters one thing in an exchange.
type change = func(t *testing.T, dir string)

func write(file, text string) change {
	return func(t *testing.T, dir string) { writeFile(t, filepath.Join(dir, file), []byte(text)) }
}

func appendTo(file, text string) change {
	return func(t *testing.T, dir string) {
		path := filepath.Join(dir, file)
		writeFile(t, path, append(readFile(t, path), text...))
	}
}

func copyOver(from, to string) change {
	return func(t *testing.T, dir string) {
		writeFile(t, filepath.Join(dir, to), readFile(t, filepath.Join(dir, from)))
	}
}

func replaceIn(file, old, new string) change {
	return func(t *testing.T, dir string) {
		path := filepath.Join(dir, file)
		text := readFile(t, path)
		if !bytes.Contains(text, []byte(old)) {
			t.Fatalf("%s does not hold %q", file, old)
		}
		writeFile(t, path, bytes.ReplaceAll(text, []byte(old), []byte(new)))
	}
}

// without removes a file.
func without(file string) change {
	return func(t *testing.T, dir string) {
		if err := os.Remove(filepath.Join(dir, file)); err != nil {
			t.Fatal(err)
		}
	}
}

// set writes one field of a manifest. A number in the path is an index.
func set(file string, value any, path ...string) change {
	return func(t *testing.T, dir string) {
		manifest := readManifest(t, filepath.Join(dir, file))
		parent(t, manifest, path)[path[len(path)-1]] = value
		writeManifest(t, filepath.Join(dir, file), manifest)
	}
}

// unset removes one field of a manifest.
func unset(file string, path ...string) change {
	return func(t *testing.T, dir string) {
		manifest := readManifest(t, filepath.Join(dir, file))
		fields, name := parent(t, manifest, path), path[len(path)-1]
		if _, ok := fields[name]; !ok {
			t.Fatalf("%s has no %q", file, path)
		}
		delete(fields, name)
		writeManifest(t, filepath.Join(dir, file), manifest)
	}
}

// edit changes one byte field of a manifest.
func edit(file string, with func(t *testing.T, dir string, value []byte) []byte, path ...string) change {
	return func(t *testing.T, dir string) {
		manifest := readManifest(t, filepath.Join(dir, file))
		value, err := base64.StdEncoding.DecodeString(parent(t, manifest, path)[path[len(path)-1]].(string))
		if err != nil {
			t.Fatal(err)
		}
		set(file, base64.StdEncoding.EncodeToString(with(t, dir, value)), path...)(t, dir)
	}
}

// parent is the object in which the last name of the path is a field.
func parent(t *testing.T, manifest map[string]any, path []string) map[string]any {
	t.Helper()
	var value any = manifest
	for _, name := range path[:len(path)-1] {
		switch container := value.(type) {
		case map[string]any:
			value = container[name]
		case []any:
			index, err := strconv.Atoi(name)
			if err != nil || index >= len(container) {
				t.Fatalf("there is no %s of %q", name, path)
			}
			value = container[index]
		}
	}
	fields, ok := value.(map[string]any)
	if !ok {
		t.Fatalf("there is no %q", path)
	}
	return fields
}

func flipBit(_ *testing.T, _ string, value []byte) []byte {
	value[len(value)/2] ^= 1
	return value
}

func shorten(_ *testing.T, _ string, value []byte) []byte { return value[1:] }

// flipBitInPEM flips a bit of the last byte, which belongs to the signature.
func flipBitInPEM(_ *testing.T, _ string, value []byte) []byte {
	block, _ := pem.Decode(value)
	block.Bytes[len(block.Bytes)-1] ^= 1
	return pem.EncodeToMemory(block)
}

// csrOf is Liqo's CSR with the exchange's own key.
func csrOf(id liqov1beta1.ClusterID) func(*testing.T, string, []byte) []byte {
	return func(t *testing.T, dir string, _ []byte) []byte {
		csr, err := generateControlPlaneCSR(keyIn(t, dir), id)
		if err != nil {
			t.Fatal(err)
		}
		return csr
	}
}

func csrWithoutOrganization(t *testing.T, dir string, _ []byte) []byte {
	return csrWith(t, pkix.Name{CommonName: "cluster-a"}, keyIn(t, dir))
}

// csrOfAnotherKey keeps the subject.
func csrOfAnotherKey(t *testing.T, _ string, value []byte) []byte {
	block, _ := pem.Decode(value)
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return csrWith(t, request.Subject, private)
}

func csrWith(t *testing.T, subject pkix.Name, private ed25519.PrivateKey) []byte {
	t.Helper()
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: subject}, private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}

// keyIn is the key in the kubeconfig of that directory.
func keyIn(t *testing.T, dir string) ed25519.PrivateKey {
	t.Helper()
	_, user := kubeconfigIn(t, filepath.Join(dir, "kubeconfig.yaml"))
	block, _ := pem.Decode(user.ClientKeyData)
	private, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return private.(ed25519.PrivateKey)
}

func kubeconfigIn(t *testing.T, path string) (*clientcmdapi.Config, *clientcmdapi.AuthInfo) {
	t.Helper()
	config, err := clientcmd.LoadFromFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return config, config.AuthInfos[config.Contexts[config.CurrentContext].AuthInfo]
}

// keyOf puts another exchange's key into a kubeconfig.
func keyOf(other, file string) change {
	return func(t *testing.T, dir string) {
		_, theirs := kubeconfigIn(t, filepath.Join("testdata", other, "kubeconfig.yaml"))
		config, ours := kubeconfigIn(t, filepath.Join(dir, file))
		ours.ClientKeyData = theirs.ClientKeyData
		text, err := clientcmd.Write(*config)
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(dir, file), text)
	}
}

// caOf puts another exchange's CA into the Identity.
func caOf(other string) change {
	return func(t *testing.T, dir string) { takeAuthParam(t, other, dir, "ca") }
}

// authParamsOf puts another exchange's CA and certificate into the Identity.
func authParamsOf(other string) change {
	return func(t *testing.T, dir string) {
		takeAuthParam(t, other, dir, "ca")
		takeAuthParam(t, other, dir, "signedCRT")
	}
}

func takeAuthParam(t *testing.T, other, dir, name string) {
	t.Helper()
	takeFrom(filepath.Join("testdata", other, "identity.yaml"), "identity.yaml", "spec", "authParams", name)(t, dir)
}

// takeFrom sets one field to what it is in another file.
func takeFrom(path, file string, field ...string) change {
	return func(t *testing.T, dir string) {
		theirs := readManifest(t, path)
		set(file, parent(t, theirs, field)[field[len(field)-1]], field...)(t, dir)
	}
}

// exchangeWithKeyThatEndsInZero is by-hand with such a key in the Tenant. The
// certificate and the kubeconfig keep the old one.
func exchangeWithKeyThatEndsInZero(t *testing.T) string {
	t.Helper()
	dir := exchangeForEveryVersion(t, "by-hand")
	private := keyThatEndsInZero(t)
	public := private.Public().(ed25519.PublicKey)
	for name, value := range map[string]func() ([]byte, error){
		"publicKey": func() ([]byte, error) { return public, nil },
		"csr":       func() ([]byte, error) { return generateControlPlaneCSR(private, "cluster-a") },
		"signature": func() ([]byte, error) { return signNonce(private, readFile(t, filepath.Join(dir, "nonce.txt"))) },
	} {
		made, err := value()
		if err != nil {
			t.Fatal(err)
		}
		set("tenant.yaml", base64.StdEncoding.EncodeToString(made), "spec", name)(t, dir)
	}
	return dir
}

func keyThatEndsInZero(t *testing.T) ed25519.PrivateKey {
	t.Helper()
	for {
		public, private, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		if public[len(public)-1] == 0 {
			return private
		}
	}
}
