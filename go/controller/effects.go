package controller

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	liqoauth "git.example.com/liqo-auth/liqo-auth/go"
)

// effectsOf is a session as far as it is told of effects.
type effectsOf interface {
	Confirm(found runtime.Object) error
	Applied(stored runtime.Object) error
	Overtaken()
}

// apply applies the effects of a step in their order, up to the first that fails, and tells
// the session. It reports whether all of them are applied. If another writer was first, the
// session looks again.
func (r *Reconciler) apply(ctx context.Context, session effectsOf, step *liqoauth.Next) (areApplied bool, err error) {
	if step.Absent != nil {
		// Another program may have made it since it was read.
		found, err := r.find(ctx, step.Absent)
		if err != nil {
			return false, err
		}
		if err := session.Confirm(found); err != nil || found != nil {
			return false, err
		}
	}
	for _, effect := range step.Effects {
		stored, err := r.applyOne(ctx, effect)
		// The namespace of a new object may be missing. That is no conflict.
		isGone := apierrors.IsNotFound(err) && effect.Type != "create"
		switch {
		case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), isGone:
			session.Overtaken()
			return false, nil
		case err != nil:
			return false, fmt.Errorf("%s: %w", effect.Request.Path, err)
		}
		if err := session.Applied(stored); err != nil {
			return false, err
		}
	}
	return true, nil
}

// find returns the object, or nil if the API server does not have it.
func (r *Reconciler) find(ctx context.Context, id *liqoauth.ObjectReference) (runtime.Object, error) {
	version, ok := r.peers.versions[id.Kind]
	if !ok {
		return nil, fmt.Errorf("liqoauth: a %s, which no watch names", id.Kind)
	}
	named := r.bounds.NewList()
	err := r.read(ctx, liqoauth.Interest{
		Type: "named", APIVersion: version.String(), Kind: id.Kind, Name: id.Name,
	}, named)
	if err != nil {
		return nil, err
	}
	found := named.Objects()
	for i := range found {
		if found[i].GetNamespace() == id.Namespace {
			return &found[i], nil
		}
	}
	return nil, nil
}

// applyOne applies an effect. It returns the object as the API server has it then, or nil
// after a deletion: a finalizer may keep the object.
func (r *Reconciler) applyOne(ctx context.Context, effect liqoauth.Effect) (runtime.Object, error) {
	switch effect.Type {
	case "create", "replace":
		object := &unstructured.Unstructured{}
		if err := json.Unmarshal(effect.Object, &object.Object); err != nil {
			return nil, err
		}
		if effect.Type == "create" {
			return object, r.Writer.Create(ctx, object)
		}
		return object, r.Writer.Update(ctx, object)
	case "patch":
		object, err := r.named(effect)
		if err != nil {
			return nil, err
		}
		// The patch has the version that the object must have.
		patch := client.RawPatch(types.MergePatchType, effect.Request.Body)
		if effect.Part == "main" {
			return object, r.Writer.Patch(ctx, object, patch)
		}
		return object, r.Writer.SubResource(effect.Part).Patch(ctx, object, patch)
	case "delete":
		object, err := r.named(effect)
		if err != nil {
			return nil, err
		}
		return nil, r.Writer.Delete(ctx, object, preconditions(effect.Version))
	default:
		return nil, fmt.Errorf("liqoauth: effect %q", effect.Type)
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
