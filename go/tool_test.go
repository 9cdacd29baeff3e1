package liqoauth

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authv1beta1 "github.com/liqotech/liqo/apis/authentication/v1beta1"
)

// tool is the command-line tool, which has the library as native code.
type tool struct {
	path, home string
}

// newTool makes a home. LIQO_AUTH_TOOL names the tool; without it the test does not run.
func newTool(t *testing.T, id string) tool {
	t.Helper()
	path := os.Getenv("LIQO_AUTH_TOOL")
	if path == "" {
		t.Skip("LIQO_AUTH_TOOL names no tool")
	}
	made := tool{path: path, home: filepath.Join(t.TempDir(), id)}
	made.run(t, "", "init", "--api-server", "https://"+id+".example:6443")
	return made
}

func (c tool) run(t *testing.T, input string, arguments ...string) string {
	t.Helper()
	command := exec.Command(c.path, append(arguments, "--home", c.home)...)
	command.Stdin = strings.NewReader(input)
	var output, diagnostics bytes.Buffer
	command.Stdout, command.Stderr = &output, &diagnostics
	if err := command.Run(); err != nil {
		t.Fatalf("%v: %v\n%s", arguments, err, diagnostics.String())
	}
	return output.String()
}

// apply gives an object to the tool.
func (c tool) apply(t *testing.T, object any) {
	t.Helper()
	raw, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "object.json")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	c.run(t, "", "apply", "-f", file)
}

func TestAProviderInGoAndAConsumerInRust(t *testing.T) {
	consumer := newTool(t, "cl-consumer")
	pair := newPairAt(t, newLibrary(t, Options{}), newKey(t), time.Now)
	step, err := pair.provider.Invite(t.Context(), pair.atProvider.view("cl-consumer"))
	if err != nil {
		t.Fatal(err)
	}
	pair.atProvider.apply(t, step)
	written := consumer.run(t, step.Outbox[0].Nonce,
		"generate", "tenant", "--remote-cluster-id", "cl-provider", "--nonce", "-", "-o", "json")
	var tenant authv1beta1.Tenant
	if err := json.Unmarshal([]byte(written), &tenant); err != nil {
		t.Fatal(err)
	}
	message := TenantMessage("cl-consumer", "cl-provider", &tenant)
	answers := settle(t, pair.atProvider, "cl-consumer", []Message{message}, pair.provider.Receive, pair.provider.Reconcile)
	if len(answers) != 1 || answers[0].Identity == nil {
		t.Fatalf("%+v", answers)
	}
	consumer.apply(t, answers[0].Identity)
	if status := consumer.run(t, "", "status"); !strings.Contains(status, "Authenticated") {
		t.Error(status)
	}
}

func TestAProviderInRustAndAConsumerInGo(t *testing.T) {
	provider := newTool(t, "cl-provider")
	pair := newPairAt(t, newLibrary(t, Options{}), newKey(t), time.Now)
	provider.run(t, "", "create", "nonce", "--remote-cluster-id", "cl-consumer")
	nonce := strings.TrimSpace(provider.run(t, "", "get", "nonce", "--remote-cluster-id", "cl-consumer"))
	invitation := NonceMessage("cl-provider", "cl-consumer", nonce)
	tenants := settle(t, pair.atConsumer, "cl-provider", []Message{invitation}, pair.consumer.Receive, pair.consumer.Reconcile)
	if len(tenants) != 1 || tenants[0].Tenant == nil {
		t.Fatalf("%+v", tenants)
	}
	provider.apply(t, tenants[0].Tenant)
	written := provider.run(t, "", "generate", "identity", "--remote-cluster-id", "cl-consumer", "-o", "json")
	var identity authv1beta1.Identity
	if err := json.Unmarshal([]byte(written), &identity); err != nil {
		t.Fatal(err)
	}
	message := IdentityMessage("cl-provider", "cl-consumer", &identity)
	settle(t, pair.atConsumer, "cl-provider", []Message{message}, pair.consumer.Receive, pair.consumer.Reconcile)
	if !pair.isAuthenticated(t) {
		t.Error("the consumer is not authenticated")
	}
}
