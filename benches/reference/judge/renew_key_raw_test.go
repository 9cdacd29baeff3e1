//go:build liqo_1_0_0

package main

import (
	"crypto/ed25519"
	"testing"
)

// renewKeyOf is the public key as 1.0.0 writes it into a Renew.
func renewKeyOf(_ *testing.T, private ed25519.PrivateKey) []byte {
	return private.Public().(ed25519.PublicKey)
}
