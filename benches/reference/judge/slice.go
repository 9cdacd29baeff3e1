package main

import (
	"crypto"

	authv1beta1 "github.com/liqotech/liqo/apis/authentication/v1beta1"
	"github.com/liqotech/liqo/pkg/liqo-controller-manager/authentication"
	"k8s.io/utils/ptr"
)

func judgeSlices(exchange *exchange, key *publicKey, private crypto.PrivateKey, report *report) {
	for _, file := range inOrder(exchange.slices) {
		judgeSlice(file, exchange.slices[file], exchange, key, private, report)
	}
}

// judgeSlice judges a slice as it lies on the consumer, or the copy that
// replication has left on the provider.
func judgeSlice(file string, slice *authv1beta1.ResourceSlice, exchange *exchange, key *publicKey, private crypto.PrivateKey, report *report) {
	report.check(file+": consumer and provider are right", func() error {
		return all(
			named("spec.consumerClusterID", equal(ptr.Deref(slice.Spec.ConsumerClusterID, ""), exchange.consumer)),
			named("spec.providerClusterID", equal(ptr.Deref(slice.Spec.ProviderClusterID, ""), exchange.provider)),
		)
	})
	report.check(file+": labels and namespace are right", func() error {
		return checkReplication(slice, exchange)
	})
	judgeSliceCSR(file, slice, exchange, key, private, report)

	if params := slice.Status.AuthParams; params != nil && slice.Spec.ConsumerClusterID != nil {
		judgeAuthParams(file+": the", params, key, sliceSubject(slice), exchange, report)
	}
}

// judgeSliceCSR does what Liqo does before it has the CSR of a slice signed.
func judgeSliceCSR(file string, slice *authv1beta1.ResourceSlice, exchange *exchange, key *publicKey, private crypto.PrivateKey, report *report) {
	report.check(file+": the CSR has the slice's subject and the Tenant's key (CheckCSRForResourceSlice)", func() error {
		if exchange.tenant == nil || key == nil {
			return errNoTenantKey
		}
		return authentication.CheckCSRForResourceSlice(exchange.tenant.Spec.PublicKey, slice, true)
	})
	report.check(file+": the CSR is signed by its own key", func() error {
		return checkCSRSignature(slice.Spec.CSR)
	})
	if isDeterministic(private) {
		report.check(file+": the CSR is, byte for byte, the one that Liqo makes with the kubeconfig's key", func() error {
			csr, err := generateSliceCSR(private, slice)
			return all(err, sameBytes(slice.Spec.CSR, csr))
		})
	}
}

// sliceSubject is whom the certificate of a slice names.
func sliceSubject(slice *authv1beta1.ResourceSlice) subject {
	return subject{
		commonName:   authentication.CommonNameResourceSliceCSR(slice),
		organization: authentication.OrganizationResourceSliceCSR(slice),
	}
}
