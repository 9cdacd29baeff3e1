//go:build !liqo_1_0_0

package main

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"

	authv1beta1 "github.com/liqotech/liqo/apis/authentication/v1beta1"
	liqov1beta1 "github.com/liqotech/liqo/apis/core/v1beta1"
	"github.com/liqotech/liqo/pkg/liqo-controller-manager/authentication"
	"github.com/liqotech/liqo/pkg/liqo-controller-manager/authentication/forge"
	"github.com/liqotech/liqo/pkg/utils/kubeconfig"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
)

const (
	consumerID liqov1beta1.ClusterID = "consumer"
	providerID liqov1beta1.ClusterID = "provider"

	// Where the objects of the one lie with the other.
	consumerTenantNamespace = "liqo-tenant-consumer"
	providerTenantNamespace = "liqo-tenant-provider"

	apiServer = "https://provider.example:6443"
)

// clusters holds what both clusters have before the first handshake, and what
// the last one has left.
type clusters struct {
	private    ed25519.PrivateKey
	privatePEM []byte
	publicDER  []byte
	authority  *authority

	// handshake is its stages, in turn.
	handshake []stage

	nonce         []byte
	signature     []byte
	csr           []byte
	tenant        *authv1beta1.Tenant
	publicKey     crypto.PublicKey
	publicKeyDER  []byte
	certificate   []byte
	identity      *authv1beta1.Identity
	kubeconfigYML []byte
}

// newClusters makes the consumer's key and the provider's authority.
func newClusters() (*clusters, error) {
	privatePEM, publicPEM, err := authentication.GenerateEd25519Keys()
	if err != nil {
		return nil, err
	}
	privateBlock, _ := pem.Decode(privatePEM)
	publicBlock, _ := pem.Decode(publicPEM)
	if privateBlock == nil || publicBlock == nil {
		return nil, errors.New("the new key is not PEM")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(privateBlock.Bytes)
	if err != nil {
		return nil, err
	}
	private, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("the new key is a %T", parsed)
	}
	authority, err := newAuthority()
	if err != nil {
		return nil, err
	}
	c := &clusters{private: private, privatePEM: privatePEM, publicDER: publicBlock.Bytes, authority: authority}
	c.handshake = []stage{
		{"nonce", c.makeNonce},
		{"sign", c.signNonce},
		{"csr", c.makeCSR},
		{"tenant", c.forgeTenant},
		{"verify", c.verifyNonce},
		{"check", c.checkCSR},
		{"certificate", c.signCertificate},
		{"identity", c.forgeIdentity},
		{"kubeconfig", c.makeKubeconfig},
	}
	return c, nil
}

// stages is the handshake, stage by stage, and whole.
func (c *clusters) stages() []stage {
	return append(slices.Clone(c.handshake),
		stage{"csr-signature", c.checkCSRSignature},
		stage{"whole", c.whole})
}

func (c *clusters) whole() error {
	for i := range c.handshake {
		if err := c.handshake[i].run(); err != nil {
			return err
		}
	}
	return nil
}

// Provider. Liqo's function for this belongs to a controller and is not
// exported: 64 random bytes, in base64.
func (c *clusters) makeNonce() error {
	random := make([]byte, 64)
	if _, err := rand.Read(random); err != nil {
		return err
	}
	c.nonce = []byte(base64.StdEncoding.EncodeToString(random))
	return nil
}

// Consumer.
func (c *clusters) signNonce() (err error) {
	c.signature, err = authentication.SignNonce(c.private, c.nonce)
	return err
}

func (c *clusters) makeCSR() (err error) {
	c.csr, err = authentication.GenerateCSRForControlPlane(c.private, consumerID)
	return err
}

func (c *clusters) forgeTenant() error {
	c.tenant = forge.TenantForRemoteCluster(consumerID, c.publicDER, c.csr, c.signature,
		ptr.To(consumerTenantNamespace), nil)
	return nil
}

// Provider.
func (c *clusters) verifyNonce() (err error) {
	c.publicKey, c.publicKeyDER, err = authentication.ParseTenantPublicKey(c.tenant.Spec.PublicKey)
	if err != nil {
		return err
	}
	verified, err := authentication.VerifyNonce(c.publicKey, c.nonce, c.tenant.Spec.Signature)
	if err != nil {
		return err
	}
	if !verified {
		return errors.New("the signature over the nonce is not right")
	}
	return nil
}

func (c *clusters) checkCSR() error {
	return authentication.CheckCSRForControlPlane(c.tenant.Spec.CSR, c.publicKeyDER, c.tenant.Spec.ClusterID)
}

func (c *clusters) checkCSRSignature() error {
	request, err := parseRequest(c.tenant.Spec.CSR)
	if err != nil {
		return err
	}
	return request.CheckSignature()
}

func (c *clusters) signCertificate() (err error) {
	c.certificate, err = c.authority.sign(c.tenant.Spec.CSR)
	return err
}

func (c *clusters) forgeIdentity() error {
	c.identity = forge.IdentityForRemoteCluster(forge.ControlPlaneIdentityName(providerID), providerTenantNamespace,
		providerID, authv1beta1.ControlPlaneIdentityType, &authv1beta1.AuthParams{
			CA:        c.authority.certificatePEM,
			SignedCRT: c.certificate,
			APIServer: apiServer,
			ProxyURL:  c.tenant.Spec.ProxyURL,
		}, ptr.To(consumerTenantNamespace))
	return nil
}

// Consumer.
func (c *clusters) makeKubeconfig() (err error) {
	spec := &c.identity.Spec
	c.kubeconfigYML, err = kubeconfig.GenerateKubeconfig(c.identity.Name, string(spec.ClusterID),
		spec.AuthParams.APIServer, spec.AuthParams.CA, spec.AuthParams.SignedCRT, c.privatePEM,
		spec.AuthParams.ProxyURL, spec.Namespace)
	return err
}

// checkResult makes sure, once, that what is measured is a handshake: its
// kubeconfig must hold a certificate that the authority verifies.
func (c *clusters) checkResult() error {
	client, err := clientcmd.RESTConfigFromKubeConfig(c.kubeconfigYML)
	if err != nil {
		return err
	}
	pair, err := tls.X509KeyPair(client.CertData, client.KeyData)
	if err != nil {
		return err
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(client.CAData)
	_, err = leaf.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	return err
}
