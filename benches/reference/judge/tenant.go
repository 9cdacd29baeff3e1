package main

import "github.com/liqotech/liqo/pkg/consts"

// judgeTenant does what Liqo's webhook and Tenant controller do before they
// have a certificate signed. The key is nil if it could not be read.
func judgeTenant(exchange *exchange, report *report) *publicKey {
	tenant := exchange.tenant
	if tenant == nil {
		return nil
	}
	consumer := exchange.consumer

	report.check("the Tenant's name, label and clusterID are the consumer's", func() error {
		return all(
			named("metadata.name", equal(tenant.Name, string(consumer))),
			named("label "+consts.RemoteClusterID, equal(tenant.Labels[consts.RemoteClusterID], string(consumer))),
			named("spec.clusterID", equal(tenant.Spec.ClusterID, consumer)),
		)
	})
	report.check("the Tenant's namespace is the consumer's tenant namespace, or left to the one who applies it", func() error {
		return all(
			named("metadata.namespace", equalOrAbsent(tenant.Namespace, tenantNamespace(consumer))),
			named("status.tenantNamespace", equalOrAbsent(tenant.Status.TenantNamespace, tenantNamespace(consumer))),
		)
	})

	var key *publicKey
	report.check("the Tenant's public key is one that Liqo "+liqoVersion+" reads", func() (err error) {
		key, err = parseTenantKey(tenant.Spec.PublicKey)
		return err
	})
	report.check("the Tenant's signature is over the nonce (VerifyNonce)", func() error {
		if key == nil {
			return errNoTenantKey
		}
		return verifyNonce(key, exchange.nonce, tenant.Spec.Signature)
	})
	report.check("the Tenant's CSR has the consumer's subject and key (CheckCSRForControlPlane)", func() error {
		if key == nil {
			return errNoTenantKey
		}
		return checkControlPlaneCSR(tenant.Spec.CSR, key, consumer)
	})
	// The API server does this when the CSR becomes an object there.
	report.check("the Tenant's CSR is signed by its own key", func() error {
		return checkCSRSignature(tenant.Spec.CSR)
	})
	return key
}
