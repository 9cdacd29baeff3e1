//go:build liqo_1_0_0

package main

import "testing"

func TestPEMKeysFail(t *testing.T) {
	wantFailed(t, exchangeAsWritten(t, "by-hand"),
		tenantKeyRead, signatureVerified, csrChecked, certificateKey, kubeconfigKey)
	wantFailed(t, exchangeAsWritten(t, "rsa-and-proxy"),
		tenantKeyRead, signatureVerified, csrChecked, certificateKey, kubeconfigKey)
}

// 1.0.0 drops a final zero byte of the key before it compares it with the CSR's.
func TestAKeyThatEndsInZeroFails(t *testing.T) {
	wantFailed(t, exchangeWithKeyThatEndsInZero(t),
		csrChecked, certificateKey, kubeconfigKey, csrAsLiqos, signatureAsLiqos)
}
