package main

import "testing"

// The words by which a test names the checks of a Renew that must fail.
const (
	renewRead        = "renew-controlplane.yaml is read"
	renewFound       = "renew-controlplane.yaml: it renews"
	renewName        = "renew-controlplane.yaml: the name"
	renewLabels      = "renew-controlplane.yaml: labels and namespace"
	renewOwner       = "renew-controlplane.yaml: its owner"
	renewServer      = "renew-controlplane.yaml: the API server"
	renewProxy       = "renew-controlplane.yaml: the proxy"
	renewKeyCarried  = "renew-controlplane.yaml: the certificate carries"
	renewCertificate = "renew-controlplane.yaml: the certificate names"
	renewTrusted     = "renew-controlplane.yaml: the certificate is verified"

	renewCopyLabels = "renew-controlplane-replicated.yaml: labels and namespace"
	renewCopyOwner  = "renew-controlplane-replicated.yaml: its owner"
)

// changesOfRenew are those whose checks do not depend on the scheme.
func changesOfRenew(t *testing.T, in string) []changed {
	t.Helper()
	const renew, replicated = "renew-controlplane.yaml", "renew-controlplane-replicated.yaml"
	owner := []any{map[string]any{
		"apiVersion": "authentication.liqo.io/v1beta1", "kind": "Identity", "name": "x", "uid": "x",
		"controller": true, "blockOwnerDeletion": true,
	}}
	return []changed{
		{"another name", in,
			set(renew, "controlplane-cluster-z", "metadata", "name"),
			[]string{renewName}},
		{"another destination", in,
			set(renew, "cluster-z", "metadata", "labels", "liqo.io/remoteID"),
			[]string{renewLabels}},
		{"no replication", in,
			unset(renew, "metadata", "labels", "liqo.io/replication"),
			[]string{renewLabels}},
		{"another namespace", in,
			set(renew, "default", "metadata", "namespace"),
			[]string{renewLabels}},
		{"another origin of the copy", in,
			set(replicated, "cluster-z", "metadata", "labels", "liqo.io/originID"),
			[]string{renewCopyLabels}},
		{"no owner", in,
			unset(renew, "metadata", "ownerReferences"),
			[]string{renewOwner}},
		{"an owner of another kind", in,
			set(renew, "Tenant", "metadata", "ownerReferences", "0", "kind"),
			[]string{renewOwner}},
		{"an owner of another UID", in,
			set(renew, "dc101d35-a434-4da9-be38-520ee478154a", "metadata", "ownerReferences", "0", "uid"),
			[]string{renewOwner}},
		{"an owner of the copy", in,
			set(replicated, owner, "metadata", "ownerReferences"),
			[]string{renewCopyOwner}},
		{"another type of identity", in,
			set(renew, "Other", "spec", "identityType"),
			[]string{renewFound}},
		{"a slice that there is not", in,
			set(renew, "ResourceSlice", "spec", "identityType"),
			[]string{renewFound}},
		{"an unknown field", in,
			set(renew, "x", "spec", "unknown"),
			[]string{renewRead}},
		{"an API server without TLS in the answer", in,
			set(renew, "http://127.0.0.1:6543", "status", "authParams", "apiServer"),
			[]string{renewServer}},
		{"a proxy that nobody asked for in the answer", in,
			set(renew, "http://10.0.0.1:8118", "status", "authParams", "proxyURL"),
			[]string{renewProxy}},
		{"the certificate of another exchange in the answer", in,
			certificateOf("rsa-and-proxy", renew),
			[]string{renewKeyCarried, renewCertificate, renewTrusted}},
		{"no answer yet", in,
			unset(renew, "status"),
			nil},
	}
}

// certificateOf puts the certificate of another exchange into a status.
func certificateOf(other, file string) change {
	return func(t *testing.T, dir string) {
		theirs := readManifest(t, "testdata/"+other+"/identity.yaml")
		certificate := parent(t, theirs, []string{"spec", "authParams", "signedCRT"})["signedCRT"]
		set(file, certificate, "status", "authParams", "signedCRT")(t, dir)
	}
}
