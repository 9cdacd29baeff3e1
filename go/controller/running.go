package controller

import (
	"context"
	"sync"
	"time"

	liqov1beta1 "github.com/liqotech/liqo/apis/core/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	liqoauth "git.example.com/liqo-auth/liqo-auth/go"
)

// session is the session of one peer. A peer has one run at a time, so that its second run
// sees what the first one wrote.
type session struct {
	*liqoauth.Session
	// turn is held during a run.
	turn chan struct{}
	// users are the runs that have the session, or wait for it. The reconciler's mutex is
	// held to read it.
	users int
	// hasObjects reports whether an object named the peer in the last list.
	hasObjects bool
	// overtaken is how many looks other writers have stopped since a run was at rest. Orders do not
	// count. It is read and written during a turn.
	overtaken int
	// place is that of the run whose turn it is.
	place *place

	reporting sync.Mutex
	// reported is what was reported of the last run that came to rest, and of the runs after it.
	reported map[told]bool
}

// Applied notes the object that an effect has left in the cluster, and tells the session.
func (s *session) Applied(stored runtime.Object) error {
	if object, isThere := stored.(client.Object); isThere {
		s.place.add(object)
	}
	return s.Session.Applied(stored)
}

// mostDoublings is how often the pause after a conflict doubles: from 50 ms to 6.4 s.
const mostDoublings = 7

// growing returns the pause before the next run. Each run begins anew, and reads all objects of
// the peer. So a peer that writes all the time waits longer each time.
func (s *session) growing(after time.Duration) time.Duration {
	pause := after << min(s.overtaken, mostDoublings)
	s.overtaken++
	return pause
}

// found is what a run found.
type found struct {
	session *session
	// step is that of the order. If the order has no effects, it is the last one of the run.
	step *liqoauth.Step
	// next is the run's last answer: at rest, or a pause.
	next *liqoauth.Next
	// pause is how long the queue waits before the next run, if this one is not at rest.
	pause time.Duration
	// isKnown reports whether the peer has objects.
	isKnown bool
	// place is the peer's, with what the run has seen.
	place *place
	// reports are what a person should know, as far as the run went.
	reports []report
}

// show takes an answer of the session.
func (f *found) show(next *liqoauth.Next) {
	f.next = next
	f.reports = append(f.reports, noticesOf(&next.Step, f.place)...)
	if next.IsAtRest() {
		f.reports = append(f.reports, awaitedOf(&next.Step, f.place)...)
		f.reports = append(f.reports, refusedOf(&next.Step)...)
	}
}

// pause waits before a run goes on. It reports whether the run goes on at all.
type pause func(ctx context.Context, time time.Duration) (goesOn bool, err error)

// returnAtOnce leaves the wait to the queue.
func returnAtOnce(context.Context, time.Duration) (bool, error) { return false, nil }

// waitFor waits.
func waitFor(ctx context.Context, duration time.Duration) (bool, error) {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// run does what the session of a peer says, until the run is at rest.
func (r *Reconciler) run(ctx context.Context, peer liqov1beta1.ClusterID, order liqoauth.Order, pause pause) (*found, error) {
	session := r.enter(peer)
	found := &found{session: session, place: newPlace(peer), isKnown: true}
	defer func() { r.leave(peer, session, found.isKnown) }()
	select {
	case session.turn <- struct{}{}:
	case <-ctx.Done():
		return found, ctx.Err()
	}
	defer func() { <-session.turn }()
	session.hasObjects, session.place = false, found.place
	defer func() { session.place = nil }()
	// Objects have changed, or time has passed.
	session.Relist()
	return found, r.drive(ctx, found, order, pause)
}

// drive does the same during the session's turn.
func (r *Reconciler) drive(ctx context.Context, found *found, order liqoauth.Order, pause pause) error {
	session := found.session
	isCarriedOut, hasWritten := false, false
	next, err := session.Begin(ctx, order)
	for err == nil {
		if !isCarriedOut {
			found.step = &next.Step
		}
		found.show(next)
		if next.IsAtRest() {
			session.overtaken = 0
			break
		}
		if next.IsSettled() {
			goesOn, err := pause(ctx, next.After)
			if err != nil {
				return err
			}
			if !goesOn {
				found.pause = session.growing(next.After)
				return nil
			}
		} else {
			var areApplied bool
			areApplied, err = r.apply(ctx, session, next)
			isCarriedOut = isCarriedOut || areApplied
			hasWritten = hasWritten || areApplied
		}
		if err == nil {
			next, err = session.Continue(ctx)
		}
	}
	found.isKnown = session.hasObjects || hasWritten
	return err
}

// enter returns the session of a peer. Each call needs one of leave.
func (r *Reconciler) enter(peer liqov1beta1.ClusterID) *session {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	found := r.sessions[peer]
	if found == nil {
		found = &session{turn: make(chan struct{}, 1)}
		found.Session = r.Side.Session(peer, func(ctx context.Context) ([]runtime.Object, error) {
			view, err := r.view(ctx, peer)
			found.hasObjects = r.peers.hasObjects(view)
			for _, object := range view.Objects {
				found.place.add(object.(client.Object))
			}
			return view.Objects, err
		})
		found.PendingInterval = r.PendingInterval
		r.sessions[peer] = found
	}
	found.users++
	return found
}

// leave forgets a peer that has no objects. Anybody who may write a label can name a peer.
func (r *Reconciler) leave(peer liqov1beta1.ClusterID, session *session, isKnown bool) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	session.users--
	if isKnown || session.users > 0 {
		return
	}
	r.peers.forget(peer)
	delete(r.sessions, peer)
	session.Close()
}
