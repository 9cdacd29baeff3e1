package liqoauth

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"strings"
	"testing"

	authv1beta1 "github.com/liqotech/liqo/apis/authentication/v1beta1"
	liqov1beta1 "github.com/liqotech/liqo/apis/core/v1beta1"
)

// vector is what Liqo's own functions made.
type vector struct {
	ID                string                `json:"id"`
	Algorithm         string                `json:"algorithm"`
	ConsumerClusterID liqov1beta1.ClusterID `json:"consumerClusterID"`
	PrivateKeyPEM     string                `json:"privateKeyPEM"`
	PublicKeyPEM      string                `json:"publicKeyPEM"`
	Nonce             string                `json:"nonce"`
	Signature         []byte                `json:"signature"`
	CSRPEM            string                `json:"csrPEM"`
	SliceName         string                `json:"sliceName"`
	SliceCommonName   string                `json:"sliceCommonName"`
	SliceOrganization string                `json:"sliceOrganization"`
	SliceCSRPEM       string                `json:"sliceCsrPEM"`
}

func vectors(t testing.TB) []vector {
	t.Helper()
	var file struct {
		Vectors []vector `json:"vectors"`
	}
	raw := readFile(t, "../tests/vectors/liqo-1.2.0/functions.json")
	if err := json.Unmarshal(raw, &file); err != nil || len(file.Vectors) == 0 {
		t.Fatal(err)
	}
	return file.Vectors
}

func (v vector) slice() *authv1beta1.ResourceSlice {
	slice := &authv1beta1.ResourceSlice{}
	slice.Name = v.SliceName
	slice.Spec.ConsumerClusterID = &v.ConsumerClusterID
	slice.Spec.CSR = []byte(v.SliceCSRPEM)
	return slice
}

func TestLiqosOutputByteForByte(t *testing.T) {
	for _, vector := range vectors(t) {
		t.Run(vector.ID, func(t *testing.T) {
			block, _ := pem.Decode([]byte(vector.PrivateKeyPEM))
			key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
			if err != nil {
				t.Fatal(err)
			}
			public, der, err := ParseTenantPublicKey([]byte(vector.PublicKeyPEM))
			if err != nil {
				t.Fatal(err)
			}
			csr, err := GenerateCSRForControlPlane(key, vector.ConsumerClusterID)
			if err != nil {
				t.Fatal(err)
			}
			slice := vector.slice()
			sliceCSR, err := GenerateCSRForResourceSlice(key, slice)
			if err != nil {
				t.Fatal(err)
			}
			signature, err := SignNonce(key, []byte(vector.Nonce))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(vector.Algorithm, "ECDSA") {
				// An ECDSA signature has a random part.
				if string(csr) != vector.CSRPEM || string(sliceCSR) != vector.SliceCSRPEM {
					t.Errorf("another request:\n%s%s", csr, sliceCSR)
				}
				if !bytes.Equal(signature, vector.Signature) {
					t.Errorf("another signature: %x", signature)
				}
			}
			for _, signature := range [][]byte{signature, vector.Signature} {
				if ok, err := VerifyNonce(public, []byte(vector.Nonce), signature); !ok || err != nil {
					t.Errorf("%v %v", ok, err)
				}
			}
			if ok, err := VerifyNonce(public, []byte(honestNonce), signature); ok || err != nil {
				t.Errorf("a signature over another nonce: %v %v", ok, err)
			}
			for _, csr := range []string{string(csr), vector.CSRPEM} {
				if err := CheckCSRForControlPlane([]byte(csr), der, vector.ConsumerClusterID); err != nil {
					t.Error(err)
				}
			}
			for _, check := range []bool{true, false} {
				if err := CheckCSRForResourceSlice([]byte(vector.PublicKeyPEM), slice, check); err != nil {
					t.Error(err)
				}
			}
			if CommonNameResourceSliceCSR(slice) != vector.SliceCommonName ||
				OrganizationResourceSliceCSR(slice) != vector.SliceOrganization {
				t.Error("another subject")
			}
		})
	}
}

func TestARequestIsVerifiedWithoutTheTenantsKey(t *testing.T) {
	all := vectors(t)
	slice := all[0].slice()
	block, _ := pem.Decode(slice.Spec.CSR)
	block.Bytes[len(block.Bytes)-1] ^= 1
	slice.Spec.CSR = pem.EncodeToMemory(block)
	err := CheckCSRForResourceSlice(nil, slice, false)
	var failure *Error
	if !errors.As(err, &failure) || failure.Fault != "PeerMisbehaved" || failure.Rule == 0 {
		t.Errorf("%v", err)
	}
	// An empty key is no permission for any key.
	if err := CheckCSRForResourceSlice(nil, all[0].slice(), true); !errors.Is(err, Code("public-key-refused")) {
		t.Errorf("%v", err)
	}
}

func TestOnlyNoncesAreSigned(t *testing.T) {
	for _, text := range []string{"", "hello", "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJhZG1pbiJ9"} {
		_, err := SignNonce(newKey(t), []byte(text))
		var failure *Error
		if !errors.As(err, &failure) || failure.Rule != 8 || !errors.Is(err, failure.Code) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestVerifyTenant(t *testing.T) {
	library, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	var honest corpusCase
	if err := json.Unmarshal(readFile(t, corpus+"/T000-honest-ed25519.json"), &honest); err != nil {
		t.Fatal(err)
	}
	var tenant authv1beta1.Tenant
	if err := json.Unmarshal(honest.Tenant, &tenant); err != nil {
		t.Fatal(err)
	}
	tenant.TypeMeta.Kind = ""
	verified, err := library.VerifyTenant(t.Context(), &tenant, tenant.Spec.ClusterID, []byte(honest.Nonce))
	if err != nil || verified.ClusterID != tenant.Spec.ClusterID || !bytes.Equal(verified.CSR, tenant.Spec.CSR) {
		t.Errorf("%v %+v", err, verified)
	}
	_, err = library.VerifyTenant(t.Context(), &tenant, "cl-other", []byte(honest.Nonce))
	if !errors.Is(err, Code("name-mismatch")) {
		t.Errorf("%v", err)
	}
	_, err = library.VerifyTenant(t.Context(), &tenant, tenant.Spec.ClusterID, []byte(vectors(t)[0].Nonce))
	if !errors.Is(err, Code("nonce-signature-wrong")) {
		t.Errorf("%v", err)
	}
}
