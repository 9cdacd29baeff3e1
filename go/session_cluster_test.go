package liqoauth

import (
	"context"
	"testing"

	liqov1beta1 "github.com/liqotech/liqo/apis/core/v1beta1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// session is a session of one peer of this cluster.
func (c *cluster) session(of interface {
	Session(liqov1beta1.ClusterID, func(context.Context) ([]runtime.Object, error)) *Session
}, peer liqov1beta1.ClusterID,
) *Session {
	return of.Session(peer, func(context.Context) ([]runtime.Object, error) {
		return c.view(peer).Objects, nil
	})
}

// drive carries out an order, and goes on to rest. It returns the messages.
func (c *cluster) drive(t testing.TB, session *Session, order Order) []Message {
	t.Helper()
	return c.rest(t, session, order, func(step *Next) {
		for _, refused := range step.Refused {
			t.Errorf("refused: %v", refused.Error)
		}
	}).Outbox
}

// rest does the same, and shows each step. It returns the last one.
func (c *cluster) rest(t testing.TB, session *Session, order Order, show func(*Next)) *Next {
	t.Helper()
	next, err := session.Begin(t.Context(), order)
	for range 64 {
		if err != nil {
			t.Fatal(err)
		}
		show(next)
		if next.IsAtRest() {
			return next
		}
		c.applyFor(t, session, next)
		next, err = session.Continue(t.Context())
	}
	t.Fatal("the side does not settle")
	return nil
}

// applyFor applies the effects of a step, and tells the session.
func (c *cluster) applyFor(t testing.TB, session *Session, next *Next) {
	t.Helper()
	if next.Absent != nil && !next.IsSettled() {
		if err := session.Confirm(c.find(next.Absent)); err != nil {
			t.Fatal(err)
		}
		if c.find(next.Absent) != nil {
			return
		}
	}
	for i := range next.Effects {
		effect := next.Effects[i : i+1]
		c.apply(t, &Step{Effects: effect})
		if err := session.Applied(c.find(effect[0].ID)); err != nil {
			t.Fatal(err)
		}
	}
}

// find returns an object, or nil.
func (c *cluster) find(id *ObjectReference) runtime.Object {
	if object := c.objects[place(id.Kind, id.Namespace, id.Name)]; object != nil {
		return &unstructured.Unstructured{Object: object}
	}
	return nil
}

// sessions are those of a pair.
func (p *pair) sessions() (ofProvider, ofConsumer *Session) {
	return p.atProvider.session(p.provider, "cl-consumer"), p.atConsumer.session(p.consumer, "cl-provider")
}

// authenticateBySessions makes a whole exchange by a session on each side.
func (p *pair) authenticateBySessions(t testing.TB) {
	t.Helper()
	ofProvider, ofConsumer := p.sessions()
	defer ofProvider.Close()
	defer ofConsumer.Close()
	p.exchange(t, ofProvider, ofConsumer)
}

func (p *pair) exchange(t testing.TB, ofProvider, ofConsumer *Session) {
	t.Helper()
	toConsumer := p.atProvider.drive(t, ofProvider, OrderInvite())
	for round := 0; round < 8 && len(toConsumer) > 0; round++ {
		var toProvider []Message
		for _, message := range toConsumer {
			toProvider = append(toProvider, p.atConsumer.drive(t, ofConsumer, OrderReceive(message))...)
		}
		toConsumer = nil
		for _, message := range toProvider {
			toConsumer = append(toConsumer, p.atProvider.drive(t, ofProvider, OrderReceive(message))...)
		}
	}
	status, err := ofConsumer.Look(t.Context())
	if err != nil || status.ControlPlane.Stage != "authenticated" {
		t.Fatalf("the exchange does not end: %v %+v", err, status)
	}
}
