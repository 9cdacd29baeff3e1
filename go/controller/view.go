package controller

import (
	"context"
	"fmt"

	liqov1beta1 "github.com/liqotech/liqo/apis/core/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"liqoauth"
)

// view reads the objects of a peer that are of a watched kind, each once.
func (r *Reconciler) view(ctx context.Context, peer liqov1beta1.ClusterID) (liqoauth.View, error) {
	view := liqoauth.View{Peer: peer}
	interests, err := r.Side.Interests(ctx, peer)
	if err != nil {
		return view, err
	}
	seen := map[string]bool{}
	for _, interest := range interests {
		if _, isWatched := r.peers.versions[interest.Kind]; !isWatched {
			continue
		}
		found, err := r.read(ctx, interest)
		if err != nil {
			return view, fmt.Errorf("read %s: %w", interest.Kind, err)
		}
		for i := range found {
			object := &found[i]
			place := object.GetKind() + "/" + object.GetNamespace() + "/" + object.GetName()
			if !seen[place] {
				seen[place] = true
				view.Objects = append(view.Objects, object)
			}
		}
	}
	return view, nil
}

func (r *Reconciler) read(ctx context.Context, interest liqoauth.Interest) ([]unstructured.Unstructured, error) {
	kind, err := groupVersionKind(interest.APIVersion, interest.Kind)
	if err != nil {
		return nil, err
	}
	if interest.Type == "object" {
		object := unstructured.Unstructured{}
		object.SetGroupVersionKind(kind)
		key := client.ObjectKey{Namespace: interest.Namespace, Name: interest.Name}
		err := r.Reader.Get(ctx, key, &object)
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return []unstructured.Unstructured{object}, err
	}
	var options []client.ListOption
	switch interest.Type {
	case "named":
		options = append(options, client.MatchingFields{"metadata.name": interest.Name})
	case "labelled":
		selector, err := labels.Parse(interest.Selector)
		if err != nil {
			return nil, err
		}
		options = append(options, client.MatchingLabelsSelector{Selector: selector})
	case "inNamespace":
		options = append(options, client.InNamespace(interest.Namespace))
	default:
		return nil, fmt.Errorf("liqoauth: interest %q", interest.Type)
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind)
	err = r.Reader.List(ctx, list, options...)
	if meta.IsNoMatchError(err) {
		// Liqo's modules can be left out.
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		// The items of a list may have no kind.
		list.Items[i].SetGroupVersionKind(kind)
	}
	return list.Items, nil
}
