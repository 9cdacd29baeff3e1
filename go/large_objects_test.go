package liqoauth

import (
	"fmt"
	"strings"
	"testing"
)

// A peer may write slices of up to 1.5 MB, and an API server stores as many as it writes.
func TestLargeObjectsOfAPeerStopNoDrain(t *testing.T) {
	library := newLibrary(t, Options{})
	for _, field := range []string{"spec", "status", "metadata"} {
		t.Run(field, func(t *testing.T) {
			p := newPair(t, library, newKey(t))
			p.authenticate(t)
			bulk := strings.Repeat("A", 1_400_000)
			for i := range 64 {
				p.atProvider.put(largeSlice(i, field, bulk))
			}
			for range 4 {
				step, err := p.provider.SetCondition(t.Context(), p.atProvider.view("cl-consumer"),
					"Drained")
				if err != nil {
					t.Fatal(err)
				}
				p.atProvider.apply(t, step)
				step, err = p.provider.Reconcile(t.Context(), p.atProvider.view("cl-consumer"))
				if err != nil {
					t.Fatal(err)
				}
				p.atProvider.apply(t, step)
			}
			for place := range p.atProvider.objects {
				if strings.Contains(place, "Binding/") || strings.HasPrefix(place, "ResourceSlice/") {
					t.Errorf("%s is still there", place)
				}
			}
		})
	}
}

func largeSlice(index int, field, bulk string) map[string]any {
	slice := map[string]any{
		"apiVersion": "authentication.liqo.io/v1beta1",
		"kind":       "ResourceSlice",
		"metadata": map[string]any{
			"name":      fmt.Sprintf("slice-%d", index),
			"namespace": "liqo-tenant-cl-consumer",
			"labels": map[string]any{
				"liqo.io/replicated":        "true",
				"liqo.io/originID":          "cl-consumer",
				"liqo.io/remote-cluster-id": "cl-consumer",
			},
		},
		"spec": map[string]any{"class": "default"},
	}
	switch field {
	case "spec":
		slice["spec"] = map[string]any{"class": bulk}
	case "status":
		slice["status"] = map[string]any{"conditions": bulk}
	case "metadata":
		slice["metadata"].(map[string]any)["annotations"] = map[string]any{"a": bulk}
	}
	return slice
}
