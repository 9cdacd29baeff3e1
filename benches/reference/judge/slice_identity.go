package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	authv1beta1 "github.com/liqotech/liqo/apis/authentication/v1beta1"
	"github.com/liqotech/liqo/pkg/consts"
	"github.com/liqotech/liqo/pkg/liqo-controller-manager/authentication/forge"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

func judgeSliceIdentities(exchange *exchange, key *publicKey, report *report) {
	for _, file := range inOrder(exchange.sliceIdentities) {
		judgeSliceIdentity(file, exchange.sliceIdentities[file], exchange, key, report)
	}
}

// judgeSliceIdentity compares the Identity with the one that Liqo's consumer
// makes of the slice.
func judgeSliceIdentity(file string, identity *authv1beta1.Identity, exchange *exchange, key *publicKey, report *report) {
	var slice *authv1beta1.ResourceSlice
	var right *authv1beta1.Identity
	forged := report.check(file+": it is the Identity of a slice that was granted", func() (err error) {
		of := sliceFile + strings.TrimPrefix(file, sliceIdentityFile)
		if slice = exchange.slices[of]; slice == nil {
			return fmt.Errorf("there is no %s", of)
		}
		right, err = forgeSliceIdentity(slice, exchange)
		return err
	})
	if !forged {
		return
	}

	report.check(file+": name, labels, clusterID and type are right", func() error {
		return all(
			named("metadata.name", equal(identity.Name, right.Name)),
			checkLabels(identity, right),
			named("spec.clusterID", equal(identity.Spec.ClusterID, right.Spec.ClusterID)),
			named("spec.type", equal(identity.Spec.Type, right.Spec.Type)),
		)
	})
	report.check(file+": it lies in the consumer's tenant namespace, and names none", func() error {
		return all(
			named("metadata.namespace", equalOrAbsent(identity.Namespace, right.Namespace)),
			named("spec.namespace", equal(ptr.Deref(identity.Spec.Namespace, ""), ptr.Deref(right.Spec.Namespace, ""))),
		)
	})
	report.check(file+": its owner is the slice (SetControllerReference)", func() error {
		return checkOwner(identity, &right.OwnerReferences[0])
	})
	report.check(file+": its authParams are the slice's", func() error {
		if !equality.Semantic.DeepEqual(identity.Spec.AuthParams, right.Spec.AuthParams) {
			return errors.New("they differ")
		}
		return nil
	})
	judgeAuthParams(file+": the", &identity.Spec.AuthParams, key, sliceSubject(slice), exchange, report)
}

// forgeSliceIdentity does what Liqo's consumer does with a slice.
func forgeSliceIdentity(slice *authv1beta1.ResourceSlice, exchange *exchange) (*authv1beta1.Identity, error) {
	if slice.Status.AuthParams == nil {
		return nil, errors.New("the slice has no authParams")
	}
	if slice.Spec.ConsumerClusterID == nil {
		return nil, errors.New("the slice has no consumerClusterID")
	}
	known, err := scheme()
	if err != nil {
		return nil, err
	}
	identity := forge.Identity(forge.ResourceSliceIdentityName(slice), tenantNamespace(exchange.provider))
	forge.MutateIdentity(identity, exchange.provider, authv1beta1.ResourceSliceIdentityType, slice.Status.AuthParams, nil)
	identity.Labels[consts.ResourceSliceNameLabelKey] = slice.Name
	return identity, controllerutil.SetControllerReference(original(slice, exchange), identity, known)
}

// original is the slice where the consumer has it. Of a copy, neither the
// namespace nor the UID is the original's.
func original(slice *authv1beta1.ResourceSlice, exchange *exchange) *authv1beta1.ResourceSlice {
	owner := slice.DeepCopy()
	owner.Namespace = tenantNamespace(exchange.provider)
	if isCopy(slice) {
		owner.UID = ""
	}
	return owner
}

// checkLabels wants at least the labels that are right.
func checkLabels(object, right metav1.Object) error {
	for _, key := range inOrder(right.GetLabels()) {
		if err := named("label "+key, equal(object.GetLabels()[key], right.GetLabels()[key])); err != nil {
			return err
		}
	}
	return nil
}

// judgeSliceKubeconfigs judges the kubeconfigs of the slices' Identities.
func judgeSliceKubeconfigs(exchange *exchange, key *publicKey, report *report) {
	for _, path := range exchange.sliceKubeconfigs {
		file := filepath.Base(path)
		whose := file + ": the kubeconfig"
		used := useKubeconfig(path, file, whose, report)
		if used == nil {
			continue
		}
		report.check(whose+"'s key is the Tenant's", func() error {
			return used.hasKey(key)
		})
		of := sliceIdentityFile + strings.TrimPrefix(file, sliceKubeconfigFile)
		identity := exchange.sliceIdentities[of]
		found := report.check(file+": it is the kubeconfig of a slice's Identity", func() error {
			if identity == nil {
				return fmt.Errorf("there is no %s", of)
			}
			return nil
		})
		if found {
			judgeContent(whose, used, kubeconfigOf(identity), report)
		}
	}
}
