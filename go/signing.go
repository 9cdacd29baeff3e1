package liqoauth

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"

	authv1beta1 "github.com/liqotech/liqo/apis/authentication/v1beta1"
	liqov1beta1 "github.com/liqotech/liqo/apis/core/v1beta1"
)

// SignNonce signs a nonce. A text that is no nonce is refused, so that the key signs
// nothing else.
func (l *Library) SignNonce(ctx context.Context, key crypto.PrivateKey, nonce []byte) ([]byte, error) {
	signer, err := signerOf(key)
	if err != nil {
		return nil, err
	}
	request := map[string]any{"nonce": nonce, "policy": l.policy}
	if err := l.call(ctx, "checkNonce", request, nil); err != nil {
		return nil, err
	}
	var hash crypto.Hash
	if _, ok := signer.Public().(ed25519.PublicKey); !ok {
		// Liqo signs nonces with SHA-256 on every curve.
		hash = crypto.SHA256
	}
	return signWith(signer, hash, nonce)
}

// GenerateCSRForControlPlane makes the request of a consumer's control plane.
func (l *Library) GenerateCSRForControlPlane(ctx context.Context, key crypto.PrivateKey,
	clusterID liqov1beta1.ClusterID,
) ([]byte, error) {
	csr, _, err := l.makeRequest(ctx, key, "controlPlane", clusterID)
	return csr, err
}

// GenerateCSRForResourceSlice makes the request of a resource slice.
func (l *Library) GenerateCSRForResourceSlice(ctx context.Context, key crypto.PrivateKey,
	resourceSlice *authv1beta1.ResourceSlice,
) ([]byte, error) {
	if resourceSlice.Spec.ConsumerClusterID == nil {
		return nil, errNoConsumer
	}
	subject := map[string]string{"resourceSlice": resourceSlice.Name}
	csr, _, err := l.makeRequest(ctx, key, subject, *resourceSlice.Spec.ConsumerClusterID)
	return csr, err
}

// GenerateCSRForPeerUser makes the request of a new peering user, and returns its name.
func (l *Library) GenerateCSRForPeerUser(ctx context.Context, key crypto.PrivateKey,
	clusterID liqov1beta1.ClusterID,
) (csr []byte, userCN string, err error) {
	suffix := make([]byte, 16)
	// Read never fails.
	rand.Read(suffix)
	return l.makeRequest(ctx, key, map[string][]byte{"peeringUser": suffix}, clusterID)
}

func (l *Library) makeRequest(ctx context.Context, private crypto.PrivateKey, subject any,
	consumer liqov1beta1.ClusterID,
) (csr []byte, commonName string, err error) {
	signer, err := signerOf(private)
	if err != nil {
		return nil, "", err
	}
	key := Key{Signer: signer}
	request := map[string]any{"subject": subject, "consumer": consumer, "key": key}
	var found struct {
		CSR        []byte            `json:"csr"`
		CommonName string            `json:"commonName"`
		Questions  []json.RawMessage `json:"questions"`
	}
	if err := l.call(ctx, "makeRequest", request, &found); err != nil {
		return nil, "", err
	}
	// The module reports a failed answer as a key that does not fit. The signer's own
	// error says more.
	var failed error
	answers, err := answerAll(ctx, found.Questions,
		func(ctx context.Context, kind string, question json.RawMessage) (any, error) {
			value, err := key.answer(ctx, kind, question)
			failed = errors.Join(failed, err)
			return value, err
		})
	if err != nil {
		return nil, "", err
	}
	if failed != nil {
		return nil, "", fmt.Errorf("liqoauth: %w", failed)
	}
	request["answers"] = answers
	if err := l.call(ctx, "makeRequest", request, &found); err != nil {
		return nil, "", err
	}
	if found.CSR == nil {
		return nil, "", errors.New("liqoauth: the request is not signed")
	}
	return found.CSR, found.CommonName, nil
}

func (k Key) answer(ctx context.Context, kind string, question json.RawMessage) (any, error) {
	if kind != "signature" {
		return nil, fmt.Errorf("no backend for %q", kind)
	}
	return read(question, func(q signatureQuestion) ([]byte, error) { return k.sign(ctx, q) })
}

// signerOf returns a key that can sign: one of Liqo's types, or any crypto.Signer.
func signerOf(key crypto.PrivateKey) (crypto.Signer, error) {
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("liqoauth: unsupported private key type %T", key)
	}
	switch signer.Public().(type) {
	case ed25519.PublicKey, *rsa.PublicKey, *ecdsa.PublicKey:
		return signer, nil
	default:
		return nil, fmt.Errorf("liqoauth: unsupported private key type %T", key)
	}
}
