package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	liqov1beta1 "github.com/liqotech/liqo/apis/core/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	liqoauth "git.example.com/liqo-auth/liqo-auth/go"
)

// SetupWithManager watches what the side names. The manager's cache gets metadata
// alone: no Secret's content.
func (r *Reconciler) SetupWithManager(ctx context.Context, manager manager.Manager, name string) error {
	watches, err := r.Side.Watches(ctx)
	if err != nil {
		return err
	}
	controller := builder.ControllerManagedBy(manager).Named(name)
	byKind := map[schema.GroupVersionKind][]func(client.Object) bool{}
	var kinds []schema.GroupVersionKind
	for _, watch := range watches {
		kind, err := groupVersionKind(watch.APIVersion, watch.Kind)
		if err != nil {
			return err
		}
		selector, err := labels.Parse(watch.Selector)
		if err != nil {
			return err
		}
		if byKind[kind] == nil {
			kinds = append(kinds, kind)
		}
		byKind[kind] = append(byKind[kind], func(object client.Object) bool {
			isThere := watch.Namespace == "" || watch.Namespace == object.GetNamespace()
			return isThere && selector.Matches(labels.Set(object.GetLabels()))
		})
	}
	for _, kind := range kinds {
		object := &metav1.PartialObjectMetadata{}
		object.SetGroupVersionKind(kind)
		covers := byKind[kind]
		isCovered := func(object client.Object) bool {
			return slices.ContainsFunc(covers, func(covers func(client.Object) bool) bool { return covers(object) })
		}
		requests := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, object client.Object) []reconcile.Request {
			// An object that loses a label concerns its peer, too: its old form comes
			// here as well.
			if !isCovered(object) {
				return nil
			}
			return r.requests(kind.Kind, object)
		})
		controller.WatchesMetadata(object, requests, builder.WithPredicates(predicate.ResourceVersionChangedPredicate{}))
	}
	if provider, isProvider := r.Side.(certifier); isProvider && r.FollowClientCAs {
		changes, err := r.followClientCAs(provider, manager)
		if err != nil {
			return fmt.Errorf("liqoauth: %w", err)
		}
		controller.WatchesRawSource(changes)
	}
	return controller.Complete(r)
}

// requests returns a request for each peer that an object concerns.
func (r *Reconciler) requests(kind string, object client.Object) []reconcile.Request {
	var requests []reconcile.Request
	for _, peer := range r.peers.of(kind, object) {
		name := types.NamespacedName{Name: string(peer)}
		requests = append(requests, reconcile.Request{NamespacedName: name})
	}
	return requests
}

// peers leads from objects to the peers whose interests name them.
type peers struct {
	interests []liqoauth.Interest
	// versions are the API versions of the kinds that are watched. Nothing else is read:
	// the other kinds of the interests serve administrators alone.
	versions map[string]schema.GroupVersion

	mutex sync.Mutex
	// known are the peers that have objects, and those that are being looked at.
	known map[liqov1beta1.ClusterID]bool
}

// probe stands for the peer in the interests that are inverted.
const probe = "p0r9o8b7e6"

func newPeers(ctx context.Context, side Side) (*peers, error) {
	interests, err := side.Interests(ctx, probe)
	if err != nil {
		return nil, err
	}
	watches, err := side.Watches(ctx)
	if err != nil {
		return nil, err
	}
	found := &peers{
		interests: interests,
		versions:  map[string]schema.GroupVersion{},
		known:     map[liqov1beta1.ClusterID]bool{},
	}
	for _, watch := range watches {
		kind, err := groupVersionKind(watch.APIVersion, watch.Kind)
		if err != nil {
			return nil, err
		}
		found.versions[watch.Kind] = kind.GroupVersion()
	}
	return found, nil
}

func (p *peers) add(peer liqov1beta1.ClusterID) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.known[peer] = true
}

func (p *peers) forget(peer liqov1beta1.ClusterID) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	delete(p.known, peer)
}

// hasObjects reports whether an object of the view names its peer.
func (p *peers) hasObjects(view liqoauth.View) bool {
	return slices.ContainsFunc(view.Objects, func(found runtime.Object) bool {
		object, ok := found.(client.Object)
		return ok && slices.ContainsFunc(p.interests, func(interest liqoauth.Interest) bool {
			peer, _ := namedBy(interest, object)
			return interest.Kind == object.GetObjectKind().GroupVersionKind().Kind && peer == string(view.Peer)
		})
	})
}

// of returns the peers that an object concerns, sorted: those that it names, and every
// known peer if an interest names it for all of them.
func (p *peers) of(kind string, object client.Object) []liqov1beta1.ClusterID {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	found := map[liqov1beta1.ClusterID]bool{}
	for _, interest := range p.interests {
		if interest.Kind != kind {
			continue
		}
		peer, isForAll := namedBy(interest, object)
		if peer != "" {
			found[liqov1beta1.ClusterID(peer)] = true
		}
		if isForAll {
			for peer := range p.known {
				found[peer] = true
			}
		}
	}
	sorted := make([]liqov1beta1.ClusterID, 0, len(found))
	for peer := range found {
		sorted = append(sorted, peer)
	}
	slices.Sort(sorted)
	return sorted
}

// namedBy returns the peer in whose interest an object is, or whether it is in that of
// all peers.
func namedBy(interest liqoauth.Interest, object client.Object) (peer string, isForAll bool) {
	switch interest.Type {
	case "object":
		if interest.Namespace == object.GetNamespace() {
			return between(interest.Name, object.GetName())
		}
	case "named":
		return between(interest.Name, object.GetName())
	case "labelled":
		key, value, _ := strings.Cut(interest.Selector, "=")
		if label, ok := object.GetLabels()[key]; ok {
			return between(value, label)
		}
	case "inNamespace":
		// Without a namespace, it may concern anybody. Those whom it names have labels.
		if interest.Namespace != "" {
			return between(interest.Namespace, object.GetNamespace())
		}
	}
	return "", false
}

// between returns what stands in the text at the probe's place in the pattern. Without
// the probe, it reports whether both are the same.
func between(pattern, text string) (peer string, isSame bool) {
	before, after, hasProbe := strings.Cut(pattern, probe)
	if !hasProbe {
		return "", pattern == text
	}
	rest, hasBefore := strings.CutPrefix(text, before)
	peer, hasAfter := strings.CutSuffix(rest, after)
	if !hasBefore || !hasAfter {
		return "", false
	}
	return peer, false
}

func groupVersionKind(apiVersion, kind string) (schema.GroupVersionKind, error) {
	version, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return schema.GroupVersionKind{}, fmt.Errorf("liqoauth: %w", err)
	}
	return version.WithKind(kind), nil
}
