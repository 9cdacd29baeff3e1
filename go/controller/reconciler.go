package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	liqov1beta1 "github.com/liqotech/liqo/apis/core/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	liqoauth "git.example.com/liqo-auth/liqo-auth/go"
)

// Side is a [liqoauth.Provider] or a [liqoauth.Consumer].
type Side interface {
	Session(liqov1beta1.ClusterID, func(context.Context) ([]runtime.Object, error)) *liqoauth.Session
	Watches(context.Context) ([]liqoauth.Watch, error)
	Interests(context.Context, liqov1beta1.ClusterID) ([]liqoauth.Interest, error)
	Bounds(context.Context) (liqoauth.Bounds, error)
}

// Config of a [Reconciler].
type Config struct {
	// Side decides what to do.
	Side Side
	// Reader reads the objects of a peer at the begin of each run. Take the API server itself
	// (Manager.GetAPIReader): lists are read in pages, which a cache does not give, and a cache
	// may not have the reconciler's own writes yet. Wrap its transport by [BoundedLists].
	Reader client.Reader
	// Writer applies effects.
	Writer client.Client
	// Deliver takes a message to the peer. Several calls at once are possible. If it
	// fails, the message is delivered again later. Without it, nothing is delivered.
	Deliver func(context.Context, liqoauth.Message) error
	// Events records what a person should know of a peer: notices, what an administrator has to do,
	// and what is refused, each once, with the remedy. The events are in the tenant namespace of the
	// peer (Manager.GetEventRecorder). A peer causes 25 of each reason, and then one a minute. The
	// log has all of them, also without Events.
	Events events.EventRecorder
	// PendingInterval is how long a pending answer of a backend may wait for the next
	// look; 10 seconds if it is 0.
	PendingInterval time.Duration
	// FollowClientCAs has the reconciler of a [liqoauth.Provider] read, each minute, the CAs by
	// which the API server lets clients in: the ConfigMap extension-apiserver-authentication of
	// kube-system. A certificate that none of them has issued is signed anew, once for each set.
	// The account of the program needs Kubernetes' own Role of kube-system,
	// extension-apiserver-authentication-reader. Without this right, the log says so once, and
	// nothing is compared.
	FollowClientCAs bool
}

// Reconciler applies what a side decides to one cluster. It is safe for use by several
// goroutines.
type Reconciler struct {
	Config

	peers *peers
	// bounds are those of the objects that are kept whole.
	bounds liqoauth.Bounds
	budget *eventBudget

	mutex sync.Mutex
	// sessions are those of the peers that have objects, and of those that are being handled.
	sessions map[liqov1beta1.ClusterID]*session
}

// ErrConflict is returned by an order if other writers change the same objects each
// time.
var ErrConflict = errors.New("liqoauth: other writers change the same objects")

// New returns a reconciler. [Reconciler.SetupWithManager] registers it.
func New(ctx context.Context, config Config) (*Reconciler, error) {
	peers, err := newPeers(ctx, config.Side)
	if err != nil {
		return nil, err
	}
	bounds, err := config.Side.Bounds(ctx)
	if err != nil {
		return nil, err
	}
	return &Reconciler{
		Config:   config,
		peers:    peers,
		bounds:   bounds,
		budget:   newEventBudget(),
		sessions: map[liqov1beta1.ClusterID]*session{},
	}, nil
}

// Reconcile looks at the peer that the request names, and applies what there is to do
// until nothing is left. Then it delivers messages. A conflict leads to another run.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	peer := liqov1beta1.ClusterID(request.Name)
	// From here on, a change of an object that concerns all peers leads to another look.
	r.peers.add(peer)
	found, err := r.run(ctx, peer, liqoauth.OrderReconcile(), returnAtOnce)
	r.report(ctx, peer, found, append(found.reports, errorOf(err)...), err == nil && found.next.IsAtRest())
	if err != nil {
		return reconcile.Result{}, again(err)
	}
	if !found.next.IsAtRest() {
		return reconcile.Result{RequeueAfter: found.pause}, nil
	}
	if err := r.deliver(ctx, found); err != nil {
		return reconcile.Result{}, err
	}
	return result(found.next)
}

// Order carries out an order for a peer, and goes on until nothing is left to do. After a
// conflict, the order is repeated on the changed objects. Then it delivers messages. It
// returns the step of the order.
func (r *Reconciler) Order(ctx context.Context, peer liqov1beta1.ClusterID, order liqoauth.Order) (*liqoauth.Step, error) {
	r.peers.add(peer)
	found, err := r.run(ctx, peer, order, waitFor)
	r.report(ctx, peer, found, found.reports, err == nil)
	if err != nil {
		if errors.Is(err, liqoauth.Code("overtaken")) {
			err = fmt.Errorf("%w: %w", ErrConflict, err)
		}
		return nil, err
	}
	return found.step, r.deliver(ctx, found)
}

// Receive takes a message of a peer.
func (r *Reconciler) Receive(ctx context.Context, message liqoauth.Message) error {
	_, err := r.Order(ctx, message.From, liqoauth.OrderReceive(message))
	return err
}

// deliver delivers the messages of a run at rest, which the peer does not have yet.
func (r *Reconciler) deliver(ctx context.Context, found *found) error {
	if r.Deliver == nil {
		return nil
	}
	var failed error
	for _, message := range found.next.Outbox {
		if err := r.Deliver(ctx, message); err != nil {
			found.session.Undelivered(message)
			failed = errors.Join(failed, fmt.Errorf("deliver a message to %s: %w", message.To, err))
		}
	}
	return failed
}

// result returns when to look again. What can be tried again is an error, so that the
// queue's delays grow.
func result(next *liqoauth.Next) (reconcile.Result, error) {
	var failed error
	for _, refused := range next.Refused {
		if refused.Error != nil {
			failed = errors.Join(failed, again(refused.Error))
		}
	}
	return reconcile.Result{RequeueAfter: next.Again}, failed
}

// again returns an error that can be tried again by itself. All else is reported, and waits for a
// change of an object.
func again(err error) error {
	var refused *liqoauth.Error
	if errors.As(err, &refused) && refused.Disposition != "retry" {
		return nil
	}
	return err
}
