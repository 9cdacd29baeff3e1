//go:build !liqo_1_0_0

package main

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rsa"
	"errors"

	authv1beta1 "github.com/liqotech/liqo/apis/authentication/v1beta1"
	liqov1beta1 "github.com/liqotech/liqo/apis/core/v1beta1"
	"github.com/liqotech/liqo/pkg/liqo-controller-manager/authentication"
)

func parseTenantKey(text []byte) (*publicKey, error) {
	public, der, err := authentication.ParseTenantPublicKey(text)
	if err != nil {
		return nil, err
	}
	return &publicKey{whose: "the Tenant's", public: public, toCheckCSR: der}, nil
}

func verifyNonce(key *publicKey, nonce, signature []byte) error {
	verified, err := authentication.VerifyNonce(key.public, nonce, signature)
	if err != nil {
		return err
	}
	if !verified {
		return errors.New("the signature is not right")
	}
	return nil
}

func checkControlPlaneCSR(csr []byte, key *publicKey, consumer liqov1beta1.ClusterID) error {
	return authentication.CheckCSRForControlPlane(csr, key.toCheckCSR, consumer)
}

func isDeterministic(private crypto.PrivateKey) bool {
	switch private.(type) {
	case ed25519.PrivateKey, *rsa.PrivateKey:
		return true
	default:
		return false
	}
}

func generateControlPlaneCSR(private crypto.PrivateKey, consumer liqov1beta1.ClusterID) ([]byte, error) {
	return authentication.GenerateCSRForControlPlane(private, consumer)
}

func generateSliceCSR(private crypto.PrivateKey, slice *authv1beta1.ResourceSlice) ([]byte, error) {
	return authentication.GenerateCSRForResourceSlice(private, slice)
}

func signNonce(private crypto.PrivateKey, nonce []byte) ([]byte, error) {
	return authentication.SignNonce(private, nonce)
}
