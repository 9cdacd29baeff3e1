package liqoauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	liqov1beta1 "github.com/liqotech/liqo/apis/core/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Session keeps the objects of one peer in the module, and says what to do next for this
// peer: it has the loop of a driver, its bounds, and the memory of what was delivered. A
// session is told what changed, and its calls need no [View]. It is safe for use by several
// goroutines; a call waits for the one before it. Of two runs at a time, the later one counts.
//
// An instance of the module holds the session. It is given up if [Options.Sessions] others
// are used, after a trap, and by [Session.Close]. The next call opens it anew, with the
// objects that the function of the session returns.
type Session struct {
	// VouchedNonces are those of a [View]. Set them before the first call.
	VouchedNonces []string
	// PendingInterval is how long a pending answer of a backend may wait for the next run;
	// 10 seconds if it is 0. Set it before the first call.
	PendingInterval time.Duration

	machine *machine
	peer    liqov1beta1.ClusterID
	objects func(context.Context) ([]runtime.Object, error)

	// turn is held during each call.
	turn chan struct{}
	// in, isBusy and used belong to sessions. The session that is busy may read in.
	in     *instance
	isBusy bool
	used   uint64

	// opened is the configuration with which the session was opened.
	opened *form
	// told has the version of each object that the instance has. It is nil if the instance has
	// no session. leaving is what the next request tells. The session that is busy has both.
	told    map[ObjectReference]string
	leaving changes

	mutex sync.Mutex
	// isStale reports whether all objects are to be listed.
	isStale  bool
	waiting  changes
	outcomes outcomes
	// order is what the run carries out.
	order Order
	// left is the effects of the last answer of which the session was not told, or noRun.
	left int
}

// noRun is what is left if there is no run.
const noRun = -1

// outcomes are what became of the last answer.
type outcomes struct {
	IsAbsent    *bool    `json:"isAbsent,omitempty"`
	Applied     []string `json:"applied,omitempty"`
	Undelivered []int64  `json:"undelivered,omitempty"`
}

// pendingInterval is the default of Session.PendingInterval.
const pendingInterval = 10 * time.Second

// Session returns a session of one peer. The function returns all stored objects of this
// peer, as a [View] has them. It is called at the first call, after [Session.Relist], and when
// the session was given up. It must not call the session.
func (m *machine) Session(peer liqov1beta1.ClusterID, objects func(context.Context) ([]runtime.Object, error)) *Session {
	return &Session{
		machine: m,
		peer:    peer,
		objects: objects,
		turn:    make(chan struct{}, 1),
		order:   OrderReconcile(),
		left:    noRun,
	}
}

// Observe takes objects that are new or have changed.
func (s *Session) Observe(objects ...runtime.Object) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, object := range objects {
		if err := s.observe(object); err != nil {
			return err
		}
	}
	return nil
}

// observe takes an object, unless too much waits for a call.
func (s *Session) observe(object runtime.Object) error {
	id, version, err := identify(object)
	if err != nil {
		return err
	}
	if err := s.waiting.observe(id, version, s.machine.values.of(s.peer, object)); err != nil {
		return err
	}
	if s.waiting.size > mostWaiting {
		s.waiting.wipe()
		s.isStale = true
	}
	return nil
}

// Forget takes the removal of objects.
func (s *Session) Forget(objects ...ObjectReference) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, id := range objects {
		s.waiting.forget(id)
	}
}

// Relist makes the next call ask the function of the session for all objects.
func (s *Session) Relist() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.isStale = true
}

// Confirm takes what the store says of [Step.Absent]: the object, or nil if it is absent.
func (s *Session) Confirm(found runtime.Object) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	isAbsent := found == nil
	s.outcomes.IsAbsent = &isAbsent
	if isAbsent {
		return nil
	}
	return s.observe(found)
}

// Applied takes the object that an effect has left in the store. After a deletion, or if the
// store has not returned the object, it is nil: then the next look asks for all objects.
func (s *Session) Applied(stored runtime.Object) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.outcomes.Applied = append(s.outcomes.Applied, "shown")
	s.left--
	if s.left == 0 {
		// The order is carried out. A session that is given up now only goes on to rest.
		s.order = OrderReconcile()
	}
	if stored == nil {
		s.isStale = true
		return nil
	}
	return s.observe(stored)
}

// Overtaken tells that another writer was faster than an effect: the object has another
// version, its name is taken, or it does not exist. The next look asks for all objects. The
// effects after it are not applied.
func (s *Session) Overtaken() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.outcomes.Applied = append(s.outcomes.Applied, "overtaken")
	s.isStale = true
}

// Undelivered tells that a message of [Next] did not reach the peer. The next run has it
// again.
func (s *Session) Undelivered(message Message) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.outcomes.Undelivered = append(s.outcomes.Undelivered, message.number)
}

// Begin begins a run, in place of the present one. The run carries out the order, and then
// goes on until nothing is left to do.
func (s *Session) Begin(ctx context.Context, order Order) (*Next, error) {
	return s.next(ctx, &order)
}

// Reconcile begins a run that goes on until nothing is left to do.
func (s *Session) Reconcile(ctx context.Context) (*Next, error) {
	return s.Begin(ctx, OrderReconcile())
}

// Receive begins a run that takes a message of the peer.
func (s *Session) Receive(ctx context.Context, message Message) (*Next, error) {
	return s.Begin(ctx, OrderReceive(message))
}

// Continue goes on with a run, after the session was told what became of the last answer. If
// the session was given up meanwhile, it begins again with what is left of the order.
func (s *Session) Continue(ctx context.Context) (*Next, error) {
	return s.next(ctx, nil)
}

// Look returns the state of the peering.
func (s *Session) Look(ctx context.Context) (*Status, error) {
	var found struct {
		Status Status `json:"status"`
	}
	err := s.hold(ctx, func(bool) error {
		present, err := s.present()
		if err != nil {
			return err
		}
		defer clear(present)
		_, err = s.send(ctx, `"call":"look"`, present, nil, &found)
		return err
	})
	return &found.Status, err
}

// Close gives the session up, and its instance of the module to others.
func (s *Session) Close() {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	s.end()
}

// end gives the session up during its turn.
func (s *Session) end() {
	library := s.machine.library
	in := library.sessions.leave(s)
	if in == nil {
		return
	}
	s.restart()
	library.closeSession(in)
}

// leaveEarlierForm gives the session up if it was opened with another configuration than the
// present one.
func (s *Session) leaveEarlierForm() error {
	present, err := s.machine.form()
	if err != nil {
		return err
	}
	if s.opened != present {
		s.end()
		s.opened = present
	}
	return nil
}

// next begins a run with an order, or goes on. The backends answer until the module has no
// question.
func (s *Session) next(ctx context.Context, order *Order) (*Next, error) {
	var next *Next
	err := s.hold(ctx, func(isNew bool) (err error) {
		call, err := s.begin(order, isNew)
		if err != nil {
			return err
		}
		next, err = s.converse(ctx, call)
		return s.note(next, err)
	})
	return next, err
}

// begin returns the fields of a request that begins a run with an order, or goes on. A session
// that is opened anew has no run to go on with.
func (s *Session) begin(order *Order, isNew bool) (string, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if order != nil {
		s.order = *order
	} else if !isNew && s.left != noRun {
		return goOn, nil
	}
	action, err := json.Marshal(s.order.call)
	if err != nil {
		return "", fmt.Errorf("liqoauth: %w", err)
	}
	return `"call":` + string(action), nil
}

// goOn is the field of a request that goes on with the run.
const goOn = `"goOn":true`

// converse sends a call, and the backends answer within it. Questions that are left open are
// answered after it: then the call is sent again with the answers so far, until no question is
// open. Each round has the same time and randomness, so that it goes the same way.
func (s *Session) converse(ctx context.Context, call string) (*Next, error) {
	present, err := s.present()
	if err != nil {
		return nil, err
	}
	defer clear(present)
	asking := &asking{ctx: forBackends(s.machine.facts.within(ctx)), answer: s.machine.answer}
	var answers []answered
	for range rounds {
		var found nextForm
		bodies, err := s.send(asking.within(ctx), call, present, answers, &found)
		asking.goOn()
		if err != nil {
			return nil, err
		}
		if found.Next != "answer" {
			s.forgetTold(found.Forgotten)
			return found.read(bodies)
		}
		further, err := answerAll(asking.ctx, found.Questions, s.machine.answer)
		if err != nil {
			return nil, err
		}
		answers = slices.Concat(answers, asking.given, further)
		asking.given = nil
		call = goOn
	}
	return nil, errRounds
}

// note notes what the session has to be told of an answer. An error of the library ends the
// run. After any other one, the order is still to be carried out.
func (s *Session) note(next *Next, err error) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	switch {
	case isRefused(err), err == nil && next.IsAtRest():
		s.order, s.left = OrderReconcile(), noRun
	case err != nil:
		s.left = noRun
	default:
		s.left = len(next.Effects)
	}
	return err
}

// isRefused reports whether an error is the library's, so that the module has taken the
// request.
func isRefused(err error) bool {
	var refused *Error
	return errors.As(err, &refused) && refused.Code != "request-form"
}

// hold takes an instance for a call, and tells the module what has changed.
func (s *Session) hold(ctx context.Context, call func(isNew bool) error) error {
	if err := s.takeTurn(ctx); err != nil {
		return err
	}
	defer func() { <-s.turn }()
	library := s.machine.library
	if err := s.leaveEarlierForm(); err != nil {
		return err
	}
	isNew, err := library.occupy(ctx, s)
	if err != nil {
		return err
	}
	if isNew {
		s.restart()
	}
	isDone := false
	defer func() { s.giveBack(ctx, isDone) }()
	if err = s.listAndTell(ctx); err != nil {
		s.Relist()
	} else {
		err = call(isNew)
	}
	isDone = true
	return err
}

func (s *Session) takeTurn(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		return nil
	default:
	}
	if isBackends(ctx) {
		return ErrBackendWaits
	}
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Session) listAndTell(ctx context.Context) error {
	if err := s.list(ctx); err != nil {
		return err
	}
	return s.tell(ctx)
}

// giveBack makes the instance free for others after a call. If the call has panicked, nobody
// knows what the module was told, nor whether there is a run.
func (s *Session) giveBack(ctx context.Context, isDone bool) {
	if !isDone {
		s.mutex.Lock()
		s.isStale, s.left = true, noRun
		s.mutex.Unlock()
	}
	library := s.machine.library
	if s.isLargeAtRest() {
		library.giveUp(ctx, s)
	} else if s.in != nil {
		library.sessions.keep(s)
	}
}

// restart forgets what the module was told.
func (s *Session) restart() {
	s.told = nil
	s.leaving.wipe()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.isStale = true
	s.outcomes = outcomes{}
}

// isLargeAtRest reports whether the instance has grown beyond what is kept, and has no run to
// lose.
func (s *Session) isLargeAtRest() bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.left == noRun && s.in != nil && s.in.isLarge()
}
