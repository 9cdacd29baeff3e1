package controller

import (
	"maps"
	"sync"
	"time"

	liqov1beta1 "github.com/liqotech/liqo/apis/core/v1beta1"
)

const (
	// eventInterval is the time between two events once the burst is spent.
	eventInterval = time.Minute
	// eventBurst is 25 events, as other components of Kubernetes have it.
	eventBurst = 25 * eventInterval
)

// spending is the events of a peer with one reason: a flood of refusals takes no room from notices.
type spending struct {
	peer   liqov1beta1.ClusterID
	reason string
}

// eventBudget is how many events each peer may cause.
type eventBudget struct {
	now func() time.Time

	mutex sync.Mutex
	spent map[spending]spent
}

type spent struct {
	// wholeAt is when the burst is whole again.
	wholeAt time.Time
	// leftOut is how many events were left out since the last one.
	leftOut int
}

func newEventBudget() *eventBudget {
	return &eventBudget{now: time.Now, spent: map[spending]spent{}}
}

// spend counts an event. It reports whether the event is left out; else, how many were left out since
// the last one.
func (b *eventBudget) spend(on spending) (leftOut int, isLeft bool) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	now := b.now()
	maps.DeleteFunc(b.spent, func(_ spending, spent spent) bool {
		return spent.leftOut == 0 && !spent.wholeAt.After(now)
	})
	found := b.spent[on]
	if found.wholeAt.Before(now) {
		found.wholeAt = now
	}
	wholeAt := found.wholeAt.Add(eventInterval)
	if wholeAt.Sub(now) > eventBurst {
		found.leftOut++
		b.spent[on] = found
		return 0, true
	}
	b.spent[on] = spent{wholeAt: wholeAt}
	return found.leftOut, false
}
