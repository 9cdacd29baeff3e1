package main

import (
	authv1beta1 "github.com/liqotech/liqo/apis/authentication/v1beta1"
	"github.com/liqotech/liqo/pkg/consts"
	"github.com/liqotech/liqo/pkg/liqo-controller-manager/authentication"
	"github.com/liqotech/liqo/pkg/liqo-controller-manager/authentication/forge"
	"k8s.io/utils/ptr"
)

func judgeIdentity(exchange *exchange, key *publicKey, report *report) {
	identity := exchange.identity
	if identity == nil {
		return
	}
	provider := exchange.provider

	report.check("the Identity's name, label, clusterID and type are right", func() error {
		return all(
			named("metadata.name", equal(identity.Name, forge.ControlPlaneIdentityName(provider))),
			named("label "+consts.RemoteClusterID, equal(identity.Labels[consts.RemoteClusterID], string(provider))),
			named("spec.clusterID", equal(identity.Spec.ClusterID, provider)),
			named("spec.type", equal(identity.Spec.Type, authv1beta1.ControlPlaneIdentityType)),
		)
	})
	report.check("the Identity's namespaces are the two tenant namespaces", func() error {
		return all(
			named("metadata.namespace", equalOrAbsent(identity.Namespace, tenantNamespace(provider))),
			named("spec.namespace", equal(ptr.Deref(identity.Spec.Namespace, ""), tenantNamespace(exchange.consumer))),
		)
	})
	judgeAuthParams("the Identity's", &identity.Spec.AuthParams, key, controlPlaneSubject(exchange), exchange, report)
}

// controlPlaneSubject is whom the consumer's certificate names.
func controlPlaneSubject(exchange *exchange) subject {
	return subject{
		commonName:   authentication.CommonNameControlPlaneCSR(exchange.consumer),
		organization: authentication.OrganizationControlPlaneCSR(),
	}
}
