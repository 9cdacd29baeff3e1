package main

import (
	"crypto"
	"errors"
	"fmt"

	authv1beta1 "github.com/liqotech/liqo/apis/authentication/v1beta1"
	"github.com/liqotech/liqo/pkg/liqo-controller-manager/authentication/forge"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

func judgeRenews(exchange *exchange, key *publicKey, private crypto.PrivateKey, report *report) {
	for _, file := range inOrder(exchange.renews) {
		judgeRenew(file, exchange.renews[file], exchange, key, private, report)
	}
}

// judgeRenew judges a Renew as it lies on the consumer, or the copy that
// replication has left on the provider.
func judgeRenew(file string, renew *authv1beta1.Renew, exchange *exchange, key *publicKey, private crypto.PrivateKey, report *report) {
	var renewed *renewedIdentity
	found := report.check(file+": it renews an identity of this exchange", func() (err error) {
		renewed, err = findRenewed(renew, exchange)
		return err
	})
	if !found {
		return
	}

	report.check(file+": the name is the Identity's", func() error {
		return named("metadata.name", equal(renew.Name, renewed.name))
	})
	report.check(file+": labels and namespace are right", func() error {
		return checkReplication(renew, exchange)
	})
	report.check(file+": its owner is the Identity, and a copy has none (SetControllerReference)", func() error {
		return checkRenewOwner(renew, renewed, exchange)
	})
	judgeRenewSpec(file, renew, renewed, exchange, key, private, report)

	if params := renew.Status.AuthParams; params != nil {
		judgeAuthParams(file+": the", params, key, renewed.subject, exchange, report)
	}
}

// renewedIdentity is what a Renew is for.
type renewedIdentity struct {
	name    string
	subject subject
	// identity is nil if it is not in the exchange.
	identity *authv1beta1.Identity
	// slice is nil for the control plane.
	slice *authv1beta1.ResourceSlice
}

func findRenewed(renew *authv1beta1.Renew, exchange *exchange) (*renewedIdentity, error) {
	switch renew.Spec.IdentityType {
	case authv1beta1.ControlPlaneIdentityType:
		return &renewedIdentity{
			name:     forge.ControlPlaneIdentityName(exchange.provider),
			subject:  controlPlaneSubject(exchange),
			identity: exchange.identity,
		}, nil
	case authv1beta1.ResourceSliceIdentityType:
		return findRenewedSlice(renew, exchange)
	default:
		return nil, fmt.Errorf("spec.identityType: found %q", renew.Spec.IdentityType)
	}
}

func findRenewedSlice(renew *authv1beta1.Renew, exchange *exchange) (*renewedIdentity, error) {
	if renew.Spec.ResourceSliceRef == nil {
		return nil, errors.New("there is no spec.resourceSliceRef")
	}
	for _, file := range inOrder(exchange.slices) {
		slice := exchange.slices[file]
		if slice.Name != renew.Spec.ResourceSliceRef.Name {
			continue
		}
		renewed := &renewedIdentity{
			name:    forge.ResourceSliceIdentityName(slice),
			subject: sliceSubject(slice),
			slice:   slice,
		}
		for _, identity := range exchange.sliceIdentities {
			if identity.Name == renewed.name {
				renewed.identity = identity
			}
		}
		return renewed, nil
	}
	return nil, fmt.Errorf("there is no slice %q", renew.Spec.ResourceSliceRef.Name)
}

func checkRenewOwner(renew *authv1beta1.Renew, renewed *renewedIdentity, exchange *exchange) error {
	if isCopy(renew) {
		// Its owner lies on another cluster, where no garbage collector sees it.
		if owners := len(renew.OwnerReferences); owners > 0 {
			return fmt.Errorf("found %d owners of a copy, not 0", owners)
		}
		return nil
	}
	known, err := scheme()
	if err != nil {
		return err
	}
	namespace := tenantNamespace(exchange.provider)
	owner := forge.Identity(renewed.name, namespace)
	if renewed.identity != nil {
		owner.UID = renewed.identity.UID
	}
	right := &authv1beta1.Renew{ObjectMeta: metav1.ObjectMeta{Name: renewed.name, Namespace: namespace}}
	if err := controllerutil.SetControllerReference(owner, right, known); err != nil {
		return err
	}
	return checkOwner(renew, &right.OwnerReferences[0])
}
