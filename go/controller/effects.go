package controller

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"liqoauth"
)

// apply applies the effects of a step in their order, up to the first that fails. It
// reports a conflict if another writer was first.
func (r *Reconciler) apply(ctx context.Context, step *liqoauth.Step) (conflict bool, err error) {
	if step.Absent != nil && !step.IsSettled() {
		// Another program may have made it since it was read.
		if isThere, err := r.exists(ctx, step.Absent); isThere || err != nil {
			return isThere, err
		}
	}
	for _, effect := range step.Effects {
		err := r.applyOne(ctx, effect)
		// The namespace of a new object may be missing. That is no conflict.
		isGone := apierrors.IsNotFound(err) && effect.Type != "create"
		switch {
		case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), isGone:
			return true, nil
		case err != nil:
			return false, fmt.Errorf("%s: %w", effect.Request.Path, err)
		}
	}
	return false, nil
}

// exists reports whether the API server has the object.
func (r *Reconciler) exists(ctx context.Context, id *liqoauth.ObjectReference) (bool, error) {
	version, ok := r.peers.versions[id.Kind]
	if !ok {
		return false, fmt.Errorf("liqoauth: a %s, which no watch names", id.Kind)
	}
	found, err := r.read(ctx, liqoauth.Interest{
		Type: "named", APIVersion: version.String(), Kind: id.Kind, Name: id.Name,
	})
	for i := range found {
		if found[i].GetNamespace() == id.Namespace {
			return true, err
		}
	}
	return false, err
}

func (r *Reconciler) applyOne(ctx context.Context, effect liqoauth.Effect) error {
	switch effect.Type {
	case "create", "replace":
		object := &unstructured.Unstructured{}
		if err := json.Unmarshal(effect.Object, &object.Object); err != nil {
			return err
		}
		if effect.Type == "create" {
			return r.Writer.Create(ctx, object)
		}
		return r.Writer.Update(ctx, object)
	case "patch":
		object, err := r.named(effect)
		if err != nil {
			return err
		}
		// The patch has the version that the object must have.
		patch := client.RawPatch(types.MergePatchType, effect.Request.Body)
		if effect.Part == "main" {
			return r.Writer.Patch(ctx, object, patch)
		}
		return r.Writer.SubResource(effect.Part).Patch(ctx, object, patch)
	case "delete":
		object, err := r.named(effect)
		if err != nil {
			return err
		}
		return r.Writer.Delete(ctx, object, preconditions(effect.Version))
	default:
		return fmt.Errorf("liqoauth: effect %q", effect.Type)
	}
}

// named returns an object that has only the name of the effect's object.
func (r *Reconciler) named(effect liqoauth.Effect) (*unstructured.Unstructured, error) {
	version, ok := r.peers.versions[effect.ID.Kind]
	if !ok {
		return nil, fmt.Errorf("liqoauth: an effect on a %s, which no watch names", effect.ID.Kind)
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(version.WithKind(effect.ID.Kind))
	object.SetNamespace(effect.ID.Namespace)
	object.SetName(effect.ID.Name)
	return object, nil
}

func preconditions(version *liqoauth.Version) client.DeleteOption {
	found := metav1.Preconditions{}
	if version != nil && version.UID != "" {
		uid := types.UID(version.UID)
		found.UID = &uid
	}
	if version != nil && version.ResourceVersion != "" {
		found.ResourceVersion = &version.ResourceVersion
	}
	return client.Preconditions(found)
}
