//go:build !liqo_1_0_0 && !liqo_1_0_3 && !liqo_1_1_2

package main

import (
	"encoding/base64"
	"testing"
)

const (
	renewSpec      = "renew-controlplane.yaml: the spec"
	renewSliceSpec = "renew-mypool.yaml: the spec"
)

func TestLiqosOwnRenewsPass(t *testing.T) {
	wantFailed(t, exchangeAsWritten(t, "renewal"))
	wantFailed(t, exchangeForEveryVersion(t, "renewal"))
}

func TestWhatIsChangedInARenewFails(t *testing.T) {
	const renew, in = "renew-controlplane.yaml", "renewal"
	some := base64.StdEncoding.EncodeToString([]byte("some"))
	wantEachFails(t, append(changesOfRenew(t, in), []changed{
		{"another consumer", in,
			set(renew, "cluster-z", "spec", "consumerClusterID"),
			[]string{renewSpec}},
		{"a CSR", in,
			set(renew, some, "spec", "csr"),
			[]string{renewSpec}},
		{"a public key", in,
			set(renew, some, "spec", "publicKey"),
			[]string{renewSpec}},
		{"a slice", in,
			set(renew, map[string]any{"name": "mypool"}, "spec", "resourceSliceRef"),
			[]string{renewSpec}},
	}...))
}

// Slices have no Renew from 1.2: the provider answers in their status.
func TestARequestForASliceFails(t *testing.T) {
	dir := exchangeForEveryVersion(t, "resourceslice")
	writeManifest(t, dir+"/renew-mypool.yaml", map[string]any{
		"apiVersion": "authentication.liqo.io/v1beta1",
		"kind":       "Renew",
		"metadata": map[string]any{
			"name": "resourceslice-mypool",
			"labels": map[string]any{
				"liqo.io/originID": "cluster-a", "liqo.io/remote-cluster-id": "cluster-a", "liqo.io/replicated": "true",
			},
		},
		"spec": map[string]any{
			"consumerClusterID": "cluster-a",
			"identityType":      "ResourceSlice",
			"resourceSliceRef":  map[string]any{"name": "mypool"},
		},
	})
	wantFailed(t, dir, renewSliceSpec)
}
