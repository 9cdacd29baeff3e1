//go:build liqo_1_0_0 || liqo_1_0_3 || liqo_1_1_2

package main

import (
	"path/filepath"
	"testing"

	authv1beta1 "github.com/liqotech/liqo/apis/authentication/v1beta1"
	"github.com/liqotech/liqo/pkg/consts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/yaml"
)

const (
	renewSpec     = "renew-controlplane.yaml: consumer and slice"
	renewKey      = "renew-controlplane.yaml: the public key"
	renewCSR      = "renew-controlplane.yaml: the CSR has"
	renewSigned   = "renew-controlplane.yaml: the CSR is signed"
	renewAsLiqos  = "renew-controlplane.yaml: the CSR is, byte for byte"
	renewCopyKey  = "renew-controlplane-replicated.yaml: the public key"
	renewCopyCSR  = "renew-controlplane-replicated.yaml: the CSR has"
	renewCopySign = "renew-controlplane-replicated.yaml: the CSR is signed"

	renewSliceFound   = "renew-mypool.yaml: it renews"
	renewSliceName    = "renew-mypool.yaml: the name"
	renewSliceOwner   = "renew-mypool.yaml: its owner"
	renewSliceSpec    = "renew-mypool.yaml: consumer and slice"
	renewSliceKey     = "renew-mypool.yaml: the public key"
	renewSliceCSR     = "renew-mypool.yaml: the CSR has"
	renewSliceSigned  = "renew-mypool.yaml: the CSR is signed"
	renewSliceAsLiqos = "renew-mypool.yaml: the CSR is, byte for byte"
	renewSliceNames   = "renew-mypool.yaml: the certificate names"
)

func TestRenewsOfLiqosFunctionsPass(t *testing.T) {
	dir := exchangeForEveryVersion(t, "resourceslice")
	writeRenews(t, dir)
	wantFailed(t, dir)
}

// A channel of 1.2 asks for nothing that 1.0 and 1.1 could answer.
func TestChannelsFail(t *testing.T) {
	wantFailed(t, exchangeForEveryVersion(t, "renewal"),
		renewKey, renewCSR, renewSigned, renewCopyKey, renewCopyCSR, renewCopySign)
}

func TestWhatIsChangedInARenewFails(t *testing.T) {
	const renew, in = "renew-controlplane.yaml", "resourceslice"
	wantEachFails(t, withRenews(append(changesOfRenew(t, in), []changed{
		{"another consumer", in,
			set(renew, "cluster-z", "spec", "consumerClusterID"),
			[]string{renewSpec}},
		{"a slice", in,
			set(renew, map[string]any{"name": "mypool"}, "spec", "resourceSliceRef"),
			[]string{renewSpec}},
		{"another public key", in,
			edit(renew, flipBit, "spec", "publicKey"),
			[]string{renewKey}},
		{"no CSR", in,
			unset(renew, "spec", "csr"),
			[]string{renewCSR, renewSigned, renewAsLiqos}},
		{"the provider's ID in the CSR, as Liqo itself writes it up to 1.0.3", in,
			edit(renew, csrOf("cluster-b"), "spec", "csr"),
			[]string{renewCSR, renewAsLiqos}},
		{"the CSR by another key", in,
			edit(renew, csrOfAnotherKey, "spec", "csr"),
			[]string{renewCSR, renewAsLiqos}},
		{"a CSR without organization, on which Liqo panics", in,
			edit(renew, csrWithoutOrganization, "spec", "csr"),
			[]string{renewCSR, renewAsLiqos}},
		{"one bit of the CSR's signature", in,
			edit(renew, flipBitInPEM, "spec", "csr"),
			[]string{renewSigned, renewAsLiqos}},
	}...)))
}

func TestWhatIsChangedInASlicesRenewFails(t *testing.T) {
	const renew, in = "renew-mypool.yaml", "resourceslice"
	wantEachFails(t, withRenews([]changed{
		{"another slice", in,
			set(renew, "otherpool", "spec", "resourceSliceRef", "name"),
			[]string{renewSliceFound}},
		{"no slice", in,
			unset(renew, "spec", "resourceSliceRef"),
			[]string{renewSliceFound}},
		{"the control plane's name", in,
			set(renew, "controlplane-cluster-b", "metadata", "name"),
			[]string{renewSliceName}},
		{"the control plane's Identity as owner", in,
			set(renew, "controlplane-cluster-b", "metadata", "ownerReferences", "0", "name"),
			[]string{renewSliceOwner}},
		{"another consumer", in,
			set(renew, "cluster-z", "spec", "consumerClusterID"),
			[]string{renewSliceSpec}},
		{"another public key", in,
			edit(renew, flipBit, "spec", "publicKey"),
			[]string{renewSliceKey}},
		{"the control plane's CSR", in,
			edit(renew, csrOf("cluster-a"), "spec", "csr"),
			[]string{renewSliceCSR, renewSliceAsLiqos}},
		{"one bit of the CSR's signature", in,
			edit(renew, flipBitInPEM, "spec", "csr"),
			[]string{renewSliceSigned, renewSliceAsLiqos}},
		{"the control plane's certificate", in,
			controlPlanesCertificate(renew, "status"),
			[]string{renewSliceNames}},
	}))
}

// withRenews makes the Renews of an exchange before it changes them.
func withRenews(changes []changed) []changed {
	for i := range changes {
		apply := changes[i].apply
		changes[i].apply = func(t *testing.T, dir string) {
			writeRenews(t, dir)
			apply(t, dir)
		}
	}
	return changes
}

// writeRenews does what Liqo's consumer does for its two Identities, and then
// replication and the provider. No Renew of these versions was at hand.
func writeRenews(t *testing.T, dir string) {
	t.Helper()
	private := keyIn(t, dir)
	slice := readTyped[*authv1beta1.ResourceSlice](t, dir, "slice-mypool.yaml")

	controlPlane := forgeRenew(t, readTyped[*authv1beta1.Identity](t, dir, "identity.yaml"))
	csr, err := generateControlPlaneCSR(private, "cluster-a")
	controlPlane.Spec.CSR = must(t, csr, err)
	controlPlane.Spec.PublicKey = renewKeyOf(t, private)

	ofSlice := forgeRenew(t, readTyped[*authv1beta1.Identity](t, dir, "slice-identity-mypool.yaml"))
	ofSlice.Spec.ResourceSliceRef = &corev1.LocalObjectReference{Name: slice.Name}
	csr, err = generateSliceCSR(private, slice)
	ofSlice.Spec.CSR = must(t, csr, err)
	ofSlice.Spec.PublicKey = renewKeyOf(t, private)

	writeTyped(t, dir, "renew-controlplane.yaml", controlPlane)
	writeTyped(t, dir, "renew-controlplane-replicated.yaml", replicated(controlPlane))
	writeTyped(t, dir, "renew-mypool.yaml", ofSlice)
	writeTyped(t, dir, "renew-mypool-replicated.yaml", replicated(ofSlice))
}

// forgeRenew makes a Renew of an Identity, answered by what the Identity holds.
func forgeRenew(t *testing.T, identity *authv1beta1.Identity) *authv1beta1.Renew {
	t.Helper()
	renew := &authv1beta1.Renew{
		TypeMeta: metav1.TypeMeta{APIVersion: authv1beta1.GroupVersion.String(), Kind: authv1beta1.RenewKind},
		ObjectMeta: metav1.ObjectMeta{
			Name:      identity.Name,
			Namespace: identity.Namespace,
			Labels: map[string]string{
				consts.ReplicationRequestedLabel:   consts.ReplicationRequestedLabelValue,
				consts.ReplicationDestinationLabel: "cluster-b",
				consts.RemoteClusterID:             "cluster-b",
			},
		},
		Spec:   authv1beta1.RenewSpec{ConsumerClusterID: "cluster-a", IdentityType: identity.Spec.Type},
		Status: authv1beta1.RenewStatus{AuthParams: &identity.Spec.AuthParams},
	}
	known, err := scheme()
	known = must(t, known, err)
	if err := controllerutil.SetControllerReference(identity, renew, known); err != nil {
		t.Fatal(err)
	}
	return renew
}

func replicated(renew *authv1beta1.Renew) *authv1beta1.Renew {
	replica := renew.DeepCopy()
	replica.Namespace, replica.OwnerReferences = "liqo-tenant-cluster-a", nil
	replica.Labels[consts.ReplicationRequestedLabel] = "false"
	replica.Labels[consts.ReplicationStatusLabel] = "true"
	replica.Labels[consts.ReplicationOriginLabel] = "cluster-a"
	replica.Labels[consts.RemoteClusterID] = "cluster-a"
	return replica
}

func readTyped[T runtime.Object](t *testing.T, dir, file string) T {
	t.Helper()
	object, err := readObject[T](filepath.Join(dir, file))
	return must(t, object, err)
}

func writeTyped(t *testing.T, dir, file string, object any) {
	t.Helper()
	text, err := yaml.Marshal(object)
	writeFile(t, filepath.Join(dir, file), must(t, text, err))
}

func must[T any](t *testing.T, value T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return value
}
