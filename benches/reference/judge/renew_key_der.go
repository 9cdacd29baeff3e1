//go:build liqo_1_0_3 || liqo_1_1_2

package main

import (
	"crypto"
	"crypto/x509"

	"github.com/liqotech/liqo/pkg/liqo-controller-manager/authentication"
)

// parseRenewKey reads the DER that a consumer writes into a Renew from 1.0.2
// to 1.1, or a form of a Tenant's key. No provider reads it.
func parseRenewKey(der []byte) (crypto.PublicKey, error) {
	if public, err := x509.ParsePKIXPublicKey(der); err == nil {
		return public, nil
	}
	public, _, err := authentication.ParseTenantPublicKey(der)
	return public, err
}
