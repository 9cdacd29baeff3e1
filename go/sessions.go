package liqoauth

import (
	"context"
	"sync"
)

// sessions are the sessions with an instance of the module.
type sessions struct {
	most int

	mutex sync.Mutex
	// holders have an instance, or get one.
	holders map[*Session]struct{}
	// uses is how often a session was used.
	uses uint64
	// freed is closed when a session is not busy any more.
	freed chan struct{}
}

// mostSessions is the default of Options.Sessions.
const mostSessions = 64

func newSessions(most int) *sessions {
	if most <= 0 {
		most = mostSessions
	}
	return &sessions{most: most, holders: map[*Session]struct{}{}, freed: make(chan struct{})}
}

// occupy gives a session an instance for a call. It reports whether the instance is new. The
// session that was not used for the longest time may lose its own. While all sessions are
// busy, it waits, unless a backend of one of them calls.
func (l *Library) occupy(ctx context.Context, session *Session) (isNew bool, err error) {
	if l.running.hasEnded() {
		return false, ErrClosed
	}
	for {
		found, lost, freed := l.sessions.enter(session)
		if lost != nil {
			lost.discard(ctx)
		}
		if found != nil {
			return false, nil
		}
		if freed == nil {
			break
		}
		if isBackends(ctx) {
			return false, ErrBackendWaits
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
	in, err := l.take(context.WithoutCancel(ctx))
	if err != nil {
		l.sessions.leave(session)
		return false, err
	}
	l.sessions.give(session, in)
	return true, nil
}

// enter makes a session busy. It returns the session's instance; or none, if the session gets
// one, with the instance that another session has lost; or what to wait for.
func (s *sessions) enter(session *Session) (found, lost *instance, freed <-chan struct{}) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if _, isHolder := s.holders[session]; !isHolder {
		if len(s.holders) >= s.most {
			oldest := s.oldest()
			if oldest == nil {
				return nil, nil, s.freed
			}
			lost = oldest.in
			s.remove(oldest)
		}
		s.holders[session] = struct{}{}
	}
	session.isBusy = true
	return session.in, lost, nil
}

// oldest returns the session that was not used for the longest time, and is not busy.
func (s *sessions) oldest() *Session {
	var found *Session
	for session := range s.holders {
		if !session.isBusy && (found == nil || session.used < found.used) {
			found = session
		}
	}
	return found
}

func (s *sessions) give(session *Session, in *instance) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	session.in = in
}

// keep lets a session keep its instance after a call.
func (s *sessions) keep(session *Session) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.uses++
	session.isBusy, session.used = false, s.uses
	s.free()
}

// leave takes the instance of a session away, if it has one.
func (s *sessions) leave(session *Session) *instance {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	in := session.in
	s.remove(session)
	s.free()
	return in
}

func (s *sessions) remove(session *Session) {
	delete(s.holders, session)
	session.in, session.isBusy = nil, false
}

func (s *sessions) free() {
	close(s.freed)
	s.freed = make(chan struct{})
}

// wipe wipes the instances of all sessions. None of them is in a call.
func (s *sessions) wipe() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for session := range s.holders {
		if session.in != nil {
			session.in.wipe()
		}
	}
}

// converse sends a request to the instance of a session, which is busy. It waits for the
// answer, also if the context ends meanwhile: the state of a session is never unknown, and a
// request has little to do beside the backends, which have the context. After a failure, the
// session has lost its instance. It also loses the one that a backend has left in the middle
// of a request, by the end of its goroutine.
func (l *Library) converse(ctx context.Context, session *Session, request [][]byte) ([]byte, error) {
	if !l.running.enter() {
		return nil, ErrClosed
	}
	isLeft := true
	defer func() {
		if isLeft {
			l.giveUp(ctx, session)
		}
	}()
	found := l.start(context.WithoutCancel(ctx), session.in, request, func(context.Context, *instance) {})()
	isLeft = false
	if found.err != nil {
		l.sessions.leave(session)
	}
	return found.answer, found.err
}

// giveUp takes the instance of a session away, and wipes it.
func (l *Library) giveUp(ctx context.Context, session *Session) {
	if in := l.sessions.leave(session); in != nil {
		in.discard(ctx)
	}
}

// closeSession ends the session of an instance, and keeps the instance for other calls.
func (l *Library) closeSession(in *instance) {
	if !l.running.enter() {
		return
	}
	l.start(context.Background(), in, [][]byte{[]byte(`"closeSession"`)}, l.give)()
}
