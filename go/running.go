package liqoauth

import "sync"

// running counts the calls in progress. A call may begin while another one of the same
// goroutine is in progress, since a backend may use the library. So the end holds up no call:
// it lets no further one begin, and waits for the others.
type running struct {
	mutex sync.Mutex
	ended bool
	calls sync.WaitGroup
}

// enter begins a call. It returns false after the end.
func (r *running) enter() bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.ended {
		return false
	}
	r.calls.Add(1)
	return true
}

func (r *running) leave() { r.calls.Done() }

func (r *running) hasEnded() bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.ended
}

// end waits for the calls in progress.
func (r *running) end() {
	r.mutex.Lock()
	r.ended = true
	r.mutex.Unlock()
	r.calls.Wait()
}
