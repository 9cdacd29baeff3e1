package liqoauth

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"maps"
	"slices"

	liqov1beta1 "github.com/liqotech/liqo/apis/core/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// secretValues says which values of Secrets the module of one side gets. Others may be private keys
// of this cluster, such as those in the kubeconfigs of Liqo, and those of its network. The module
// reads the names of all values, since a Secret that has too many is written anew.
type secretValues struct {
	// namespace of the records, whose values all belong to the module.
	namespace string
	// names are those of the values that the side reads.
	names []string
}

// kubeconfigValue is the name of a kubeconfig in a Secret.
const kubeconfigValue = "kubeconfig"

func valuesOfProvider(namespace string) secretValues {
	return secretValues{cmp.Or(namespace, "liqo"), []string{"nonce", "csr", "certificate"}}
}

func valuesOfConsumer(namespace string) secretValues {
	return secretValues{cmp.Or(namespace, "liqo"), []string{
		"nonce", "signedNonce", kubeconfigValue,
		"awsAccessKeyID", "awsSecretAccessKey", "awsRegion", "awsEksClusterID", "awsIamUserArn",
	}}
}

// of returns an object as the module gets it. The values of a Secret that it does not read are empty.
func (v secretValues) of(peer liqov1beta1.ClusterID, object runtime.Object) runtime.Object {
	switch object := object.(type) {
	case *corev1.Secret:
		if object.Namespace == v.namespace {
			return object
		}
		kept := *object
		kept.Data = maps.Clone(object.Data)
		for name, value := range object.Data {
			if !v.isRead(peer, object, name, value) {
				kept.Data[name] = []byte{}
			}
		}
		return &kept
	case *unstructured.Unstructured:
		values, isMap := object.Object["data"].(map[string]any)
		if !isMap || object.GetKind() != "Secret" || object.GetNamespace() == v.namespace {
			return object
		}
		kept := maps.Clone(object.Object)
		kept["data"] = v.ofMap(peer, object, values)
		return &unstructured.Unstructured{Object: kept}
	}
	return object
}

func (v secretValues) ofMap(peer liqov1beta1.ClusterID, secret metav1.Object, values map[string]any) map[string]any {
	kept := maps.Clone(values)
	for name, value := range values {
		// The module refuses a value that is no text in Base64.
		if text, isText := value.(string); isText {
			decoded, err := base64.StdEncoding.DecodeString(text)
			if err == nil && !v.isRead(peer, secret, name, decoded) {
				kept[name] = ""
			}
			clear(decoded)
		}
	}
	return kept
}

// isRead reports whether the module reads a value of a Secret outside of the namespace of the records.
func (v secretValues) isRead(peer liqov1beta1.ClusterID, secret metav1.Object, name string, value []byte) bool {
	return slices.Contains(v.names, name) &&
		(name != kubeconfigValue || isOfModule(value) || isMadeByHand(peer, secret))
}

// isMadeByHand reports whether an administrator may have made the kubeconfig of a Secret. The module
// names the digest of the whole text, and reads it if the settings name this digest.
func isMadeByHand(peer liqov1beta1.ClusterID, secret metav1.Object) bool {
	labels := secret.GetLabels()
	return labels["liqo.io/identity-type"] == "ControlPlane" &&
		labels["liqo.io/remote-cluster-id"] == string(peer) &&
		secret.GetName() != "kubeconfig-controlplane-"+string(peer)
}

// fieldsOfModule are those in the kubeconfigs that the module makes. The key is in a file, or elsewhere.
var fieldsOfModule = []string{
	"apiVersion", "kind", "preferences", "clusters", "contexts", "users", "current-context",
	"cluster", "context", "user", "name", "namespace", "server", "proxy-url",
	"certificate-authority-data", "client-certificate-data", "client-key",
}

// isOfModule reports whether a kubeconfig is one that the module may have made. It compares the stored
// kubeconfig with the one that it would make. Another one differs in any case, so it need not have it.
func isOfModule(kubeconfig []byte) bool {
	for line := range bytes.Lines(kubeconfig) {
		name, value, _ := bytes.Cut(bytes.TrimLeft(line, " -"), []byte(":"))
		value = bytes.TrimSpace(value)
		isFlow := bytes.HasPrefix(value, []byte("{")) && string(value) != "{}"
		if isFlow || !slices.Contains(fieldsOfModule, string(name)) {
			return false
		}
	}
	return true
}
