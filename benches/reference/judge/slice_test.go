package main

import (
	"path/filepath"
	"testing"
)

const (
	sliceClusters    = "slice-mypool.yaml: consumer and provider"
	sliceLabels      = "slice-mypool.yaml: labels and namespace"
	sliceCSR         = "slice-mypool.yaml: the CSR has"
	sliceSigned      = "slice-mypool.yaml: the CSR is signed"
	sliceAsLiqos     = "slice-mypool.yaml: the CSR is, byte for byte"
	sliceServer      = "slice-mypool.yaml: the API server"
	sliceProxy       = "slice-mypool.yaml: the proxy"
	sliceCertificate = "slice-mypool.yaml: the certificate names"

	copyLabels = "slice-mypool-replicated.yaml: labels and namespace"

	sliceIdentityRead        = "slice-identity-mypool.yaml is read"
	sliceIdentityFound       = "slice-identity-mypool.yaml: it is the Identity of a slice"
	sliceIdentityNames       = "slice-identity-mypool.yaml: name, labels, clusterID and type"
	sliceIdentityNamespaces  = "slice-identity-mypool.yaml: it lies in"
	sliceIdentityOwner       = "slice-identity-mypool.yaml: its owner"
	sliceIdentityParams      = "slice-identity-mypool.yaml: its authParams"
	sliceIdentityServer      = "slice-identity-mypool.yaml: the API server"
	sliceIdentityProxy       = "slice-identity-mypool.yaml: the proxy"
	sliceIdentityCertificate = "slice-identity-mypool.yaml: the certificate names"
	sliceIdentityTrusted     = "slice-identity-mypool.yaml: the certificate is verified"

	sliceKubeconfigFound     = "slice-kubeconfig-mypool.yaml: it is the kubeconfig"
	sliceKubeconfigStrict    = "slice-kubeconfig-mypool.yaml has no field"
	sliceKubeconfigPair      = "slice-kubeconfig-mypool.yaml: the kubeconfig's certificate and key"
	sliceKubeconfigTLS       = "client-go makes a TLS client of slice-kubeconfig-mypool.yaml"
	sliceKubeconfigKey       = "slice-kubeconfig-mypool.yaml: the kubeconfig's key"
	sliceKubeconfigNames     = "slice-kubeconfig-mypool.yaml: the kubeconfig's names"
	sliceKubeconfigServer    = "slice-kubeconfig-mypool.yaml: the kubeconfig's server"
	sliceKubeconfigProxy     = "slice-kubeconfig-mypool.yaml: the kubeconfig's proxy"
	sliceKubeconfigNamespace = "slice-kubeconfig-mypool.yaml: the kubeconfig's namespace"
	sliceKubeconfigMaterial  = "slice-kubeconfig-mypool.yaml: the kubeconfig's CA and certificate"
	sliceKubeconfigAsLiqos   = "slice-kubeconfig-mypool.yaml: the kubeconfig is, byte for byte"
)

func TestWhatIsChangedInASliceFails(t *testing.T) {
	const slice, in = "slice-mypool.yaml", "resourceslice"
	wantEachFails(t, []changed{
		{"another name", in,
			set(slice, "otherpool", "metadata", "name"),
			[]string{sliceCSR, sliceAsLiqos, sliceCertificate, sliceIdentityNames, sliceIdentityOwner, sliceIdentityCertificate}},
		{"another provider", in,
			set(slice, "cluster-z", "spec", "providerClusterID"),
			[]string{sliceClusters}},
		{"another destination", in,
			set(slice, "cluster-z", "metadata", "labels", "liqo.io/remoteID"),
			[]string{sliceLabels}},
		{"another namespace", in,
			set(slice, "liqo-tenant-cluster-z", "metadata", "namespace"),
			[]string{sliceLabels}},
		{"another origin of the copy", in,
			set("slice-mypool-replicated.yaml", "cluster-z", "metadata", "labels", "liqo.io/originID"),
			[]string{copyLabels}},
		{"the CSR by another key", in,
			edit(slice, csrOfAnotherKey, "spec", "csr"),
			[]string{sliceCSR, sliceAsLiqos}},
		{"the control plane's CSR", in,
			edit(slice, csrOf("cluster-a"), "spec", "csr"),
			[]string{sliceCSR, sliceAsLiqos}},
		{"one bit of the CSR's signature", in,
			edit(slice, flipBitInPEM, "spec", "csr"),
			[]string{sliceSigned, sliceAsLiqos}},
		{"an API server without TLS", in,
			set(slice, "http://127.0.0.1:6543", "status", "authParams", "apiServer"),
			[]string{sliceServer, sliceIdentityParams}},
		{"a proxy that nobody asked for", in,
			set(slice, "http://10.0.0.1:8118", "status", "authParams", "proxyURL"),
			[]string{sliceProxy, sliceIdentityParams}},
		{"the control plane's certificate", in,
			controlPlanesCertificate(slice, "status"),
			[]string{sliceCertificate, sliceIdentityParams}},
	})
}

func TestWhatIsChangedInASlicesIdentityFails(t *testing.T) {
	const identity, in = "slice-identity-mypool.yaml", "resourceslice"
	wantEachFails(t, []changed{
		{"no slice", in,
			without("slice-mypool.yaml"),
			[]string{sliceIdentityFound}},
		{"a slice that was not granted", in,
			unset("slice-mypool.yaml", "status", "authParams"),
			[]string{sliceIdentityFound}},
		{"another name", in,
			set(identity, "resourceslice-otherpool", "metadata", "name"),
			[]string{sliceIdentityNames, sliceKubeconfigNames, sliceKubeconfigAsLiqos}},
		{"no label of the slice", in,
			unset(identity, "metadata", "labels", "liqo.io/resourceslice-name"),
			[]string{sliceIdentityNames}},
		{"another cluster's label", in,
			set(identity, "cluster-z", "metadata", "labels", "liqo.io/remote-cluster-id"),
			[]string{sliceIdentityNames}},
		{"the control plane's type", in,
			set(identity, "ControlPlane", "spec", "type"),
			[]string{sliceIdentityNames}},
		{"another clusterID", in,
			set(identity, "cluster-z", "spec", "clusterID"),
			[]string{sliceIdentityNames, sliceKubeconfigNames, sliceKubeconfigAsLiqos}},
		{"a namespace for the kubeconfig", in,
			set(identity, "liqo-tenant-cluster-a", "spec", "namespace"),
			[]string{sliceIdentityNamespaces}},
		{"another namespace", in,
			set(identity, "liqo-tenant-cluster-a", "metadata", "namespace"),
			[]string{sliceIdentityNamespaces}},
		{"no owner", in,
			unset(identity, "metadata", "ownerReferences"),
			[]string{sliceIdentityOwner}},
		{"an owner of another kind", in,
			set(identity, "Identity", "metadata", "ownerReferences", "0", "kind"),
			[]string{sliceIdentityOwner}},
		{"an owner of another UID", in,
			set(identity, "dc101d35-a434-4da9-be38-520ee478154a", "metadata", "ownerReferences", "0", "uid"),
			[]string{sliceIdentityOwner}},
		{"an owner that does not control", in,
			unset(identity, "metadata", "ownerReferences", "0", "controller"),
			[]string{sliceIdentityOwner}},
		{"an API server without TLS", in,
			set(identity, "http://127.0.0.1:6543", "spec", "authParams", "apiServer"),
			[]string{sliceIdentityParams, sliceIdentityServer, sliceKubeconfigServer, sliceKubeconfigAsLiqos}},
		{"a proxy that nobody asked for", in,
			set(identity, "http://10.0.0.1:8118", "spec", "authParams", "proxyURL"),
			[]string{sliceIdentityParams, sliceIdentityProxy, sliceKubeconfigProxy, sliceKubeconfigAsLiqos}},
		{"the control plane's certificate", in,
			controlPlanesCertificate(identity, "spec"),
			[]string{sliceIdentityParams, sliceIdentityCertificate, sliceKubeconfigMaterial, sliceKubeconfigAsLiqos}},
		{"the CA of another exchange", in,
			takeFrom(filepath.Join("testdata", "rsa-and-proxy", "identity.yaml"), identity, "spec", "authParams", "ca"),
			[]string{sliceIdentityParams, sliceIdentityTrusted, sliceKubeconfigMaterial, sliceKubeconfigAsLiqos}},
		{"an unknown field", in,
			set(identity, "x", "spec", "unknown"),
			[]string{sliceIdentityRead, sliceKubeconfigFound}},
	})
}

func TestWhatIsChangedInASlicesKubeconfigFails(t *testing.T) {
	const kubeconfig, in = "slice-kubeconfig-mypool.yaml", "resourceslice"
	wantEachFails(t, []changed{
		{"no Identity", in,
			without("slice-identity-mypool.yaml"),
			[]string{sliceKubeconfigFound}},
		{"a namespace", in,
			replaceIn(kubeconfig, "    user: resourceslice-mypool\n", "    namespace: liqo-tenant-cluster-a\n    user: resourceslice-mypool\n"),
			[]string{sliceKubeconfigNamespace, sliceKubeconfigAsLiqos}},
		{"the control plane's kubeconfig", in,
			copyOver("kubeconfig.yaml", kubeconfig),
			[]string{sliceKubeconfigNames, sliceKubeconfigNamespace, sliceKubeconfigMaterial, sliceKubeconfigAsLiqos}},
		{"another server", in,
			replaceIn(kubeconfig, "https://127.0.0.1:6543", "https://127.0.0.2:6543"),
			[]string{sliceKubeconfigServer, sliceKubeconfigAsLiqos}},
		{"another name of the cluster", in,
			replaceIn(kubeconfig, "cluster-b", "cluster-z"),
			[]string{sliceKubeconfigNames, sliceKubeconfigAsLiqos}},
		{"the key of another exchange", in,
			keyOf("rsa-and-proxy", kubeconfig),
			[]string{sliceKubeconfigPair, sliceKubeconfigTLS, sliceKubeconfigKey}},
		{"an unknown field", in,
			appendTo(kubeconfig, "unknown: x\n"),
			[]string{sliceKubeconfigStrict, sliceKubeconfigAsLiqos}},
		{"the same in another form of YAML", in,
			replaceIn(kubeconfig, "kind: Config", "kind: \"Config\""),
			[]string{sliceKubeconfigAsLiqos}},
	})
}

// controlPlanesCertificate puts the Identity's certificate under authParams of
// another file.
func controlPlanesCertificate(file, part string) change {
	return func(t *testing.T, dir string) {
		identity := readManifest(t, filepath.Join(dir, "identity.yaml"))
		certificate := parent(t, identity, []string{"spec", "authParams", "signedCRT"})["signedCRT"]
		set(file, certificate, part, "authParams", "signedCRT")(t, dir)
	}
}
