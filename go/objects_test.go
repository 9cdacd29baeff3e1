package liqoauth

import (
	"testing"

	authv1beta1 "github.com/liqotech/liqo/apis/authentication/v1beta1"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Clients leave out the kind of typed objects.
func TestTheModuleGetsTheKindOfEachObject(t *testing.T) {
	tenant := &authv1beta1.Tenant{ObjectMeta: metav1.ObjectMeta{Name: "cl-consumer"}}
	// Its kind is known from itself alone.
	other := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Other"}}
	found, err := View{Objects: []runtime.Object{tenant, other}}.objects()
	if err != nil {
		t.Fatal(err)
	}
	sent, isTenant := found[0].(*authv1beta1.Tenant)
	if !isTenant || sent.Kind != "Tenant" || sent.APIVersion != "authentication.liqo.io/v1beta1" {
		t.Errorf("%+v", found[0])
	}
	if tenant.Kind != "" {
		t.Error("the caller's object is changed")
	}
	if sent, isMap := found[1].(map[string]any); !isMap || sent["kind"] != "Other" {
		t.Errorf("%+v", found[1])
	}
	if _, err := (View{Objects: []runtime.Object{&appsv1.Deployment{}}}).objects(); err == nil {
		t.Error("an object of an unknown kind is sent")
	}
}
