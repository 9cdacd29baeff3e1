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

	liqoauth "git.example.com/liqo-auth/liqo-auth/go"
)

// view reads the objects of a peer that are of a watched kind, each once. The module names the
// Namespaces first, by which the list knows the tenant namespaces.
func (r *Reconciler) view(ctx context.Context, peer liqov1beta1.ClusterID) (liqoauth.View, error) {
	view := liqoauth.View{Peer: peer}
	interests, err := r.Side.Interests(ctx, peer)
	if err != nil {
		return view, err
	}
	found := r.bounds.NewList()
	for _, interest := range interests {
		if _, isWatched := r.peers.versions[interest.Kind]; !isWatched {
			continue
		}
		if err := r.read(ctx, interest, found); err != nil {
			return view, fmt.Errorf("read %s: %w", interest.Kind, err)
		}
	}
	objects := found.Objects()
	for i := range objects {
		view.Objects = append(view.Objects, &objects[i])
	}
	return view, nil
}

// read adds what an interest names.
func (r *Reconciler) read(ctx context.Context, interest liqoauth.Interest, to *liqoauth.List) error {
	kind, err := groupVersionKind(interest.APIVersion, interest.Kind)
	if err != nil {
		return err
	}
	if interest.Type == "object" {
		object := unstructured.Unstructured{}
		object.SetGroupVersionKind(kind)
		key := client.ObjectKey{Namespace: interest.Namespace, Name: interest.Name}
		err := r.Reader.Get(ctx, key, &object)
		if err == nil {
			to.Add(object)
		}
		return client.IgnoreNotFound(err)
	}
	var options []client.ListOption
	switch interest.Type {
	case "named":
		options = append(options, client.MatchingFields{"metadata.name": interest.Name})
	case "labelled":
		selector, err := labels.Parse(interest.Selector)
		if err != nil {
			return err
		}
		options = append(options, client.MatchingLabelsSelector{Selector: selector})
	case "inNamespace":
		options = append(options, client.InNamespace(interest.Namespace))
	default:
		return fmt.Errorf("liqoauth: interest %q", interest.Type)
	}
	err = r.list(ctx, kind, options, to)
	if meta.IsNoMatchError(err) {
		// Liqo's modules can be left out.
		return nil
	}
	return err
}

// mostLists is how often a list begins while its pages expire.
const mostLists = 3

// list reads a list, and begins anew if its pages have expired in the meantime.
func (r *Reconciler) list(ctx context.Context, kind schema.GroupVersionKind, options []client.ListOption, to *liqoauth.List) (err error) {
	for range mostLists {
		err = r.readPages(ctx, kind, options, to)
		if !apierrors.IsResourceExpired(err) {
			break
		}
	}
	return err
}

// readPages reads a list page by page. What a peer wrote beyond the bounds, and beyond those of all
// its objects, is let go of before the next page comes.
func (r *Reconciler) readPages(ctx context.Context, kind schema.GroupVersionKind, options []client.ListOption, to *liqoauth.List) error {
	next := ""
	for {
		page := &unstructured.UnstructuredList{}
		page.SetGroupVersionKind(kind)
		of := slices.Concat(options, []client.ListOption{client.Limit(pageOf(kind.Kind)), client.Continue(next)})
		if err := r.Reader.List(ctx, page, of...); err != nil {
			return err
		}
		for i := range page.Items {
			object := &page.Items[i]
			// The items of a list may have no kind.
			object.SetGroupVersionKind(kind)
			to.Add(*object)
		}
		if next = page.GetContinue(); next == "" {
			return nil
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
