package liqoauth

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// privateKey stands for a private key of this cluster.
const privateKey = "cHJpdmF0ZSBrZXkgb2YgdGhpcyBjbHVzdGVy"

// kubeconfigOfLiqo is a kubeconfig as Liqo makes it.
const kubeconfigOfLiqo = `apiVersion: v1
clusters:
- cluster:
    server: https://172.19.0.3:6443
  name: cl-provider
kind: Config
users:
- name: controlplane-cl-provider
  user:
    client-key-data: ` + privateKey + "\n"

// secretsOf returns a Secret as a typed object, and as a map.
func secretsOf(namespace, name string, labels, values map[string]string) []runtime.Object {
	typed := &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels, UID: "uid", ResourceVersion: "7"},
		Data:       map[string][]byte{},
	}
	data := map[string]any{}
	for name, value := range values {
		typed.Data[name] = []byte(value)
		data[name] = base64.StdEncoding.EncodeToString([]byte(value))
	}
	object := objectOf("Secret", namespace, name, "", 0)
	object.SetLabels(labels)
	object.Object["data"] = data
	return []runtime.Object{typed, object}
}

// valuesOf returns the values of a Secret.
func valuesOf(t *testing.T, secret runtime.Object) map[string]string {
	t.Helper()
	text, err := formOfObject(secret)
	if err != nil {
		t.Fatal(err)
	}
	var form struct {
		Data map[string][]byte `json:"data"`
	}
	if err := json.Unmarshal(text, &form); err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for name, value := range form.Data {
		found[name] = string(value)
	}
	return found
}

func TestTheModuleGetsTheValuesOfSecretsThatItReads(t *testing.T) {
	given := map[string]string{
		"nonce": "a", "signedNonce": "b", "csr": "c", "certificate": "d", "privateKey": privateKey,
		"kubeconfig": kubeconfigOfLiqo, "awsAccessKeyID": "e", "awsSecretAccessKey": "f",
		"awsRegion": "g", "awsEksClusterID": "h", "awsIamUserArn": "i",
	}
	for name, c := range map[string]struct {
		values secretValues
		read   string
	}{
		"provider": {valuesOfProvider(""), "nonce csr certificate"},
		"consumer": {valuesOfConsumer(""), "nonce signedNonce awsAccessKeyID awsSecretAccessKey awsRegion awsEksClusterID awsIamUserArn"},
	} {
		want := map[string]string{}
		for name := range given {
			want[name] = ""
		}
		for name := range strings.FieldsSeq(c.read) {
			want[name] = given[name]
		}
		for _, secret := range secretsOf("liqo-tenant-rome", "any", nil, given) {
			if found := valuesOf(t, c.values.of("rome", secret)); !maps.Equal(found, want) {
				t.Errorf("%s: %v", name, found)
			}
			// The caller's object stays as it is.
			if found := valuesOf(t, secret); !maps.Equal(found, given) {
				t.Errorf("%s: the object has changed: %v", name, found)
			}
		}
		for _, record := range secretsOf("liqo", "any", nil, given) {
			if found := valuesOf(t, c.values.of("rome", record)); !maps.Equal(found, given) {
				t.Errorf("%s: of a record, the module gets %v", name, found)
			}
		}
	}
	for _, values := range []secretValues{valuesOfProvider("records"), valuesOfConsumer("records")} {
		if values.namespace != "records" {
			t.Errorf("the namespace of the records is %q", values.namespace)
		}
	}
}

func TestOtherObjectsStayAsTheyAre(t *testing.T) {
	values := valuesOfConsumer("")
	role := objectOf("ClusterRole", "", "any", "", 0)
	role.Object["data"] = map[string]any{"any": "dGV4dA=="}
	unreadable := objectOf("Secret", "liqo-tenant-rome", "any", "", 0)
	unreadable.Object["data"] = map[string]any{"number": int64(7), "text": "no Base64"}
	empty := objectOf("Secret", "liqo-tenant-rome", "any", "", 0)
	for _, object := range []*unstructured.Unstructured{role, unreadable, empty} {
		before := object.DeepCopy()
		found := values.of("rome", object).(*unstructured.Unstructured)
		if fmt.Sprint(found.Object) != fmt.Sprint(before.Object) {
			t.Errorf("%v instead of %v", found.Object, before.Object)
		}
	}
}

// What the module has not made differs from what it would make, so it need not have it.
func TestTheModuleGetsItsOwnKubeconfigs(t *testing.T) {
	own := strings.ReplaceAll(kubeconfigOfLiqo, "client-key-data: "+privateKey, "client-key: /key.pem")
	for _, text := range []string{own, own + "preferences: {}\n", strings.ReplaceAll(own, "cl-provider", "client-key-data:")} {
		if !isOfModule([]byte(text)) {
			t.Errorf("the module does not get %s", text)
		}
	}
	for _, text := range []string{
		kubeconfigOfLiqo,
		strings.ReplaceAll(kubeconfigOfLiqo, "client-key-data", "token"),
		strings.ReplaceAll(own, "user:\n    client-key: /key.pem", "user: {client-key-data: "+privateKey+"}"),
		`{"users":[{"user":{"client-key-data":"` + privateKey + `"}}]}`,
	} {
		if isOfModule([]byte(text)) {
			t.Errorf("the module gets %s", text)
		}
	}
}

func TestAKubeconfigThatAnAdministratorMayHaveMadeIsWhole(t *testing.T) {
	labels := map[string]string{"liqo.io/identity-type": "ControlPlane", "liqo.io/remote-cluster-id": "rome"}
	without := func(name string) map[string]string {
		rest := maps.Clone(labels)
		delete(rest, name)
		return rest
	}
	for _, c := range []struct {
		name    string
		labels  map[string]string
		isWhole bool
	}{
		{"any", labels, true},
		{"kubeconfig-controlplane-milan", labels, true},
		{"kubeconfig-controlplane-rome", labels, false},
		{"any", without("liqo.io/identity-type"), false},
		{"any", without("liqo.io/remote-cluster-id"), false},
	} {
		given := map[string]string{"kubeconfig": kubeconfigOfLiqo}
		for _, secret := range secretsOf("liqo-tenant-rome", c.name, c.labels, given) {
			found := valuesOf(t, valuesOfConsumer("").of("rome", secret))
			if found["kubeconfig"] != "" != c.isWhole {
				t.Errorf("%s %v: %v", c.name, c.labels, found)
			}
			if found := valuesOf(t, valuesOfProvider("").of("rome", secret)); found["kubeconfig"] != "" {
				t.Errorf("a provider gets %v", found)
			}
		}
	}
}

// hasKey reports whether the private key is in a memory, as it is or in the Base64 of a Secret.
func hasKey(memory []byte) bool {
	inSecret := base64.StdEncoding.EncodeToString([]byte(kubeconfigOfLiqo))
	return bytes.Contains(memory, []byte(privateKey)) || bytes.Contains(memory, []byte(inSecret))
}

// A peering that Liqo has made has a kubeconfig with the private key.
func TestAKubeconfigOfLiqoPutsNoKeyIntoASession(t *testing.T) {
	library := newLibrary(t, Options{})
	pair := newPair(t, library, newKey(t))
	ofProvider, ofConsumer := pair.sessions()
	defer ofProvider.Close()
	defer ofConsumer.Close()
	pair.exchange(t, ofProvider, ofConsumer)
	const name = "kubeconfig-controlplane-cl-provider"
	stored := pair.atConsumer.objects[place("Secret", "liqo-tenant-cl-provider", name)]
	data := stored["data"].(map[string]any)
	made := data["kubeconfig"]
	data["kubeconfig"] = base64.StdEncoding.EncodeToString([]byte(kubeconfigOfLiqo))
	pair.atConsumer.put(stored)
	shown := &unstructured.Unstructured{Object: stored}
	if err := ofConsumer.Observe(shown); err != nil {
		t.Fatal(err)
	}
	next, err := ofConsumer.Reconcile(t.Context())
	if err != nil || len(next.Effects) == 0 {
		t.Fatalf("%v: %+v instead of the kubeconfig of this library", err, next)
	}
	if hasKey(memoryOf(t, ofConsumer)) {
		t.Error("the private key is in the module's memory")
	}
	pair.atConsumer.applyFor(t, ofConsumer, next)
	pair.atConsumer.drive(t, ofConsumer, OrderReconcile())
	stored = pair.atConsumer.objects[place("Secret", "liqo-tenant-cl-provider", name)]
	if data := stored["data"].(map[string]any); data["kubeconfig"] != made {
		t.Errorf("%v", data)
	}
	if status, err := ofConsumer.Look(t.Context()); err != nil || status.ControlPlane.Stage != "authenticated" {
		t.Errorf("%v %+v", err, status)
	}
}

// The module reads such a kubeconfig, so the session has it until it is closed.
func TestAKubeconfigMadeByHandIsWipedWithItsSession(t *testing.T) {
	library := newLibrary(t, Options{Instances: 1})
	pair := newPair(t, library, newKey(t))
	namespace := objectOf("Namespace", "", "liqo-tenant-cl-provider", "", 0)
	labels := map[string]string{"liqo.io/remote-cluster-id": "cl-provider", "liqo.io/tenant-namespace": "true"}
	namespace.SetLabels(labels)
	pair.atConsumer.put(namespace.Object)
	labels = map[string]string{"liqo.io/remote-cluster-id": "cl-provider", "liqo.io/identity-type": "ControlPlane"}
	secret := secretsOf("liqo-tenant-cl-provider", "by-hand", labels, map[string]string{"kubeconfig": kubeconfigOfLiqo})[1]
	pair.atConsumer.put(secret.(*unstructured.Unstructured).Object)
	_, session := pair.sessions()
	want := fmt.Sprintf("SHA256:%x", sha256.Sum256([]byte(kubeconfigOfLiqo)))
	status, err := session.Look(t.Context())
	if err != nil || len(status.Notices) != 1 || !strings.EqualFold(status.Notices[0].Digest, want) {
		t.Fatalf("%v, %+v instead of %s", err, status, want)
	}
	memory := memoryOf(t, session)
	if !hasKey(memory) {
		t.Error("the search finds nothing at all")
	}
	session.Close()
	if hasKey(memory) {
		t.Error("the private key is left in the module's memory")
	}
	// A View is wiped after its call.
	if status, err := pair.consumer.Look(t.Context(), pair.atConsumer.view("cl-provider")); err != nil || len(status.Notices) != 1 {
		t.Fatalf("%v, %+v", err, status)
	}
	in := <-library.idle
	library.idle <- in
	if memory, _ := in.module.Memory().Read(0, in.module.Memory().Size()); hasKey(memory) {
		t.Error("the private key is left in the module's memory after a View")
	}
}
