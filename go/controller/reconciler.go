package controller

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	liqov1beta1 "github.com/liqotech/liqo/apis/core/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"liqoauth"
)

// Side is a [liqoauth.Provider] or a [liqoauth.Consumer].
type Side interface {
	Reconcile(context.Context, liqoauth.View) (*liqoauth.Step, error)
	Receive(context.Context, liqoauth.View, liqoauth.Message) (*liqoauth.Step, error)
	Watches(context.Context) ([]liqoauth.Watch, error)
	Interests(context.Context, liqov1beta1.ClusterID) ([]liqoauth.Interest, error)
}

// Call is any call of a side that returns a step, such as
// [liqoauth.Provider.Invite].
type Call func(context.Context, liqoauth.View) (*liqoauth.Step, error)

// Config of a [Reconciler].
type Config struct {
	// Side decides what to do.
	Side Side
	// Reader reads the objects of a peer at each look. Take the API server itself
	// (Manager.GetAPIReader): a cache may not have the reconciler's own writes yet.
	Reader client.Reader
	// Writer applies effects.
	Writer client.Client
	// Deliver takes a message to the peer. Several calls at once are possible. If it
	// fails, the message is delivered again later. Without it, nothing is delivered.
	Deliver func(context.Context, liqoauth.Message) error
	// PendingInterval is how long a pending answer of a backend may wait for the next
	// look; 10 seconds if it is 0.
	PendingInterval time.Duration
	// Now is time.Now if it is nil. Give the side the same clock.
	Now func() time.Time
}

// Reconciler applies what a side decides to one cluster. It is safe for use by several
// goroutines.
type Reconciler struct {
	Config

	mutex sync.Mutex
	peers *peers
	// delivered has the digests of each peer's present messages.
	delivered map[liqov1beta1.ClusterID]map[[sha256.Size]byte]bool
}

// ErrConflict is returned by an order if other writers change the same objects each
// time.
var ErrConflict = errors.New("liqoauth: other writers change the same objects")

const (
	// looks is how often one call looks at a peer that does not settle.
	looks = 16
	// conflictDelay is how long a reconcile waits after a conflict.
	conflictDelay = 200 * time.Millisecond
	// pendingInterval is the default of Config.PendingInterval.
	pendingInterval = 10 * time.Second
)

// isPending has the types of what a step may await from a backend. A backend's answer
// changes no object, so the reconciler looks again by itself.
var isPending = map[string]bool{
	"approval":   true,
	"credential": true,
	"names":      true,
	"ownKey":     true,
	"signature":  true,
	"resources":  true,
}

// New returns a reconciler. [Reconciler.SetupWithManager] registers it.
func New(ctx context.Context, config Config) (*Reconciler, error) {
	if config.PendingInterval == 0 {
		config.PendingInterval = pendingInterval
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	peers, err := newPeers(ctx, config.Side)
	if err != nil {
		return nil, err
	}
	return &Reconciler{
		Config:    config,
		peers:     peers,
		delivered: map[liqov1beta1.ClusterID]map[[sha256.Size]byte]bool{},
	}, nil
}

// Reconcile looks at the peer that the request names, and applies what there is to do
// until nothing is left. Then it delivers messages. A conflict leads to another look.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	peer := liqov1beta1.ClusterID(request.Name)
	// From here on, a change of an object that concerns all peers leads to another look.
	r.peers.add(peer)
	var view liqoauth.View
	var step *liqoauth.Step
	for range looks {
		var err error
		if view, err = r.view(ctx, peer); err != nil {
			r.peers.forget(peer)
			return refusal(ctx, err)
		}
		if step, err = r.Side.Reconcile(ctx, view); err != nil {
			return refusal(ctx, err)
		}
		conflict, err := r.apply(ctx, step)
		if err != nil {
			return reconcile.Result{}, err
		}
		if conflict {
			return reconcile.Result{RequeueAfter: conflictDelay}, nil
		}
		if step.IsSettled() {
			break
		}
	}
	if !step.IsSettled() {
		return reconcile.Result{RequeueAfter: conflictDelay}, nil
	}
	if !r.peers.hasObjects(view) {
		r.peers.forget(peer)
	}
	r.keepDelivered(peer, step.Outbox)
	if err := r.deliver(ctx, peer, step.Outbox); err != nil {
		return reconcile.Result{}, err
	}
	return r.next(ctx, step)
}

// Order carries out a call for a peer, and applies its effects. After a conflict, it is
// repeated on the changed objects. The messages of the step are delivered.
func (r *Reconciler) Order(ctx context.Context, peer liqov1beta1.ClusterID, call Call) (*liqoauth.Step, error) {
	for range looks {
		view, err := r.view(ctx, peer)
		if err != nil {
			return nil, err
		}
		step, err := call(ctx, view)
		if err != nil {
			return nil, err
		}
		conflict, err := r.apply(ctx, step)
		if err != nil {
			return nil, err
		}
		if conflict {
			continue
		}
		return step, r.deliver(ctx, peer, step.Outbox)
	}
	return nil, ErrConflict
}

// Receive takes a message of a peer.
func (r *Reconciler) Receive(ctx context.Context, message liqoauth.Message) error {
	_, err := r.Order(ctx, message.From, func(ctx context.Context, view liqoauth.View) (*liqoauth.Step, error) {
		return r.Side.Receive(ctx, view, message)
	})
	return err
}

// keepDelivered forgets the messages that a settled step does not repeat: the peer may
// need them again later.
func (r *Reconciler) keepDelivered(peer liqov1beta1.ClusterID, outbox []liqoauth.Message) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	present := map[[sha256.Size]byte]bool{}
	for _, message := range outbox {
		if digest, err := digestOf(message); err == nil && r.delivered[peer][digest] {
			present[digest] = true
		}
	}
	if len(present) == 0 {
		delete(r.delivered, peer)
		return
	}
	r.delivered[peer] = present
}

// deliver delivers the messages that the peer does not have yet. Each settled step
// repeats its messages.
func (r *Reconciler) deliver(ctx context.Context, peer liqov1beta1.ClusterID, outbox []liqoauth.Message) error {
	if r.Deliver == nil {
		return nil
	}
	var failed error
	for _, message := range outbox {
		digest, err := digestOf(message)
		if err != nil {
			return err
		}
		if !r.mark(peer, digest, true) {
			continue
		}
		if err := r.Deliver(ctx, message); err != nil {
			r.mark(peer, digest, false)
			failed = errors.Join(failed, fmt.Errorf("deliver a message to %s: %w", message.To, err))
		}
	}
	return failed
}

// mark records that a message is delivered, or is not. It reports whether that is new.
func (r *Reconciler) mark(peer liqov1beta1.ClusterID, digest [sha256.Size]byte, delivered bool) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.delivered[peer] == nil {
		r.delivered[peer] = map[[sha256.Size]byte]bool{}
	}
	before := r.delivered[peer][digest]
	if delivered {
		r.delivered[peer][digest] = true
	} else {
		delete(r.delivered[peer], digest)
	}
	return before != delivered
}

func digestOf(message liqoauth.Message) ([sha256.Size]byte, error) {
	raw, err := json.Marshal(message)
	return sha256.Sum256(raw), err
}

// next returns when to look again. What can be tried again is an error, so that the
// queue's delays grow.
func (r *Reconciler) next(ctx context.Context, step *liqoauth.Step) (reconcile.Result, error) {
	var again error
	for _, refused := range step.Refused {
		if refused.Error == nil {
			continue
		}
		if refused.Error.Disposition == "retry" {
			again = errors.Join(again, refused.Error)
			continue
		}
		log.FromContext(ctx).Info("refused", "code", refused.Error.Code,
			"reason", refused.Error.Error(), "advice", refused.Error.Advice)
	}
	if again != nil {
		return reconcile.Result{}, again
	}
	var result reconcile.Result
	if step.Wait.WakeAt != "" {
		wake, err := time.Parse(time.RFC3339, step.Wait.WakeAt)
		if err != nil {
			return result, fmt.Errorf("liqoauth: time of the next look: %w", err)
		}
		result.RequeueAfter = max(wake.Sub(r.Now()), time.Second)
	}
	for _, awaited := range step.Wait.Awaiting {
		isEarlier := result.RequeueAfter == 0 || r.PendingInterval < result.RequeueAfter
		if isPending[awaited.Type] && isEarlier {
			result.RequeueAfter = r.PendingInterval
		}
	}
	return result, nil
}

// refusal is the result of a look that failed. Only what can be tried again is tried
// again by itself; all else waits for a change of an object.
func refusal(ctx context.Context, err error) (reconcile.Result, error) {
	var refused *liqoauth.Error
	if !errors.As(err, &refused) || refused.Disposition == "retry" {
		return reconcile.Result{}, err
	}
	log.FromContext(ctx).Info("refused", "code", refused.Code,
		"reason", refused.Error(), "advice", refused.Advice)
	return reconcile.Result{}, nil
}
