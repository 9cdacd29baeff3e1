//go:build !liqo_1_0_0 && !liqo_1_0_3 && !liqo_1_1_2

package main

import (
	"crypto"
	"fmt"

	authv1beta1 "github.com/liqotech/liqo/apis/authentication/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// judgeRenewSpec wants the spec of a channel: from 1.2 the provider renews by
// itself, for the control plane, and a Renew carries no request.
func judgeRenewSpec(file string, renew *authv1beta1.Renew, _ *renewedIdentity, exchange *exchange, _ *publicKey, _ crypto.PrivateKey, report *report) {
	report.check(file+": the spec is that of a channel, with the consumer and the type alone", func() error {
		right := authv1beta1.RenewSpec{
			ConsumerClusterID: exchange.consumer,
			IdentityType:      authv1beta1.ControlPlaneIdentityType,
		}
		found := renew.Spec
		if !equality.Semantic.DeepEqual(found, right) {
			return fmt.Errorf("found consumer %q, type %q, a key of %d bytes, a CSR of %d bytes, slice %v",
				found.ConsumerClusterID, found.IdentityType, len(found.PublicKey), len(found.CSR), found.ResourceSliceRef)
		}
		return nil
	})
}
