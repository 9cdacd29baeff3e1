package liqoauth

import (
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	_ "crypto/sha256" // The hashes of the schemes.
	_ "crypto/sha512"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
)

// Key is this cluster's private key. It stays with its Signer.
type Key struct {
	// Signer holds an Ed25519 key, an RSA key of 2048 to 4096 bits, or an ECDSA key on
	// P-256, P-384 or P-521.
	Signer crypto.Signer
	// File is the path by which a kubeconfig refers to the private key. If it is
	// empty, the kubeconfigs contain no reference to a key.
	File string
}

var errNoSigner = errors.New("the key has no Signer")

// MarshalJSON writes the public half.
func (k Key) MarshalJSON() ([]byte, error) {
	if k.Signer == nil {
		return nil, errNoSigner
	}
	public, err := x509.MarshalPKIXPublicKey(k.Signer.Public())
	if err != nil {
		return nil, err
	}
	client := map[string]string{"type": "notExportable"}
	if k.File != "" {
		client = map[string]string{"type": "file", "path": k.File}
	}
	return json.Marshal(map[string]any{
		"publicKey": string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})),
		"clientKey": client,
	})
}

// signatureQuestion asks for a signature. Only the module makes such questions, so a
// key never signs anything else.
type signatureQuestion struct {
	Scheme string `json:"scheme"`
	Bytes  []byte `json:"bytes"`
}

func (k Key) sign(ctx context.Context, question signatureQuestion) ([]byte, error) {
	hash, ok := map[string]crypto.Hash{
		"ed25519":        crypto.Hash(0),
		"rsaPkcs1Sha256": crypto.SHA256,
		"ecdsaSha256":    crypto.SHA256,
		"ecdsaSha384":    crypto.SHA384,
		"ecdsaSha512":    crypto.SHA512,
	}[question.Scheme]
	if !ok {
		return nil, fmt.Errorf("unknown scheme %q", question.Scheme)
	}
	if k.Signer == nil {
		return nil, errNoSigner
	}
	signature, err := signWith(k.Signer, hash, question.Bytes)
	if private, ok := k.Signer.(ed25519.PrivateKey); ok && hash == 0 && err == nil {
		factsOf(ctx).signed(private, question.Bytes, signature)
	}
	return signature, err
}

// signWith signs a message. Without a hash, the message is signed as it is.
func signWith(signer crypto.Signer, hash crypto.Hash, message []byte) ([]byte, error) {
	if hash != 0 {
		digest := hash.New()
		digest.Write(message)
		message = digest.Sum(nil)
	}
	return signer.Sign(rand.Reader, message, hash)
}
