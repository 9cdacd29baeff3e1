//go:build liqo_1_0

package main

import (
	"crypto"
	"crypto/ed25519"
	"errors"
	"fmt"

	liqov1beta1 "github.com/liqotech/liqo/apis/core/v1beta1"
	"github.com/liqotech/liqo/pkg/liqo-controller-manager/authentication"
)

const liqoVersion = "1.0.0"

// parseTenantKey does what the Tenant controller of 1.0.0 does: it takes the
// bytes for an Ed25519 key. There, another length is a panic.
func parseTenantKey(publicKey []byte) (*tenantKey, error) {
	if len(publicKey) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("found %d bytes, not the %d of a raw Ed25519 key", len(publicKey), ed25519.PublicKeySize)
	}
	return &tenantKey{public: ed25519.PublicKey(publicKey), toCheckCSR: publicKey}, nil
}

func verifyNonce(key *tenantKey, nonce, signature []byte) error {
	if !authentication.VerifyNonce(ed25519.PublicKey(key.toCheckCSR), nonce, signature) {
		return errors.New("the signature is not right")
	}
	return nil
}

func checkControlPlaneCSR(csr []byte, key *tenantKey, consumer liqov1beta1.ClusterID) error {
	return authentication.CheckCSRForControlPlane(csr, key.toCheckCSR, consumer)
}

func isDeterministic(private crypto.PrivateKey) bool {
	_, ok := private.(ed25519.PrivateKey)
	return ok
}

func generateControlPlaneCSR(private crypto.PrivateKey, consumer liqov1beta1.ClusterID) ([]byte, error) {
	return authentication.GenerateCSRForControlPlane(private.(ed25519.PrivateKey), consumer)
}

func signNonce(private crypto.PrivateKey, nonce []byte) ([]byte, error) {
	return authentication.SignNonce(private.(ed25519.PrivateKey), nonce), nil
}
