//go:build !liqo_1_0_0

package main

import "testing"

func TestPEMKeysPass(t *testing.T) {
	for _, name := range []string{"by-hand", "resourceslice", "rsa-and-proxy"} {
		t.Run(name, func(t *testing.T) {
			wantFailed(t, exchangeAsWritten(t, name))
		})
	}
}

func TestAKeyThatEndsInZeroPasses(t *testing.T) {
	wantFailed(t, exchangeWithKeyThatEndsInZero(t), certificateKey, kubeconfigKey, csrAsLiqos, signatureAsLiqos)
}
