package controller

import (
	"context"
	"net/http"
	"slices"
	"testing"

	authv1beta1 "github.com/liqotech/liqo/apis/authentication/v1beta1"
	liqov1beta1 "github.com/liqotech/liqo/apis/core/v1beta1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	liqoauth "git.example.com/liqo-auth/liqo-auth/go"
)

func TestAnObjectLeadsToItsPeers(t *testing.T) {
	provider := library.Provider(liqoauth.ProviderConfig{
		ClusterID: providerID, APIServer: "https://172.19.0.3:6443",
	}, [32]byte{7}, liqoauth.Backends{})
	found, err := newPeers(t.Context(), provider)
	if err != nil {
		t.Fatal(err)
	}
	labelled := func(key, value string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "a", Name: "b", Labels: map[string]string{key: value}}
	}
	found.add("cl-known")
	for _, c := range []struct {
		kind   string
		object client.Object
		want   []liqov1beta1.ClusterID
	}{
		{"Tenant", &authv1beta1.Tenant{ObjectMeta: metav1.ObjectMeta{Name: "cl-one"}}, []liqov1beta1.ClusterID{"cl-one"}},
		{
			"Tenant",
			&authv1beta1.Tenant{ObjectMeta: metav1.ObjectMeta{
				Name: "cl-one", Labels: map[string]string{"liqo.io/remote-cluster-id": "cl-two"},
			}},
			[]liqov1beta1.ClusterID{"cl-one", "cl-two"},
		},
		{"ResourceSlice", &authv1beta1.ResourceSlice{ObjectMeta: labelled("liqo.io/originID", "cl-one")}, []liqov1beta1.ClusterID{"cl-one"}},
		{"Secret", &corev1.Secret{ObjectMeta: labelled("liqo-auth/peer", "cl-one")}, []liqov1beta1.ClusterID{"cl-one"}},
		{
			"Secret",
			&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "liqo-tenant-cl-one", Name: "any"}},
			[]liqov1beta1.ClusterID{"cl-one"},
		},
		{"Secret", &corev1.Secret{ObjectMeta: labelled("app", "other")}, nil},
		{
			"ClusterRole",
			&rbacv1.ClusterRole{ObjectMeta: labelled("app.kubernetes.io/name", "remote-controlplane")},
			[]liqov1beta1.ClusterID{"cl-known"},
		},
		{"ClusterRole", &rbacv1.ClusterRole{ObjectMeta: labelled("app.kubernetes.io/name", "other")}, nil},
	} {
		if peers := found.of(c.kind, c.object); !slices.Equal(peers, c.want) {
			t.Errorf("%s %v: %v instead of %v", c.kind, c.object.GetLabels(), peers, c.want)
		}
	}
}

func TestOnlyPeersWithObjectsAreKnown(t *testing.T) {
	e := newExchange(t, liqoauth.Backends{}, interceptor.Funcs{})
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{
		Name: "liqo-remote-controlplane", Labels: map[string]string{"app.kubernetes.io/name": "remote-controlplane"},
	}}
	if err := e.atProvider.Create(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	e.invite(t)
	for range 4 {
		if err := e.round(t); err != nil {
			t.Fatal(err)
		}
	}
	// Anybody who may write a label can name a peer.
	for _, stranger := range []liqov1beta1.ClusterID{"cl-stranger", "No Cluster ID"} {
		if _, err := e.ofProvider.Reconcile(t.Context(), request(stranger)); err != nil {
			t.Fatal(err)
		}
	}
	if known := e.ofProvider.peers.of("ClusterRole", role); !slices.Equal(known, []liqov1beta1.ClusterID{consumerID}) {
		t.Errorf("%v", known)
	}
	if len(e.ofProvider.sessions) != 1 {
		t.Errorf("%d sessions", len(e.ofProvider.sessions))
	}
}

func TestNothingIsReadThatIsNotWatched(t *testing.T) {
	read := map[string]bool{}
	e := newExchange(t, liqoauth.Backends{}, interceptor.Funcs{
		List: func(ctx context.Context, from client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			read[list.GetObjectKind().GroupVersionKind().Kind] = true
			return from.List(ctx, list, options...)
		},
	})
	e.invite(t)
	if err := e.round(t); err != nil {
		t.Fatal(err)
	}
	watches, err := e.provider.Watches(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, watch := range watches {
		delete(read, watch.Kind)
	}
	// The rights of a controller are those for what it watches.
	if len(read) != 0 {
		t.Errorf("read without a watch: %v", read)
	}
}

// counting counts what a manager runs.
type counting struct {
	manager.Manager
	added int
}

func (c *counting) Add(runnable manager.Runnable) error {
	c.added++
	return c.Manager.Add(runnable)
}

func TestBothSidesRegisterTheirWatches(t *testing.T) {
	e := newExchange(t, liqoauth.Backends{}, interceptor.Funcs{})
	mapper := e.atProvider.RESTMapper()
	made, err := manager.New(&rest.Config{Host: "https://127.0.0.1:1"}, manager.Options{
		Metrics:        server.Options{BindAddress: "0"},
		Scheme:         e.atProvider.Scheme(),
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return mapper, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, reconciler := range map[string]*Reconciler{"provider": e.ofProvider, "consumer": e.ofConsumer} {
		if err := reconciler.SetupWithManager(t.Context(), made, name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A provider follows the client CAs if it is told to.
	for name, reconciler := range map[string]*Reconciler{"following": e.ofProvider, "none": e.ofConsumer} {
		reconciler.FollowClientCAs = true
		counted := &counting{Manager: made}
		if err := reconciler.SetupWithManager(t.Context(), counted, name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		want := map[string]int{"following": 2, "none": 1}[name]
		if counted.added != want {
			t.Errorf("%s: the manager runs %d things instead of %d", name, counted.added, want)
		}
	}
}
