package liqoauth

import (
	"context"
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"

	authv1beta1 "github.com/liqotech/liqo/apis/authentication/v1beta1"
	liqov1beta1 "github.com/liqotech/liqo/apis/core/v1beta1"
)

// VerifiedTenant is a Tenant whose names, key, request and signature are right.
type VerifiedTenant struct {
	// ClusterID of the consumer.
	ClusterID liqov1beta1.ClusterID
	// PublicKey of the consumer.
	PublicKey crypto.PublicKey
	// PublicKeyDER is the key as a SubjectPublicKeyInfo.
	PublicKeyDER []byte
	// CSR of the consumer's control plane, in canonical PEM.
	CSR []byte
	// ProxyURL that the consumer asks for; empty if it asks for none.
	ProxyURL string
}

// VerifyTenant verifies a Tenant of this consumer: its names, its key, its request,
// and its signature over the nonce.
//
// The caller checks that the nonce is fresh and its own, that the cluster ID is no
// user or group already, and that the key is the one of the first time. [Provider]
// does all of it.
func (l *Library) VerifyTenant(ctx context.Context, tenant *authv1beta1.Tenant,
	consumer liqov1beta1.ClusterID, nonce []byte,
) (*VerifiedTenant, error) {
	tenant = tenant.DeepCopy()
	tenant.SetGroupVersionKind(authv1beta1.GroupVersion.WithKind(authv1beta1.TenantKind))
	var found struct {
		ClusterID liqov1beta1.ClusterID `json:"clusterID"`
		PublicKey []byte                `json:"publicKey"`
		CSR       []byte                `json:"csr"`
		ProxyURL  string                `json:"proxyURL"`
	}
	err := l.call(ctx, "verifyTenant", map[string]any{
		"tenant":   tenant,
		"consumer": consumer,
		"nonce":    nonce,
		"policy":   l.policy,
	}, &found)
	if err != nil {
		return nil, err
	}
	key, err := x509.ParsePKIXPublicKey(found.PublicKey)
	if err != nil {
		return nil, fmt.Errorf("liqoauth: %w", err)
	}
	return &VerifiedTenant{
		ClusterID:    found.ClusterID,
		PublicKey:    key,
		PublicKeyDER: found.PublicKey,
		CSR:          found.CSR,
		ProxyURL:     found.ProxyURL,
	}, nil
}

// CheckCSRForControlPlane verifies that a request is the one for this consumer and
// key, and that the key signed it.
func (l *Library) CheckCSRForControlPlane(ctx context.Context, csr, publicKeyDER []byte,
	remoteClusterID liqov1beta1.ClusterID,
) error {
	return l.call(ctx, "verifyRequest", map[string]any{
		"csr":       csr,
		"publicKey": publicKeyDER,
		"consumer":  remoteClusterID,
		"policy":    l.policy,
	}, nil)
}

var errNoConsumer = errors.New("liqoauth: the resource slice names no consumer")

// CheckCSRForResourceSlice verifies that the request of a resource slice is the one
// for its name and consumer. With checkPublicKey, it has to carry the Tenant's key;
// without, any key. In either case, the request's own key has to have signed it.
func (l *Library) CheckCSRForResourceSlice(ctx context.Context, tenantPublicKey []byte,
	resourceSlice *authv1beta1.ResourceSlice, checkPublicKey bool,
) error {
	if resourceSlice.Spec.ConsumerClusterID == nil {
		return errNoConsumer
	}
	request := map[string]any{
		"name":     resourceSlice.Name,
		"consumer": *resourceSlice.Spec.ConsumerClusterID,
		"csr":      resourceSlice.Spec.CSR,
		"policy":   l.policy,
	}
	if checkPublicKey {
		// An empty key is refused; a missing one would be no check.
		request["tenantKey"] = append([]byte{}, tenantPublicKey...)
	}
	return l.call(ctx, "verifyResourceSlice", request, nil)
}

// ParseTenantPublicKey reads spec.publicKey of a Tenant: a raw Ed25519 key, or a key
// in PEM. It returns the key and its SubjectPublicKeyInfo.
func (l *Library) ParseTenantPublicKey(ctx context.Context, publicKey []byte) (crypto.PublicKey, []byte, error) {
	var found struct {
		PublicKey []byte `json:"publicKey"`
	}
	request := map[string]any{"publicKey": publicKey, "policy": l.policy}
	if err := l.call(ctx, "readPublicKey", request, &found); err != nil {
		return nil, nil, err
	}
	key, err := x509.ParsePKIXPublicKey(found.PublicKey)
	if err != nil {
		return nil, nil, fmt.Errorf("liqoauth: %w", err)
	}
	return key, found.PublicKey, nil
}

// VerifyNonce verifies a signature over a nonce. A signature that does not fit is
// false, as is a text that is no nonce. A key that breaks a rule is an error.
func (l *Library) VerifyNonce(ctx context.Context, publicKey crypto.PublicKey, nonce, signature []byte) (bool, error) {
	der, err := x509.MarshalPKIXPublicKey(publicKey)
	if err != nil {
		return false, fmt.Errorf("liqoauth: %w", err)
	}
	var found struct {
		Verified bool `json:"verified"`
	}
	err = l.call(ctx, "verifySignature", map[string]any{
		"publicKey": der,
		"nonce":     nonce,
		"signature": signature,
		"policy":    l.policy,
	}, &found)
	return found.Verified, err
}
