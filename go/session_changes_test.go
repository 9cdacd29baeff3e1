package liqoauth

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func secretNamed(name, version string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: "liqo-tenant-cl-consumer", Name: name, ResourceVersion: version,
	}}
}

func TestWhatWaitsIsWipedOnceItIsForgotten(t *testing.T) {
	var found changes
	id := ObjectReference{Kind: "Secret", Namespace: "liqo", Name: "a"}
	first, second := []byte("the first form"), []byte("the second form")
	found.put(id, seenObject{form: first})
	found.put(id, seenObject{form: second})
	if !isWiped(first) || isWiped(second) || found.size != len(second) {
		t.Errorf("%q %q, %d bytes", first, second, found.size)
	}
	found.forget(id)
	if _, isGone := found.gone[id]; !isGone || !isWiped(second) || len(found.seen) != 0 || found.size != 0 {
		t.Errorf("%q %+v", second, found)
	}
	third := []byte("the third form")
	found.put(id, seenObject{form: third})
	if len(found.gone) != 0 {
		t.Error("an object that is seen is gone")
	}
	found.wipe()
	if !isWiped(third) || len(found.seen) != 0 || found.size != 0 {
		t.Errorf("%q %+v", third, found)
	}
}

func TestOnlyWhatDiffersIsTold(t *testing.T) {
	var objects []runtime.Object
	pair := newPair(t, newLibrary(t, Options{}), newKey(t))
	session := pair.provider.Session("cl-consumer", func(context.Context) ([]runtime.Object, error) { return objects, nil })
	defer session.Close()
	// The first call lists all objects, of which there are none.
	if _, err := session.Look(t.Context()); err != nil {
		t.Fatal(err)
	}
	for number, step := range []struct {
		objects    []runtime.Object
		seen, gone int
	}{
		{[]runtime.Object{secretNamed("a", "1"), secretNamed("b", "2")}, 2, 0},
		{[]runtime.Object{secretNamed("a", "1"), secretNamed("b", "2")}, 0, 0},
		{[]runtime.Object{secretNamed("a", "3")}, 1, 1},
		// Without a version, nobody knows whether it has changed.
		{[]runtime.Object{secretNamed("a", "")}, 1, 0},
		{[]runtime.Object{secretNamed("a", "")}, 1, 0},
		{nil, 0, 1},
		{nil, 0, 0},
	} {
		objects = step.objects
		session.Relist()
		if err := session.list(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(session.leaving.seen) != step.seen || len(session.leaving.gone) != step.gone {
			t.Errorf("step %d: %d objects are told, and %d that are gone", number, len(session.leaving.seen), len(session.leaving.gone))
		}
		// The list is not made again.
		if err := session.list(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := session.Look(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(session.leaving.seen) != 0 || len(session.leaving.gone) != 0 || len(session.told) != len(objects) {
			t.Errorf("step %d: %d objects are known", number, len(session.told))
		}
	}
}

func TestAnObjectThatIsForgottenAgainIsNotSeen(t *testing.T) {
	pair := newPair(t, newLibrary(t, Options{}), newKey(t))
	session, _ := pair.sessions()
	defer session.Close()
	if err := session.Observe(secretNamed("a", "1"), secretNamed("b", "1")); err != nil {
		t.Fatal(err)
	}
	session.Forget(ObjectReference{Kind: "Secret", Namespace: "liqo-tenant-cl-consumer", Name: "a"})
	if len(session.waiting.seen) != 1 || len(session.waiting.gone) != 1 {
		t.Errorf("%+v", session.waiting)
	}
}

func TestWhatIsNoObjectIsAnError(t *testing.T) {
	pair := newPair(t, newLibrary(t, Options{}), newKey(t))
	no := []runtime.Object{&metav1.Status{}, &corev1.SecretList{}}
	for _, object := range no {
		session := pair.provider.Session("cl-consumer", func(context.Context) ([]runtime.Object, error) {
			return []runtime.Object{object}, nil
		})
		if err := session.Observe(object); err == nil {
			t.Errorf("%T is observed", object)
		}
		if err := session.Applied(object); err == nil {
			t.Errorf("%T is applied", object)
		}
		if err := session.Confirm(object); err == nil {
			t.Errorf("%T is there", object)
		}
		if _, err := session.Reconcile(t.Context()); err == nil {
			t.Errorf("%T is listed", object)
		}
		session.Close()
	}
}

func TestEachInvitationOfASessionHasANonceOfItsOwn(t *testing.T) {
	pair := newPair(t, newLibrary(t, Options{}), newKey(t))
	var nonces []string
	for range 2 {
		at := newCluster()
		session := at.session(pair.provider, "cl-consumer")
		nonces = append(nonces, at.drive(t, session, OrderInvite())[0].Nonce)
		session.Close()
	}
	if nonces[0] == nonces[1] {
		t.Error("two invitations have the same nonce")
	}
}

func TestEachMessageOfAnAnswerHasANumber(t *testing.T) {
	form := nextForm{Next: "rest", Step: Step{Outbox: []Message{NonceMessage("a", "b", "c")}}}
	if next, err := form.read(nil); err == nil {
		t.Errorf("%+v", next)
	}
	form.Numbers = []int64{7}
	if next, err := form.read(nil); err != nil || next.Outbox[0].number != 7 || !next.IsAtRest() {
		t.Errorf("%v %+v", err, next)
	}
}

func TestEachEffectOfAnAnswerHasABody(t *testing.T) {
	form := nextForm{Next: "apply", Effects: make([]effectForm, 3)}
	for i, effect := range []struct {
		kind string
		body int
	}{{"create", 4}, {"delete", 2}, {"patch", 5}} {
		form.Effects[i].Type = effect.kind
		form.Effects[i].Request.Body = effect.body
	}
	next, err := form.read([]byte("1234{}12345"))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []Effect{{Object: []byte("1234")}, {}, {Patch: []byte("12345")}} {
		found := next.Effects[i]
		if string(found.Object) != string(want.Object) || string(found.Patch) != string(want.Patch) {
			t.Errorf("%d: %+v", i, found)
		}
	}
	if body := next.Effects[1].Request.Body; string(body) != "{}" || cap(body) != 2 {
		t.Errorf("%s", body)
	}
	for _, bodies := range []string{"", "1234{}1234", "1234{}12345 "} {
		if next, err := form.read([]byte(bodies)); !errors.Is(err, errBodies) {
			t.Errorf("%q: %v %+v", bodies, err, next)
		}
	}
	form.Effects[1].Request.Body = -2
	if next, err := form.read([]byte("1234{}12345")); !errors.Is(err, errBodies) {
		t.Errorf("%v %+v", err, next)
	}
}

func TestAKeyWithoutASignerHasNoSession(t *testing.T) {
	consumer := newLibrary(t, Options{}).Consumer(ConsumerConfig{ClusterID: "cl-consumer"}, Key{}, testNow)
	session := consumer.Session("cl-provider", noObjects)
	defer session.Close()
	if _, err := session.Reconcile(t.Context()); !errors.Is(err, errNoSigner) {
		t.Errorf("%v", err)
	}
	if _, err := session.Look(t.Context()); !errors.Is(err, errNoSigner) {
		t.Errorf("%v", err)
	}
}
