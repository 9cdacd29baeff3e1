//go:build liqo_1_0_0

package main

import "crypto"

// parseRenewKey reads what a consumer of 1.0.0 writes into a Renew: the same
// raw bytes as into a Tenant. No provider reads them.
func parseRenewKey(raw []byte) (crypto.PublicKey, error) {
	key, err := parseTenantKey(raw)
	if err != nil {
		return nil, err
	}
	return key.public, nil
}
