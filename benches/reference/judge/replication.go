package main

import (
	"errors"
	"fmt"

	liqov1beta1 "github.com/liqotech/liqo/apis/core/v1beta1"
	"github.com/liqotech/liqo/pkg/consts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// isCopy says whether replication has made this object, on the provider.
func isCopy(object metav1.Object) bool {
	return object.GetLabels()[consts.ReplicationStatusLabel] == "true"
}

// checkReplication holds for what the consumer makes and Liqo replicates:
// labels and namespace of the original, or those of the copy.
func checkReplication(object metav1.Object, exchange *exchange) error {
	label := func(key string, right liqov1beta1.ClusterID) error {
		return named("label "+key, equal(object.GetLabels()[key], string(right)))
	}
	if isCopy(object) {
		return all(
			label(consts.ReplicationOriginLabel, exchange.consumer),
			label(consts.RemoteClusterID, exchange.consumer),
			named("metadata.namespace", equalOrAbsent(object.GetNamespace(), tenantNamespace(exchange.consumer))),
		)
	}
	return all(
		label(consts.ReplicationRequestedLabel, consts.ReplicationRequestedLabelValue),
		label(consts.ReplicationDestinationLabel, exchange.provider),
		label(consts.RemoteClusterID, exchange.provider),
		named("metadata.namespace", equalOrAbsent(object.GetNamespace(), tenantNamespace(exchange.provider))),
	)
}

// checkOwner wants the one owner that Liqo gives (SetControllerReference). The
// owner's UID is right if it is known.
func checkOwner(object metav1.Object, right *metav1.OwnerReference) error {
	owners := object.GetOwnerReferences()
	if len(owners) != 1 {
		return fmt.Errorf("found %d owners, not 1", len(owners))
	}
	found := owners[0]
	if found.UID == "" {
		return errors.New("the owner has no UID")
	}
	if right.UID != "" {
		if err := named("uid", equal(found.UID, right.UID)); err != nil {
			return err
		}
	}
	return all(
		named("apiVersion", equal(found.APIVersion, right.APIVersion)),
		named("kind", equal(found.Kind, right.Kind)),
		named("name", equal(found.Name, right.Name)),
		named("controller", same(found.Controller, right.Controller)),
		named("blockOwnerDeletion", same(found.BlockOwnerDeletion, right.BlockOwnerDeletion)),
	)
}
