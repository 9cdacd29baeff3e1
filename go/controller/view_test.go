package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	authv1beta1 "github.com/liqotech/liqo/apis/authentication/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	liqoauth "git.example.com/liqo-auth/liqo-auth/go"
)

// pages is an API server that gives its objects of one kind in pages.
type pages struct {
	kind   string
	number int
	// make makes the object of this number.
	make func(int) map[string]any
	// expired is how many pages after the first are expired from now on.
	expired int
	// limits are those of the lists, and begun is how many lists have begun.
	limits []int64
	begun  int
	// failure is what every list fails with, and failureByName what each other reading does.
	failure, failureByName error
}

func (p *pages) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	found, isUnstructured := object.(*unstructured.Unstructured)
	if !isUnstructured || found.GetKind() != p.kind {
		return apierrors.NewNotFound(authv1beta1.TenantGroupResource, key.Name)
	}
	if p.failureByName != nil {
		return p.failureByName
	}
	found.Object = p.make(0)
	return nil
}

func (p *pages) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	var asked client.ListOptions
	asked.ApplyOptions(options)
	found, isUnstructured := list.(*unstructured.UnstructuredList)
	if !isUnstructured || found.GetKind() != p.kind {
		return nil
	}
	p.limits = append(p.limits, asked.Limit)
	if p.failure != nil {
		return p.failure
	}
	first := 0
	if asked.Continue == "" {
		p.begun++
	} else {
		if p.expired > 0 {
			p.expired--
			return apierrors.NewResourceExpired("the token is too old")
		}
		var err error
		if first, err = strconv.Atoi(asked.Continue); err != nil {
			return err
		}
	}
	last := min(first+int(asked.Limit), p.number)
	for i := first; i < last; i++ {
		found.Items = append(found.Items, unstructured.Unstructured{Object: p.make(i)})
	}
	if last < p.number {
		found.SetContinue(strconv.Itoa(last))
	}
	return nil
}

// slice is a ResourceSlice as a list has it, without its kind.
func slice(number int) map[string]any {
	return map[string]any{
		"metadata": map[string]any{
			"name": fmt.Sprintf("slice-%d", number), "namespace": "liqo-tenant-cl-consumer",
			"uid": fmt.Sprintf("uid-%d", number), "resourceVersion": strconv.Itoa(number + 1),
			"labels": map[string]any{
				"liqo.io/remote-cluster-id": "cl-consumer", "liqo.io/origin-cluster-id": "cl-consumer",
			},
			"managedFields": []any{map[string]any{"manager": "liqoctl"}},
		},
		"spec": map[string]any{"class": "default"},
	}
}

func newPaged(t *testing.T, reader client.Reader) *Reconciler {
	t.Helper()
	side := library.Provider(liqoauth.ProviderConfig{
		ClusterID: providerID, APIServer: "https://172.19.0.3:6443",
	}, [32]byte{7}, liqoauth.Backends{})
	reconciler, err := New(t.Context(), Config{Side: side, Reader: reader})
	if err != nil {
		t.Fatal(err)
	}
	return reconciler
}

func TestEachPageOfAListIsRead(t *testing.T) {
	for _, number := range []int{0, 1, 16, 17, 64} {
		server := &pages{kind: authv1beta1.ResourceSliceKind, number: number, make: slice}
		view, err := newPaged(t, server).view(t.Context(), consumerID)
		if err != nil || len(view.Objects) != number {
			t.Fatalf("%d: %v, %d objects", number, err, len(view.Objects))
		}
		for i, found := range view.Objects {
			object := found.(*unstructured.Unstructured)
			if object.GetName() != fmt.Sprintf("slice-%d", i) || object.GetKind() != server.kind {
				t.Errorf("%d: %v", i, object.Object)
			}
			if object.GetManagedFields() != nil || object.Object["spec"] == nil {
				t.Errorf("%d: %v", i, object.Object)
			}
		}
		if slices.ContainsFunc(server.limits, func(limit int64) bool { return limit != 16 }) {
			t.Errorf("%d: the pages have %v", number, server.limits)
		}
	}
}

func TestThePagesOfKindsThatPeersWriteAreSmall(t *testing.T) {
	for kind, expected := range map[string]int64{
		"Tenant": 16, "Identity": 16, "ResourceSlice": 16, "Renew": 16, "NamespaceMap": 16, "Secret": 16,
		"Namespace": 50, "ClusterRole": 50, "RoleBinding": 50,
	} {
		if found := pageOf(kind); found != expected {
			t.Errorf("%s: %d", kind, found)
		}
	}
}

func TestAListWhosePagesExpireBeginsAnew(t *testing.T) {
	server := &pages{kind: authv1beta1.ResourceSliceKind, number: 40, make: slice}
	reconciler := newPaged(t, server)
	if _, err := reconciler.view(t.Context(), consumerID); err != nil {
		t.Fatal(err)
	}
	// Several interests read the kind.
	usual := server.begun
	for expired := range mostLists + 1 {
		server.begun, server.expired = 0, expired
		view, err := reconciler.view(t.Context(), consumerID)
		if expired == mostLists {
			if !apierrors.IsResourceExpired(err) || server.begun != mostLists {
				t.Errorf("%v after %d lists", err, server.begun)
			}
			continue
		}
		if err != nil || len(view.Objects) != 40 || server.begun != usual+expired {
			t.Errorf("%v, %d objects, %d lists", err, len(view.Objects), server.begun)
		}
	}
}

func TestAListThatFailsIsReadOnce(t *testing.T) {
	for _, kind := range []string{authv1beta1.ResourceSliceKind, "Secret"} {
		server := &pages{kind: kind, failure: errors.New("the server is down")}
		_, err := newPaged(t, server).view(t.Context(), consumerID)
		if !errors.Is(err, server.failure) || len(server.limits) > 1 {
			t.Errorf("%v, %d lists", err, len(server.limits))
		}
	}
	byName := &pages{kind: "Secret", failureByName: errors.New("the server is down")}
	if _, err := newPaged(t, byName).view(t.Context(), consumerID); !errors.Is(err, byName.failureByName) {
		t.Errorf("%v", err)
	}
	// Liqo's modules can be left out.
	server := &pages{kind: authv1beta1.ResourceSliceKind, failure: &meta.NoKindMatchError{}}
	if view, err := newPaged(t, server).view(t.Context(), consumerID); err != nil || len(view.Objects) != 0 {
		t.Errorf("%v, %d objects", err, len(view.Objects))
	}
}

// large is an object with 1.4 MB of its own in one field.
func large(field string, object map[string]any) map[string]any {
	bulk := strings.Repeat("A", 1_400_000)
	switch field {
	case "annotations":
		object["metadata"].(map[string]any)["annotations"] = map[string]any{"a": bulk}
	default:
		object[field] = map[string]any{"a": bulk}
	}
	return object
}

func live() uint64 {
	runtime.GC()
	var found runtime.MemStats
	runtime.ReadMemStats(&found)
	return found.HeapAlloc
}

// A peer may write objects of up to 1.5 MB, and an API server stores as many as it writes.
func TestLargeObjectsOfAPeerTakeLittleMemory(t *testing.T) {
	for _, field := range []string{"spec", "status", "annotations"} {
		t.Run(field, func(t *testing.T) {
			server := &pages{kind: authv1beta1.ResourceSliceKind, number: 64, make: func(i int) map[string]any {
				return large(field, slice(i))
			}}
			view := viewOfLittleMemory(t, server)
			for i, found := range view.Objects {
				object := found.(*unstructured.Unstructured)
				metadata := slice(i)["metadata"].(map[string]any)
				delete(metadata, "managedFields")
				kept := object.Object["metadata"].(map[string]any)
				isSame := kept["name"] == metadata["name"] && kept["namespace"] == metadata["namespace"] &&
					kept["uid"] == metadata["uid"] && kept["resourceVersion"] == metadata["resourceVersion"] &&
					len(kept) == len(metadata) && len(object.GetLabels()) == 2
				if !isSame || object.GetKind() != server.kind || object.GetAPIVersion() == "" {
					t.Errorf("%v", slices.Collect(maps.Keys(kept)))
				}
			}
		})
	}
}

// viewOfLittleMemory returns the view of a server's objects, after it has been measured.
func viewOfLittleMemory(t *testing.T, server *pages) liqoauth.View {
	t.Helper()
	reconciler := newPaged(t, server)
	before := live()
	view, err := reconciler.view(t.Context(), consumerID)
	if err != nil || len(view.Objects) != server.number {
		t.Fatalf("%v, %d objects", err, len(view.Objects))
	}
	if grown := int64(live()) - int64(before); grown > 48<<20 {
		t.Errorf("%d bytes more are live", grown)
	}
	runtime.KeepAlive(view)
	return view
}

// Each of the objects is within the bounds of one.
func TestManyObjectsOfAPeerTakeLittleMemory(t *testing.T) {
	server := &pages{kind: authv1beta1.ResourceSliceKind, number: 1000, make: func(i int) map[string]any {
		object := slice(i)
		object["spec"] = map[string]any{"class": strings.Repeat("A", 250_000)}
		return object
	}}
	viewOfLittleMemory(t, server)
}

// labelled is an API server with a tenant namespace of another name than Liqo's.
type labelled struct{ *pages }

func (l labelled) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if found, ok := list.(*unstructured.UnstructuredList); ok && found.GetKind() == "Namespace" {
		namespace := unstructured.Unstructured{}
		namespace.SetName("elsewhere")
		namespace.SetLabels(map[string]string{
			"liqo.io/tenant-namespace": "true", "liqo.io/remote-cluster-id": string(consumerID),
		})
		found.Items = append(found.Items, namespace)
		return nil
	}
	return l.pages.List(ctx, list, options...)
}

// A peer may write Secrets in its tenant namespace, whatever the name of this namespace is.
func TestManySecretsInATenantNamespaceOfAnotherNameTakeLittleMemory(t *testing.T) {
	server := labelled{&pages{kind: "Secret", number: 400, make: func(i int) map[string]any {
		object := slice(i)
		object["apiVersion"], object["kind"] = "v1", "Secret"
		object["data"] = map[string]any{"bulk": strings.Repeat("A", 250_000)}
		object["metadata"].(map[string]any)["namespace"] = "elsewhere"
		return object
	}}}
	view, err := newPaged(t, server).view(t.Context(), consumerID)
	whole := 0
	for _, found := range view.Objects {
		if found.(*unstructured.Unstructured).Object["data"] != nil {
			whole++
		}
	}
	if err != nil || len(view.Objects) != 401 || whole != 16 {
		t.Errorf("%v, %d objects, %d of them whole", err, len(view.Objects), whole)
	}
}

func TestALargeObjectThatIsReadByItsNameIsReduced(t *testing.T) {
	server := &pages{kind: "Secret", make: func(int) map[string]any {
		object := large("data", slice(0))
		object["apiVersion"], object["kind"] = "v1", "Secret"
		return object
	}}
	view, err := newPaged(t, server).view(t.Context(), consumerID)
	if err != nil || len(view.Objects) != 1 {
		t.Fatalf("%v, %d objects", err, len(view.Objects))
	}
	object := view.Objects[0].(*unstructured.Unstructured)
	if object.Object["data"] != nil || object.GetName() != "slice-0" {
		t.Errorf("%v", slices.Collect(maps.Keys(object.Object)))
	}
}

// boundless is a side whose module does not tell its bounds.
type boundless struct{ Side }

var errBoundless = errors.New("no bounds")

func (boundless) Bounds(context.Context) (liqoauth.Bounds, error) {
	return liqoauth.Bounds{}, errBoundless
}

func TestAReconcilerNeedsTheBounds(t *testing.T) {
	side := boundless{newPaged(t, &pages{}).Side}
	if reconciler, err := New(t.Context(), Config{Side: side}); !errors.Is(err, errBoundless) || reconciler != nil {
		t.Errorf("%v", err)
	}
}
