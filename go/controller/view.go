package controller

import (
	"context"
	"fmt"
	"slices"

	authv1beta1 "github.com/liqotech/liqo/apis/authentication/v1beta1"
	liqov1beta1 "github.com/liqotech/liqo/apis/core/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
		if err != nil {
			return nil, err
		}
		r.bounds.Reduce(&object)
		return []unstructured.Unstructured{object}, nil
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
	found, err := r.list(ctx, kind, options)
	if meta.IsNoMatchError(err) {
		// Liqo's modules can be left out.
		return nil, nil
	}
	return found, err
}

// mostLists is how often a list begins while its pages expire.
const mostLists = 3

// list reads a list, and begins anew if its pages have expired in the meantime.
func (r *Reconciler) list(ctx context.Context, kind schema.GroupVersionKind, options []client.ListOption) (found []unstructured.Unstructured, err error) {
	for range mostLists {
		found, err = r.readPages(ctx, kind, options)
		if !apierrors.IsResourceExpired(err) {
			break
		}
	}
	return found, err
}

// readPages reads a list page by page. What a peer wrote beyond the bounds, and beyond those of all
// its objects, is let go of before the next page comes.
func (r *Reconciler) readPages(ctx context.Context, kind schema.GroupVersionKind, options []client.ListOption) ([]unstructured.Unstructured, error) {
	found := r.bounds.NewList()
	next := ""
	for {
		page := &unstructured.UnstructuredList{}
		page.SetGroupVersionKind(kind)
		of := slices.Concat(options, []client.ListOption{client.Limit(pageOf(kind.Kind)), client.Continue(next)})
		if err := r.Reader.List(ctx, page, of...); err != nil {
			return nil, err
		}
		for i := range page.Items {
			object := &page.Items[i]
			// The items of a list may have no kind.
			object.SetGroupVersionKind(kind)
			found.Add(*object)
		}
		if next = page.GetContinue(); next == "" {
			return found.Objects(), nil
		}
	}
}

// pageOf returns the most objects of a page. Those of kinds that peers write may be large.
func pageOf(kind string) int64 {
	switch kind {
	case authv1beta1.TenantKind, authv1beta1.IdentityKind, authv1beta1.ResourceSliceKind,
		authv1beta1.RenewKind, "NamespaceMap", "Secret":
		return 16
	}
	return 50
}
