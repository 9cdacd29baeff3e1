package controller

import (
	"context"
	"slices"
	"time"

	liqov1beta1 "github.com/liqotech/liqo/apis/core/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// certifier is a [liqoauth.Provider], which compares certificates with the client CAs.
type certifier interface{ SetClientCAs(clientCAs string) }

// clientCAs are the CAs by which the API server lets clients in.
type clientCAs struct {
	provider certifier
	reader   client.Reader
	// pem are those that the provider has.
	pem string
	// isSaid reports whether the log has that they cannot be read.
	isSaid bool
}

// clientCAsAt is the API server's ConfigMap for everybody who verifies its clients as well.
var clientCAsAt = client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: "extension-apiserver-authentication"}

// clientCAsInterval is how often the ConfigMap is read. An administrator changes the CAs once in
// years, and the role that lets everybody read this ConfigMap names it: no watch of all
// ConfigMaps is to be had by it.
const clientCAsInterval = time.Minute

// read gives the provider the CAs as they are now. It reports whether they have changed. While
// they cannot be read, those before them stay.
func (c *clientCAs) read(ctx context.Context) bool {
	found := &unstructured.Unstructured{}
	found.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	err := c.reader.Get(ctx, clientCAsAt, found)
	if err != nil && !apierrors.IsNotFound(err) {
		if !c.isSaid {
			log.FromContext(ctx).Error(err, "the client CAs are not read: no certificate is compared with them")
		}
		c.isSaid = true
		return false
	}
	c.isSaid = false
	pem, _, _ := unstructured.NestedString(found.Object, "data", "client-ca-file")
	if pem == c.pem {
		return false
	}
	c.pem = pem
	c.provider.SetClientCAs(pem)
	return true
}

// follow reads the CAs again and again, and then has each known peer looked at if they have
// changed.
func (r *Reconciler) follow(ctx context.Context, cas *clientCAs, interval time.Duration, changed chan<- event.GenericEvent) error {
	timer := time.NewTicker(interval)
	defer timer.Stop()
	for {
		if cas.read(ctx) {
			for _, peer := range r.peers.all() {
				object := &metav1.PartialObjectMetadata{}
				object.SetName(string(peer))
				select {
				case changed <- event.GenericEvent{Object: object}:
				case <-ctx.Done():
					return nil
				}
			}
		}
		select {
		case <-timer.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// byName requests a look at the peer with the name of the object.
func byName(_ context.Context, object client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: object.GetName()}}}
}

// followClientCAs has the manager read the CAs. It returns the source of looks at peers.
func (r *Reconciler) followClientCAs(provider certifier, with manager.Manager) (source.Source, error) {
	changed := make(chan event.GenericEvent)
	cas := &clientCAs{provider: provider, reader: r.Reader}
	err := with.Add(manager.RunnableFunc(func(ctx context.Context) error {
		return r.follow(ctx, cas, clientCAsInterval, changed)
	}))
	return source.Channel(changed, handler.EnqueueRequestsFromMapFunc(byName)), err
}

// all returns the known peers, sorted.
func (p *peers) all() []liqov1beta1.ClusterID {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	known := make([]liqov1beta1.ClusterID, 0, len(p.known))
	for peer := range p.known {
		known = append(known, peer)
	}
	slices.Sort(known)
	return known
}
