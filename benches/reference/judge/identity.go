package main

import (
	"errors"
	"fmt"
	"net/url"

	authv1beta1 "github.com/liqotech/liqo/apis/authentication/v1beta1"
	"github.com/liqotech/liqo/pkg/consts"
	"github.com/liqotech/liqo/pkg/liqo-controller-manager/authentication"
	"github.com/liqotech/liqo/pkg/liqo-controller-manager/authentication/forge"
	"k8s.io/utils/ptr"
)

func judgeIdentity(exchange *exchange, key *tenantKey, report *report) {
	identity := exchange.identity
	if identity == nil {
		return
	}
	provider := exchange.provider
	params := &identity.Spec.AuthParams

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
	report.check("the Identity's API server is an https URL", func() error {
		return checkServer(params.APIServer)
	})
	report.check("the Identity's proxy is the one that the Tenant asked for", func() error {
		if exchange.tenant == nil {
			return errors.New("there is no Tenant to compare with")
		}
		return equal(ptr.Deref(params.ProxyURL, ""), ptr.Deref(exchange.tenant.Spec.ProxyURL, ""))
	})

	judgeAuthParams("the Identity's", params, key, subject{
		commonName:   authentication.CommonNameControlPlaneCSR(exchange.consumer),
		organization: authentication.OrganizationControlPlaneCSR(),
	}, exchange.now, report)
}

func checkServer(text string) error {
	server, err := url.Parse(text)
	if err != nil {
		return err
	}
	if server.Scheme != "https" || server.Hostname() == "" || server.User != nil {
		return fmt.Errorf("found %q, not https://HOST without user information", text)
	}
	return nil
}
