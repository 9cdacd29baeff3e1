package main

import (
	"maps"
	"slices"

	authv1beta1 "github.com/liqotech/liqo/apis/authentication/v1beta1"
	liqov1beta1 "github.com/liqotech/liqo/apis/core/v1beta1"
	"github.com/liqotech/liqo/pkg/consts"
	"github.com/liqotech/liqo/pkg/liqo-controller-manager/authentication"
	"k8s.io/utils/ptr"
)

func judgeSlices(exchange *exchange, key *tenantKey, report *report) {
	for _, name := range slices.Sorted(maps.Keys(exchange.slices)) {
		judgeSlice(name, exchange.slices[name], exchange, key, report)
	}
}

// judgeSlice judges a slice as it lies on the consumer, or the copy that
// replication has left on the provider.
func judgeSlice(name string, slice *authv1beta1.ResourceSlice, exchange *exchange, key *tenantKey, report *report) {
	report.check(name+": consumer and provider are right", func() error {
		return all(
			named("spec.consumerClusterID", equal(ptr.Deref(slice.Spec.ConsumerClusterID, ""), exchange.consumer)),
			named("spec.providerClusterID", equal(ptr.Deref(slice.Spec.ProviderClusterID, ""), exchange.provider)),
		)
	})
	report.check(name+": labels and namespace are right", func() error {
		return checkSliceMetadata(slice, exchange)
	})
	report.check(name+": the CSR has the slice's subject and the Tenant's key (CheckCSRForResourceSlice)", func() error {
		if exchange.tenant == nil || key == nil {
			return errNoTenantKey
		}
		return authentication.CheckCSRForResourceSlice(exchange.tenant.Spec.PublicKey, slice, true)
	})
	report.check(name+": the CSR is signed by its own key", func() error {
		return checkCSRSignature(slice.Spec.CSR)
	})

	if params := slice.Status.AuthParams; params != nil && slice.Spec.ConsumerClusterID != nil {
		judgeAuthParams(name+": the", params, key, subject{
			commonName:   authentication.CommonNameResourceSliceCSR(slice),
			organization: authentication.OrganizationResourceSliceCSR(slice),
		}, exchange.now, report)
	}
}

func checkSliceMetadata(slice *authv1beta1.ResourceSlice, exchange *exchange) error {
	label := func(key string, right liqov1beta1.ClusterID) error {
		return named("label "+key, equal(slice.Labels[key], string(right)))
	}
	if slice.Labels[consts.ReplicationStatusLabel] == "true" {
		return all(
			label(consts.ReplicationOriginLabel, exchange.consumer),
			label(consts.RemoteClusterID, exchange.consumer),
			named("metadata.namespace", equalOrAbsent(slice.Namespace, tenantNamespace(exchange.consumer))),
		)
	}
	return all(
		label(consts.ReplicationRequestedLabel, consts.ReplicationRequestedLabelValue),
		label(consts.ReplicationDestinationLabel, exchange.provider),
		label(consts.RemoteClusterID, exchange.provider),
		named("metadata.namespace", equalOrAbsent(slice.Namespace, tenantNamespace(exchange.provider))),
	)
}
