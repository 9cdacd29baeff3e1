package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-logr/logr/funcr"
	authv1beta1 "github.com/liqotech/liqo/apis/authentication/v1beta1"
	liqov1beta1 "github.com/liqotech/liqo/apis/core/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/log"

	liqoauth "git.example.com/liqo-auth/liqo-auth/go"
)

// recorded is an event.
type recorded struct {
	regarding            corev1.ObjectReference
	reason, action, note string
}

// recorder has the events since they were taken.
type recorder struct {
	mutex  sync.Mutex
	events []recorded
}

func (r *recorder) Eventf(regarding, _ runtime.Object, _, reason, action, note string, args ...any) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.events = append(r.events, recorded{
		*regarding.(*corev1.ObjectReference), reason, action, fmt.Sprintf(note, args...),
	})
}

func (r *recorder) take() []recorded {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	taken := r.events
	r.events = nil
	return taken
}

// with returns the events whose notes begin so.
func with(events []recorded, note string) []recorded {
	return slices.DeleteFunc(slices.Clone(events), func(event recorded) bool { return !strings.HasPrefix(event.note, note) })
}

func pendingApproval() liqoauth.Backends {
	return liqoauth.Backends{Approver: func(context.Context, liqoauth.ApprovalRequest) error { return liqoauth.ErrPending }}
}

func (e *exchange) rounds(t *testing.T, number int) {
	t.Helper()
	for range number {
		if err := e.round(t); err != nil {
			t.Fatal(err)
		}
	}
}

// What an administrator has to do is told once, with its remedy, and not at each look.
func TestAPersonIsToldWhatToDoOnce(t *testing.T) {
	e := newExchange(t, pendingApproval(), interceptor.Funcs{})
	atProvider := &recorder{}
	e.ofProvider.Events = atProvider
	e.invite(t)
	events := atProvider.take()
	roles := with(events, `remedy createClusterRole {"labelValue":"remote-controlplane"}: noClusterRole`)
	namespace := corev1.ObjectReference{
		APIVersion: "v1", Kind: "Namespace", Namespace: "liqo-tenant-cl-consumer", Name: "liqo-tenant-cl-consumer",
	}
	// There is no Tenant yet.
	if len(events) != 2 || len(roles) != 1 || roles[0].reason != "Notice" || roles[0].regarding != namespace {
		t.Errorf("%+v", events)
	}
	if events[0].action == events[1].action || !strings.HasPrefix(events[0].action, "noClusterRole-") {
		t.Errorf("both events are one series: %+v", events)
	}
	// An order that is refused shows nothing of what is left to do, so all of it stays told.
	if _, err := e.ofProvider.Order(t.Context(), consumerID, liqoauth.OrderSetCondition("Cordoned")); err == nil {
		t.Fatal("an order without a Tenant is no error")
	}
	e.rounds(t, 4)
	events = atProvider.take()
	if len(events) != 1 || events[0].note != "remedy approve: approval" || events[0].reason != "Awaited" {
		t.Fatalf("%+v", events)
	}
	tenant := events[0].regarding
	if tenant.Kind != "Tenant" || tenant.Name != "cl-consumer" || tenant.UID == "" ||
		tenant.Namespace != namespace.Name || tenant.APIVersion != authv1beta1.GroupVersion.String() {
		t.Errorf("%+v", tenant)
	}
	if e.ofProvider.sessions[consumerID].place != nil {
		t.Error("the place of a run is kept")
	}
	// A reconciler that is started again tells it again.
	e.ofProvider = newReconciler(t, e.provider, e.atProvider, e.ofProvider.Deliver)
	e.ofProvider.Events = atProvider
	e.rounds(t, 2)
	events = atProvider.take()
	if len(events) != 3 || with(events, "remedy approve")[0].regarding != tenant || with(events, "remedy createClusterRole")[0].regarding != tenant {
		t.Errorf("%+v", events)
	}
}

func TestARefusedObjectIsToldOnce(t *testing.T) {
	e := authenticated(t, interceptor.Funcs{})
	events := &recorder{}
	e.ofProvider.Events = events
	slice := &authv1beta1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{
		Namespace: "liqo-tenant-cl-consumer", Name: "pool",
		Labels: map[string]string{
			"liqo.io/replicated": "true", "liqo.io/originID": "cl-consumer", "liqo.io/remote-cluster-id": "cl-consumer",
			"liqo.io/remoteID": "cl-provider",
		},
	}}
	other := providerID
	slice.Spec.ConsumerClusterID, slice.Spec.ProviderClusterID = &other, &other
	if err := e.atProvider.Create(t.Context(), slice); err != nil {
		t.Fatal(err)
	}
	e.rounds(t, 2)
	var refused []recorded
	for _, event := range events.take() {
		if event.reason == "Refused" {
			refused = append(refused, event)
		}
	}
	if len(refused) != 1 || refused[0].regarding.Name != "pool" || refused[0].regarding.UID == "" {
		t.Errorf("%+v", refused)
	}
}

// A look that is refused as a whole is told once as well, and no error of the queue.
func TestARefusedLookIsToldOnce(t *testing.T) {
	e := authenticated(t, interceptor.Funcs{})
	events := &recorder{}
	e.ofProvider.Events = events
	// A peer has one tenant namespace.
	second := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "second", Labels: map[string]string{
		"liqo.io/remote-cluster-id": "cl-consumer", "liqo.io/tenant-namespace": "true",
	}}}
	if err := e.atProvider.Create(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := e.ofProvider.Reconcile(t.Context(), request(consumerID)); err != nil {
			t.Error(err)
		}
	}
	found := events.take()
	if len(found) != 1 || found[0].reason != "Refused" || !strings.HasPrefix(found[0].action, "object-ambiguous-") {
		t.Errorf("%+v", found)
	}
}

func TestTheLogHasWhatAPersonShouldKnow(t *testing.T) {
	var lines []string
	ctx := log.IntoContext(t.Context(), funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{}))
	e := newExchange(t, pendingApproval(), interceptor.Funcs{})
	for range 2 {
		if _, err := e.ofProvider.Order(ctx, consumerID, liqoauth.OrderInvite()); err != nil {
			t.Fatal(err)
		}
	}
	want := `"level"=0 "msg"="notice" "peer"="cl-consumer" "code"="noClusterRole" "remedy"="createClusterRole" "object"=`
	if len(lines) != 2 || !strings.Contains(lines[0], want) || !strings.Contains(lines[0], `"message"="remedy createClusterRole`) {
		t.Errorf("%s", strings.Join(lines, "\n"))
	}
	// Without a tenant namespace, there is no place for an event.
	events := &recorder{}
	e.ofConsumer.Events = events
	lines = nil
	found := &found{session: &session{}, place: newPlace(providerID)}
	e.ofConsumer.report(ctx, providerID, found, []report{{reason: "Notice", text: "any"}}, true)
	if taken := events.take(); len(taken) != 0 || len(lines) != 1 {
		t.Errorf("%+v, %v", taken, lines)
	}
}

func TestAFloodOfEventsIsLeftOutAndCounted(t *testing.T) {
	now := time.Now()
	budget := newEventBudget()
	budget.now = func() time.Time { return now }
	events := &recorder{}
	reconciler := &Reconciler{Config: Config{Events: events}, budget: budget, peers: &peers{}}
	at := newPlace(consumerID)
	at.namespace = "elsewhere"
	record := func(peer liqov1beta1.ClusterID, reason string) []recorded {
		reconciler.record(peer, at, report{reason: reason, text: "any"})
		return events.take()
	}
	for i := range 25 {
		if found := record(consumerID, "Refused"); len(found) != 1 {
			t.Fatalf("%d: %+v", i, found)
		}
	}
	for range 7 {
		if found := record(consumerID, "Refused"); len(found) != 0 {
			t.Errorf("%+v", found)
		}
	}
	// Other reasons and other peers have their own.
	if len(record(consumerID, "Notice")) != 1 || len(record("cl-other", "Refused")) != 1 {
		t.Error("the flood takes room from others")
	}
	now = now.Add(time.Minute)
	want := "7 events with the reason Refused were left out before, since there were too many; the log has them"
	found := record(consumerID, "Refused")
	if len(found) != 2 || found[1].reason != "EventsLeftOut" || found[1].note != want || found[1].action != "Refused" ||
		found[1].regarding.Kind != "Namespace" || found[1].regarding.Name != "elsewhere" {
		t.Errorf("%+v", found)
	}
	if found := record(consumerID, "Refused"); len(found) != 0 {
		t.Errorf("%+v", found)
	}
	// What was left out is remembered, and quiet peers are not.
	now = now.Add(24 * time.Hour)
	record("cl-last", "Notice")
	if len(budget.spent) != 2 {
		t.Errorf("%v", budget.spent)
	}
	for range 25 {
		if found := record(consumerID, "Refused"); len(found) == 0 {
			t.Error("the burst is not whole")
		}
	}
}

func TestTheEndOfALongNoteIsCutOff(t *testing.T) {
	for _, note := range []string{strings.Repeat("A", longestNote), strings.Repeat("é", longestNote/2), "short"} {
		if found := shortened(note); found != note {
			t.Errorf("%q", found)
		}
	}
	if found := shortened("A" + strings.Repeat("é", longestNote)); len(found) != longestNote-1 || !utf8.ValidString(found) {
		t.Errorf("%d bytes", len(found))
	}
}

func TestAnEventRegardsAnObjectOfItsNamespace(t *testing.T) {
	at := newPlace(consumerID)
	of := func(kind, namespace, name string, labels map[string]string) liqoauth.ObjectReference {
		object := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{Kind: kind}}
		object.Namespace, object.Name, object.Labels, object.UID = namespace, name, labels, "uid"
		at.add(object)
		return liqoauth.ObjectReference{Kind: kind, Namespace: namespace, Name: name}
	}
	early := of("Tenant", "elsewhere", "early", nil)
	of("Namespace", "", "one", map[string]string{"liqo.io/remote-cluster-id": "cl-consumer"})
	of("Namespace", "", "two", map[string]string{"liqo.io/remote-cluster-id": "cl-other", "liqo.io/tenant-namespace": "true"})
	labels := map[string]string{"liqo.io/remote-cluster-id": "cl-consumer", "liqo.io/tenant-namespace": "true"}
	of("Pod", "", "three", labels)
	role := of("ClusterRole", "", "four", nil)
	if at.namespace != "" || len(at.uids) != 0 {
		t.Fatalf("%+v", at)
	}
	of("Namespace", "", "elsewhere", labels)
	tenant := of("Tenant", "elsewhere", "cl-consumer", nil)
	secret := of("Secret", "elsewhere", "any", nil)
	other := of("Tenant", "other", "cl-consumer", nil)
	longest := of("ResourceSlice", "elsewhere", strings.Repeat("a", longestName), nil)
	longer := of("ResourceSlice", "elsewhere", strings.Repeat("a", longestName+1), nil)
	if at.namespace != "elsewhere" || at.tenant != tenant {
		t.Errorf("%+v", at)
	}
	e := newExchange(t, liqoauth.Backends{}, interceptor.Funcs{})
	for _, id := range []liqoauth.ObjectReference{tenant, secret, longest} {
		if found := e.ofProvider.regarding(at, id); found.Kind != id.Kind || found.Name != id.Name || found.UID != "uid" || found.Namespace != "elsewhere" {
			t.Errorf("%v: %+v", id, found)
		}
	}
	for _, id := range []liqoauth.ObjectReference{early, role, other, longer, {}} {
		if found := e.ofProvider.regarding(at, id); found.Kind != "Namespace" || found.Name != "elsewhere" || found.Namespace != "elsewhere" || found.APIVersion != "v1" {
			t.Errorf("%v: %+v", id, found)
		}
	}
}
