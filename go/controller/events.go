package controller

import (
	"context"
	"fmt"
	"hash/fnv"
	"strings"

	liqov1beta1 "github.com/liqotech/liqo/apis/core/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	liqoauth "git.example.com/liqo-auth/liqo-auth/go"
)

const (
	// leftOutReason is the reason of an event about events that were left out.
	leftOutReason = "EventsLeftOut"
	// longestNote is how many bytes Kubernetes allows in the note of an event.
	longestNote = 1024
)

// report logs the reports of a run that are new, and records them as events in the tenant namespace.
func (r *Reconciler) report(ctx context.Context, peer liqov1beta1.ClusterID, found *found, reports []report, isCompleted bool) {
	for _, fresh := range found.session.fresh(reports, isCompleted) {
		log.FromContext(ctx).Info(strings.ToLower(fresh.reason), "peer", peer, "code", fresh.code,
			"remedy", fresh.remedy, "object", fresh.object.String(), "message", fresh.text)
		if r.Events != nil && found.place.namespace != "" {
			r.record(peer, found.place, fresh)
		}
	}
}

// record records an event, unless there were too many of the peer. An event says how many were left
// out before it.
func (r *Reconciler) record(peer liqov1beta1.ClusterID, at *place, fresh report) {
	leftOut, isLeft := r.budget.spend(spending{peer, fresh.reason})
	if isLeft {
		return
	}
	r.Events.Eventf(r.regarding(at, fresh.object), nil, corev1.EventTypeWarning, fresh.reason,
		actionOf(fresh), "%s", shortened(fresh.text))
	if leftOut == 0 {
		return
	}
	note := fmt.Sprintf("%d events with the reason %s were left out before, since there were too many; the log has them",
		leftOut, fresh.reason)
	r.Events.Eventf(r.regarding(at, liqoauth.ObjectReference{}), nil, corev1.EventTypeWarning, leftOutReason, fresh.reason, "%s", note)
}

// actionOf returns the action of an event. Events about one object with the same reason and action are
// one series, which keeps the first note. So another note has another action.
func actionOf(fresh report) string {
	digest := fnv.New32a()
	_, _ = digest.Write([]byte(fresh.text))
	return fmt.Sprintf("%s-%08x", fresh.code, digest.Sum32())
}

// shortened returns a note, without the end if it is too long.
func shortened(note string) string {
	return strings.ToValidUTF8(note[:min(len(note), longestNote)], "")
}
