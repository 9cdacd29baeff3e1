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
			p.drain(t)
			p.isDrained(t)
		})
	}
}

// A session is told of twenty slices of 1.1 MB, a few at a time.
func TestLargeObjectsOfAPeerStopNoSession(t *testing.T) {
	library := newLibrary(t, Options{})
	p := newPair(t, library, newKey(t))
	ofProvider, ofConsumer := p.sessions()
	defer ofProvider.Close()
	defer ofConsumer.Close()
	p.exchange(t, ofProvider, ofConsumer)
	bulk := strings.Repeat("A", 1_100_000)
	for i := range 20 {
		p.atProvider.put(largeSlice(i, []string{"spec", "status", "metadata"}[i%3], bulk))
	}
	ofProvider.Relist()
	p.atProvider.rest(t, ofProvider, OrderSetCondition("Drained"), func(*Next) {})
	p.isDrained(t)
	if ofProvider.in == nil || ofProvider.in.isLarge() {
		t.Error("the instance has grown")
	}
}

// A session is told of thousands of slices within the limits of one.
func TestManyObjectsOfAPeerStopNoSession(t *testing.T) {
	p := newPair(t, newLibrary(t, Options{}), newKey(t))
	ofProvider, ofConsumer := p.sessions()
	defer ofProvider.Close()
	defer ofConsumer.Close()
	p.exchange(t, ofProvider, ofConsumer)
	p.fill(3000)
	ofProvider.Relist()
	p.atProvider.rest(t, ofProvider, OrderSetCondition("Drained"), func(*Next) {})
	p.isDrained(t)
}

// The same as Views of the calls.
func TestManyObjectsOfAPeerStopNoDrain(t *testing.T) {
	p := newPair(t, newLibrary(t, Options{}), newKey(t))
	p.authenticate(t)
	p.fill(700)
	p.drain(t)
	p.isDrained(t)
}

// What had no room is told again when others are gone.
func TestASessionIsToldAgainWhatHasRoomAgain(t *testing.T) {
	p := newPair(t, newLibrary(t, Options{}), newKey(t))
	ofProvider, ofConsumer := p.sessions()
	defer ofProvider.Close()
	defer ofConsumer.Close()
	p.exchange(t, ofProvider, ofConsumer)
	p.fill(40)
	ofProvider.Relist()
	refused := func() (overBudget int) {
		next := p.atProvider.rest(t, ofProvider, OrderReconcile(), func(*Next) {})
		for _, one := range next.Refused {
			if strings.Contains(one.Error.Error(), "objects of this kind in the namespace") {
				overBudget++
			}
		}
		return overBudget
	}
	before := refused()
	if before < 20 || before > 30 {
		t.Errorf("%d of 40 are refused", before)
	}
	for i := range 40 - before + 5 {
		delete(p.atProvider.objects, place("ResourceSlice", "liqo-tenant-cl-consumer", fmt.Sprintf("slice-%d", i)))
	}
	ofProvider.Relist()
	// As many as before have room again.
	kept := 40 - before
	if after, want := refused(), before-5-kept; after != max(want, 0) {
		t.Errorf("%d are refused before, and %d after; want %d", before, after, want)
	}
}

// fill puts so many slices within the limits of one.
func (p *pair) fill(number int) {
	bulk := strings.Repeat("A", 250_000)
	for i := range number {
		p.atProvider.put(largeSlice(i, "spec", bulk))
	}
}

// drain drains the consumer by calls with Views.
func (p *pair) drain(t *testing.T) {
	t.Helper()
	for range 4 {
		step, err := p.provider.SetCondition(t.Context(), p.atProvider.view("cl-consumer"), "Drained")
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
}

func (p *pair) isDrained(t *testing.T) {
	t.Helper()
	for place := range p.atProvider.objects {
		if strings.Contains(place, "Binding/") || strings.HasPrefix(place, "ResourceSlice/") {
			t.Fatalf("%s is still there", place)
		}
	}
}

// A Tenant with another peer's name, in a namespace of one's own, stops nobody.
func TestATenantOfAnothersNameStopsNoSession(t *testing.T) {
	p := newPair(t, newLibrary(t, Options{}), newKey(t))
	p.atProvider.put(map[string]any{
		"apiVersion": "v1", "kind": "Namespace",
		"metadata": map[string]any{"name": "of-the-other", "labels": map[string]any{
			"liqo.io/remote-cluster-id": "cl-other", "liqo.io/tenant-namespace": "true",
		}},
	})
	for _, namespace := range []string{"of-the-other", "liqo-tenant-cl-other"} {
		p.atProvider.put(map[string]any{
			"apiVersion": "authentication.liqo.io/v1beta1", "kind": "Tenant",
			"metadata": map[string]any{"name": "cl-consumer", "namespace": namespace, "labels": map[string]any{
				"liqo.io/remote-cluster-id": "cl-consumer",
			}},
			"spec": map[string]any{"clusterID": "cl-consumer"},
		})
	}
	p.authenticateBySessions(t)
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
