//go:build liqo_1_0_0 || liqo_1_0_3 || liqo_1_1_2

package main

import (
	"crypto"
	"errors"

	authv1beta1 "github.com/liqotech/liqo/apis/authentication/v1beta1"
)

// judgeRenewSpec wants a request: up to 1.1 the consumer asks for each renewal,
// with a CSR. Liqo's provider has it signed as it is. Here it must pass what
// Liqo checks the first time.
func judgeRenewSpec(file string, renew *authv1beta1.Renew, renewed *renewedIdentity, exchange *exchange, key *publicKey, private crypto.PrivateKey, report *report) {
	report.check(file+": consumer and slice are right", func() error {
		if renewed.slice == nil && renew.Spec.ResourceSliceRef != nil {
			return errors.New("spec.resourceSliceRef: found one for the control plane")
		}
		return named("spec.consumerClusterID", equal(renew.Spec.ConsumerClusterID, exchange.consumer))
	})
	report.check(file+": the public key is the Tenant's", func() error {
		public, err := parseRenewKey(renew.Spec.PublicKey)
		if err != nil {
			return err
		}
		return key.matches(public)
	})

	if renewed.slice != nil {
		slice := renewed.slice.DeepCopy()
		slice.Spec.CSR = renew.Spec.CSR
		judgeSliceCSR(file, slice, exchange, key, private, report)
		return
	}
	report.check(file+": the CSR has the consumer's subject and the Tenant's key (CheckCSRForControlPlane)", func() error {
		if key == nil {
			return errNoTenantKey
		}
		return checkControlPlaneCSR(renew.Spec.CSR, key, exchange.consumer)
	})
	report.check(file+": the CSR is signed by its own key", func() error {
		return checkCSRSignature(renew.Spec.CSR)
	})
	if isDeterministic(private) {
		report.check(file+": the CSR is, byte for byte, the one that Liqo makes with the kubeconfig's key", func() error {
			csr, err := generateControlPlaneCSR(private, exchange.consumer)
			return all(err, sameBytes(renew.Spec.CSR, csr))
		})
	}
}
