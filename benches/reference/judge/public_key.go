package main

import (
	"crypto"
	"errors"
)

// publicKey is a key with which others are compared.
type publicKey struct {
	// whose says it in a sentence.
	whose  string
	public crypto.PublicKey
	// toCheckCSR is what Liqo's own functions want for it.
	toCheckCSR []byte
}

var errNoTenantKey = errors.New("there is no Tenant's key to compare with")

func (k *publicKey) name() string {
	if k == nil {
		return "the Tenant's"
	}
	return k.whose
}

// matches compares the key with one found elsewhere.
func (k *publicKey) matches(other crypto.PublicKey) error {
	if k == nil {
		return errNoTenantKey
	}
	own, ok := k.public.(interface{ Equal(crypto.PublicKey) bool })
	if !ok || !own.Equal(other) {
		return errors.New("it is not " + k.whose + " key")
	}
	return nil
}

// publicOf is nil where there is no private key.
func publicOf(private crypto.PrivateKey) crypto.PublicKey {
	signer, ok := private.(crypto.Signer)
	if !ok {
		return nil
	}
	return signer.Public()
}
