package liqoauth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	liqov1beta1 "github.com/liqotech/liqo/apis/core/v1beta1"
)

// effects returns what a step does, each effect in a line. A record is sealed, so of
// it only its name is shown.
func effects(t *testing.T, step *Step) []string {
	t.Helper()
	var lines []string
	for _, effect := range step.Effects {
		id := effect.ID
		if id == nil {
			var object struct {
				Kind     string          `json:"kind"`
				Metadata ObjectReference `json:"metadata"`
			}
			if err := json.Unmarshal(effect.Object, &object); err != nil {
				t.Fatal(err)
			}
			id = &object.Metadata
			id.Kind = object.Kind
		}
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %s", effect.Type, id, effect.Patch)))
	}
	return lines
}

// does fails unless a call succeeds with these effects, and applies them.
func does(t *testing.T, on *cluster, step *Step, err error, want ...string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if found := effects(t, step); !slices.Equal(found, want) {
		t.Errorf("\n%s\ninstead of\n%s", strings.Join(found, "\n"), strings.Join(want, "\n"))
	}
	on.apply(t, step)
}

const (
	providersRecord = "Secret liqo/liqo-auth-provider-cl-consumer"
	consumersRecord = "Secret liqo/liqo-auth-consumer-cl-provider"
	tenantPlace     = "Tenant liqo-tenant-cl-consumer/cl-consumer"
	replicaPlace    = "ResourceSlice liqo-tenant-cl-consumer/mypool"
)

func (p *pair) seenByProvider() View { return p.atProvider.view("cl-consumer") }
func (p *pair) seenByConsumer() View { return p.atConsumer.view("cl-provider") }

func (p *pair) settleProvider(t *testing.T) {
	t.Helper()
	settle(t, p.atProvider, "cl-consumer", nil, p.provider.Receive, p.provider.Reconcile)
}

// replicate copies a slice to the provider, as Liqo does.
func (p *pair) replicate(name string) {
	replica := object("authentication.liqo.io/v1beta1", "ResourceSlice", "liqo-tenant-cl-consumer", name, map[string]any{
		"liqo.io/replication": "false", "liqo.io/replicated": "true",
		"liqo.io/remoteID": "cl-provider", "liqo.io/originID": "cl-consumer",
		"liqo.io/remote-cluster-id": "cl-consumer",
	})
	replica["spec"] = p.atConsumer.objects[place("ResourceSlice", "liqo-tenant-cl-provider", name)]["spec"]
	p.atProvider.put(replica)
}

func TestTheAdministratorsCalls(t *testing.T) {
	p := newPair(t, newLibrary(t, Options{}), newKey(t))
	p.authenticate(t)
	ctx := t.Context()

	step, err := p.provider.SetCondition(ctx, p.seenByProvider(), "Cordoned")
	does(t, p.atProvider, step, err, "replace "+providersRecord,
		"patch "+tenantPlace+` {"spec":{"tenantCondition":"Cordoned"}}`)
	_, err = p.provider.SetCondition(ctx, p.seenByProvider(), "Unknown")
	if !errors.Is(err, Code("request-form")) {
		t.Errorf("an unknown condition: %v", err)
	}
	step, err = p.provider.LiftCondition(ctx, p.seenByProvider())
	does(t, p.atProvider, step, err, "replace "+providersRecord)
	p.settleProvider(t)

	step, err = p.consumer.RequestSlice(ctx, p.seenByConsumer(), SliceOptions{
		Name: "mypool", Resources: map[string]string{"cpu": "2"},
	})
	does(t, p.atConsumer, step, err, "replace "+consumersRecord,
		"create ResourceSlice liqo-tenant-cl-provider/mypool")
	settle(t, p.atConsumer, "cl-provider", nil, p.consumer.Receive, p.consumer.Reconcile)
	p.replicate("mypool")
	p.settleProvider(t)
	recordOfSlice := ""
	for at := range p.atProvider.objects {
		if name, ok := strings.CutPrefix(at, "Secret/liqo/"); ok && name != "liqo-auth-provider-cl-consumer" {
			recordOfSlice = "Secret liqo/" + name
		}
	}
	step, err = p.provider.CordonSlice(ctx, p.seenByProvider(), "mypool")
	does(t, p.atProvider, step, err, "replace "+recordOfSlice,
		"patch "+replicaPlace+` {"metadata":{"annotations":{"liqo.io/cordon":"true"}}}`)
	step, err = p.provider.UncordonSlice(ctx, p.seenByProvider(), "mypool")
	does(t, p.atProvider, step, err, "replace "+recordOfSlice,
		"patch "+replicaPlace+` {"metadata":{"annotations":{"liqo.io/cordon":null}}}`)
	// Nothing that Liqo has granted waits for a person.
	step, err = p.provider.ConfirmSlice(ctx, p.seenByProvider(), "mypool")
	does(t, p.atProvider, step, err)
	if _, err = p.provider.End(ctx, p.seenByProvider()); !errors.Is(err, Code("slices-remain")) {
		t.Errorf("an end before that of the slices: %v", err)
	}
	step, err = p.consumer.DeleteSlice(ctx, p.seenByConsumer(), "mypool")
	does(t, p.atConsumer, step, err, "delete ResourceSlice liqo-tenant-cl-provider/mypool")
	delete(p.atProvider.objects, place("ResourceSlice", "liqo-tenant-cl-consumer", "mypool"))
	p.settleProvider(t)

	nonce := p.atProvider.objects[place("Secret", "liqo-tenant-cl-consumer", "liqo-nonce")]["data"].(map[string]any)["nonce"]
	step, err = p.provider.ReplaceNonce(ctx, p.seenByProvider())
	if err != nil || len(step.Outbox) != 1 || step.Outbox[0].Type != "nonce" {
		t.Fatalf("%v %+v", err, step)
	}
	p.atProvider.apply(t, step)
	if p.atProvider.objects[place("Secret", "liqo-tenant-cl-consumer", "liqo-nonce")]["data"].(map[string]any)["nonce"] == nonce {
		t.Error("the nonce stays")
	}
	step, err = p.provider.ReleaseKey(ctx, p.seenByProvider())
	does(t, p.atProvider, step, err, "replace "+providersRecord)

	step, err = p.consumer.ReleasePins(ctx, p.seenByConsumer())
	does(t, p.atConsumer, step, err, "replace "+consumersRecord)
	step, err = p.consumer.Unauthenticate(ctx, p.seenByConsumer())
	does(t, p.atConsumer, step, err, "replace "+consumersRecord,
		"delete Secret liqo-tenant-cl-provider/liqo-signed-nonce",
		"delete Renew liqo-tenant-cl-provider/controlplane-cl-provider",
		"delete Secret liqo-tenant-cl-provider/kubeconfig-controlplane-cl-provider",
		"delete Identity liqo-tenant-cl-provider/controlplane-cl-provider")
	step, err = p.provider.End(ctx, p.seenByProvider())
	if err != nil || !slices.Contains(effects(t, step), "delete "+tenantPlace) {
		t.Errorf("%v %+v", err, step)
	}
}

// ask brings the consumer's Tenant to the provider, which has invited the consumer.
func (p *pair) ask(t *testing.T) {
	t.Helper()
	_, tenant := p.invite(t)
	settle(t, p.atProvider, "cl-consumer", []Message{tenant}, p.provider.Receive, p.provider.Reconcile)
}

// awaitingApproval is a pair whose consumer waits for an administrator.
func awaitingApproval(t *testing.T, library *Library) *pair {
	t.Helper()
	p := newPair(t, library, newKey(t))
	authority := newAuthority(t)
	p.provider = library.Provider(ProviderConfig{
		ClusterID: "cl-provider", APIServer: "https://172.19.0.3:6443", APIServerCA: authority.pem, RequireApproval: true,
	}, p.recordKey, Backends{Key: &Key{Signer: newKey(t)}, Names: nobodyElse, Signer: authority.sign, Now: testNow})
	p.ask(t)
	return p
}

func TestAnAdministratorApprovesOrDenies(t *testing.T) {
	library := newLibrary(t, Options{})
	p := awaitingApproval(t, library)
	step, err := p.provider.Approve(t.Context(), p.seenByProvider())
	if err != nil || step.IsSettled() {
		t.Fatalf("%v %+v", err, step)
	}
	p.atProvider.apply(t, step)
	identities := settle(t, p.atProvider, "cl-consumer", nil, p.provider.Receive, p.provider.Reconcile)
	settle(t, p.atConsumer, "cl-provider", identities, p.consumer.Receive, p.consumer.Reconcile)
	if !p.isAuthenticated(t) {
		t.Error("the approved consumer is not authenticated")
	}
	_, err = p.provider.Deny(t.Context(), p.seenByProvider(), "late")
	if !errors.Is(err, Code("approval-not-pending")) {
		t.Errorf("a denial after the approval: %v", err)
	}

	p = awaitingApproval(t, library)
	step, err = p.provider.Deny(t.Context(), p.seenByProvider(), "unknown owner")
	if err != nil || step.IsSettled() {
		t.Fatalf("%v %+v", err, step)
	}
	p.atProvider.apply(t, step)
	step, err = p.provider.Reconcile(t.Context(), p.seenByProvider())
	if err != nil || len(step.Refused) != 1 || !strings.Contains(step.Refused[0].Error.Message, "unknown owner") {
		t.Errorf("%v %+v", err, step)
	}
}

// withoutEmpty drops what is absent in Go: null, and empty text.
func withoutEmpty(value any) any {
	fields, ok := value.(map[string]any)
	if !ok {
		return value
	}
	for name, field := range fields {
		if field == nil || field == "" {
			delete(fields, name)
			continue
		}
		fields[name] = withoutEmpty(field)
	}
	return fields
}

func TestEachQuestionReachesItsBackendWhole(t *testing.T) {
	var seen any
	backends := Backends{
		Names: func(_ context.Context, q NameRequest) (bool, error) { seen = q; return true, nil },
		Signer: func(_ context.Context, q SigningRequest) (string, error) {
			seen = q
			return "", Denied{Reason: "no"}
		},
		Approver: func(_ context.Context, q ApprovalRequest) error { seen = q; return nil },
		AWS: func(_ context.Context, q AWSRequest) (*AWSUser, error) {
			seen = q
			return &AWSUser{UserARN: "arn", AccessKeyID: "AKIA", SecretAccessKey: "s", Region: "eu", ClusterName: "c"}, nil
		},
		Slices: func(_ context.Context, q SliceRequest) (*SliceDecision, error) {
			seen = q
			return nil, ErrPending
		},
	}
	for name, want := range map[string]string{
		"name":        `{"type":"ready","value":true}`,
		"certificate": `{"type":"denied","reason":"no"}`,
		"approval":    `{"type":"ready"}`,
		"awsIdentity": `{"type":"ready","value":{"awsUserArn":"arn","awsAccessKeyID":"AKIA","awsSecretAccessKey":"s","awsRegion":"eu","awsClusterName":"c"}}`,
		"resources":   `{"type":"pending"}`,
	} {
		seen = nil
		question := readFile(t, "../tests/vectors/json/question/"+name+".json")
		answers, err := answerAll(t.Context(), []json.RawMessage{question}, backends.answer)
		if err != nil || len(answers) != 1 {
			t.Fatal(name, err)
		}
		if answer, err := json.Marshal(answers[0].Answer); err != nil || string(answer) != want {
			t.Errorf("%s: %v %s", name, err, answer)
		}
		// The backend's request has every field of the question but its type.
		raw, err := json.Marshal(seen)
		if err != nil {
			t.Fatal(err)
		}
		var found, asked map[string]any
		if err := errors.Join(json.Unmarshal(raw, &found), json.Unmarshal(question, &asked)); err != nil {
			t.Fatal(err)
		}
		delete(asked, "type")
		if !reflect.DeepEqual(withoutEmpty(found), withoutEmpty(asked)) {
			t.Errorf("%s:\n%v\ninstead of\n%v", name, found, asked)
		}
	}
}

func TestAnAWSUserIsRevoked(t *testing.T) {
	library := newLibrary(t, Options{})
	p := newPair(t, library, newKey(t))
	authority := newAuthority(t)
	p.provider = library.Provider(ProviderConfig{
		ClusterID: "cl-provider", APIServer: "https://172.19.0.3:6443", APIServerCA: authority.pem,
	}, p.recordKey, Backends{
		Key: &Key{Signer: newKey(t)}, Names: nobodyElse, Now: testNow,
		AWS: func(context.Context, AWSRequest) (*AWSUser, error) {
			return &AWSUser{
				UserARN: "arn:aws:iam::123456789012:user/cl-consumer", AccessKeyID: "AKIAIOSFODNN7EXAMPLE",
				SecretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", Region: "eu-west-1", ClusterName: "provider",
			}, nil
		},
	})
	p.consumer = library.Consumer(ConsumerConfig{
		ClusterID: "cl-consumer",
		Peers:     map[liqov1beta1.ClusterID]ProviderSettings{"cl-provider": {AcceptAWS: true}},
	}, Key{Signer: newKey(t)}, testNow)
	p.authenticate(t)

	step, err := p.provider.End(t.Context(), p.seenByProvider())
	if err != nil {
		t.Fatal(err)
	}
	for range 8 {
		p.atProvider.apply(t, step)
		if step, err = p.provider.Reconcile(t.Context(), p.seenByProvider()); err != nil {
			t.Fatal(err)
		}
	}
	remedy := remedyOf(step, "awsRevocation")
	if remedy == nil || remedy.Code != "deleteAccessKey" || remedy.AccessKeyID != "AKIAIOSFODNN7EXAMPLE" {
		t.Fatalf("%+v, %+v", remedy, step.Wait)
	}
	step, err = p.provider.AWSKeyRevoked(t.Context(), p.seenByProvider(), "AKIAIOSFODNN7EXAMPLE")
	if err != nil || step.IsSettled() {
		t.Fatalf("%v %+v", err, step)
	}
	p.atProvider.apply(t, step)
	step, err = p.provider.Reconcile(t.Context(), p.seenByProvider())
	if err != nil || remedyOf(step, "awsRevocation") != nil {
		t.Errorf("%v %+v", err, step)
	}
}

// remedyOf is what an administrator can do about what the step awaits.
func remedyOf(step *Step, awaited string) *Remedy {
	for _, one := range step.Wait.Awaiting {
		if one.Type == awaited {
			return one.Remedy
		}
	}
	return nil
}

func TestASignatureIsAskedForAgain(t *testing.T) {
	library := newLibrary(t, Options{})
	p := newPair(t, library, newKey(t))
	authority := newAuthority(t)
	p.provider = library.Provider(ProviderConfig{
		ClusterID: "cl-provider", APIServer: "https://172.19.0.3:6443", APIServerCA: authority.pem, KubernetesSigner: true,
	}, p.recordKey, Backends{Key: &Key{Signer: newKey(t)}, Names: nobodyElse, Now: testNow})
	p.ask(t)
	denied := ""
	for at, request := range p.atProvider.objects {
		if strings.HasPrefix(at, "CertificateSigningRequest/") {
			denied = strings.TrimPrefix(at, "CertificateSigningRequest//")
			request["status"] = map[string]any{"conditions": []any{map[string]any{
				"type": "Denied", "status": "True", "reason": "Policy", "message": "not today",
			}}}
			p.atProvider.put(request)
		}
	}
	step, err := p.provider.Reconcile(t.Context(), p.seenByProvider())
	if err != nil || len(step.Refused) != 1 {
		t.Fatalf("%q: %v %+v", denied, err, step)
	}
	p.atProvider.apply(t, step)
	step, err = p.provider.SignAgain(t.Context(), p.seenByProvider(), "")
	does(t, p.atProvider, step, err, "replace "+providersRecord, "delete CertificateSigningRequest "+denied)
	p.settleProvider(t)
	if p.atProvider.objects[place("CertificateSigningRequest", "", denied)] == nil {
		t.Error("there is no new request")
	}
}

func TestNoCapsDifferFromTheDefaultCaps(t *testing.T) {
	for want, caps := range map[string]map[string]string{"null": nil, "{}": {}, `{"cpu":"2"}`: {"cpu": "2"}} {
		text, err := json.Marshal(ProviderConfig{AdoptUpTo: caps})
		if err != nil {
			t.Fatal(err)
		}
		if found := strings.Contains(string(text), `"adoptUpTo":`+want); found != (caps != nil) {
			t.Errorf("%v: %s", caps, text)
		}
	}
}

// A module of an earlier version does not know the field.
func TestUnknownClientCAsAreLeftOut(t *testing.T) {
	for cas, want := range map[string]bool{"": false, "PEM": true} {
		text, err := json.Marshal(ProviderConfig{ClientCAs: cas})
		if err != nil {
			t.Fatal(err)
		}
		if found := strings.Contains(string(text), `"clientCAs":"PEM"`); found != want {
			t.Errorf("%q: %s", cas, text)
		}
	}
}

func TestTheNextCallTakesTheNextClientCAs(t *testing.T) {
	provider := newLibrary(t, Options{}).Provider(ProviderConfig{ClientCAs: "first"}, [32]byte{}, Backends{})
	for _, want := range []string{"first", "second", ""} {
		if want != "first" {
			provider.SetClientCAs(want)
		}
		form, err := provider.form()
		if err != nil {
			t.Fatal(err)
		}
		for name, told := range map[string][]byte{"a session": form.side, "a call": form.opening} {
			has := bytes.Contains(told, []byte(`"clientCAs":"`+want+`"`))
			if has != (want != "") {
				t.Errorf("%s after %q: %s", name, want, told)
			}
		}
		if again, err := provider.form(); err != nil || again != form {
			t.Errorf("%v, made again", err)
		}
	}
}

func TestASliceIsReconsidered(t *testing.T) {
	library := newLibrary(t, Options{})
	p := newPair(t, library, newKey(t))
	authority := newAuthority(t)
	isFull := true
	p.provider = library.Provider(ProviderConfig{
		ClusterID: "cl-provider", APIServer: "https://172.19.0.3:6443", APIServerCA: authority.pem,
	}, p.recordKey, Backends{
		Key: &Key{Signer: newKey(t)}, Names: nobodyElse, Signer: authority.sign, Now: testNow,
		Slices: func(context.Context, SliceRequest) (*SliceDecision, error) {
			if isFull {
				return &SliceDecision{Type: "deny", Reason: "NoRoom", Message: "The cluster is full."}, nil
			}
			return &SliceDecision{Type: "grant", Grant: &Grant{Resources: map[string]string{"cpu": "2"}}}, nil
		},
	})
	p.authenticate(t)
	step, err := p.consumer.RequestSlice(t.Context(), p.seenByConsumer(), SliceOptions{
		Name: "mypool", Resources: map[string]string{"cpu": "2"},
	})
	if err != nil {
		t.Fatal(err)
	}
	p.atConsumer.apply(t, step)
	settle(t, p.atConsumer, "cl-provider", nil, p.consumer.Receive, p.consumer.Reconcile)
	p.replicate("mypool")
	replica := place("ResourceSlice", "liqo-tenant-cl-consumer", "mypool")
	resources := func() string {
		p.settleProvider(t)
		status, err := json.Marshal(p.atProvider.objects[replica]["status"])
		if err != nil {
			t.Fatal(err)
		}
		return string(status)
	}
	if status := resources(); !strings.Contains(status, "NoRoom") {
		t.Fatal(status)
	}
	// A denial stays until an administrator lifts it.
	isFull = false
	if status := resources(); !strings.Contains(status, "NoRoom") {
		t.Error(status)
	}
	step, err = p.provider.ReconsiderSlice(t.Context(), p.seenByProvider(), "mypool")
	if err != nil || step.IsSettled() {
		t.Fatalf("%v %+v", err, step)
	}
	p.atProvider.apply(t, step)
	if status := resources(); strings.Contains(status, "NoRoom") || !strings.Contains(status, `"cpu":"2"`) {
		t.Error(status)
	}
}
