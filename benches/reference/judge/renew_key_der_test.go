//go:build liqo_1_0_3 || liqo_1_1_2

package main

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"testing"
)

// renewKeyOf is the public key as Liqo writes it into a Renew from 1.0.2.
func renewKeyOf(t *testing.T, private ed25519.PrivateKey) []byte {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(private.Public())
	return must(t, der, err)
}

func TestOtherFormsOfARenewsKeyPass(t *testing.T) {
	const renew, in = "renew-controlplane.yaml", "resourceslice"
	wantEachFails(t, withRenews([]changed{
		{"raw", in,
			edit(renew, func(_ *testing.T, _ string, der []byte) []byte { return der[len(der)-32:] }, "spec", "publicKey"),
			nil},
		{"PEM", in,
			edit(renew, func(_ *testing.T, _ string, der []byte) []byte {
				return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
			}, "spec", "publicKey"),
			nil},
	}))
}
