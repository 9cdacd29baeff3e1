package liqoauth_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log"

	authv1beta1 "github.com/liqotech/liqo/apis/authentication/v1beta1"
	liqov1beta1 "github.com/liqotech/liqo/apis/core/v1beta1"

	liqoauth "git.example.com/liqo-auth/liqo-auth/go"
)

const consumer liqov1beta1.ClusterID = "cl-consumer"

// nonce is one that a provider with Liqo makes: 64 random bytes in base64.
var nonce = []byte("rfmPVYvCGQibAyhXdgND2SeJihfBYIMOtekiXasW7RPTMwoGlBFhts7i+c1suHxupxy8gGXDJsr/kjs+EJa9XQ==")

// key is the key of a consumer. A program reads its own from the Secret authentication-keys.
func key() ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed([]byte("the seed of an example's own key"))
}

// tenant makes the Tenant of a consumer by Liqo's functions.
func tenant() (*authv1beta1.Tenant, error) {
	signature, err := liqoauth.SignNonce(key(), nonce)
	if err != nil {
		return nil, err
	}
	csr, err := liqoauth.GenerateCSRForControlPlane(key(), consumer)
	if err != nil {
		return nil, err
	}
	made := &authv1beta1.Tenant{}
	made.Name = string(consumer)
	made.Labels = map[string]string{"liqo.io/remote-cluster-id": string(consumer)}
	made.Spec.ClusterID = consumer
	made.Spec.PublicKey = key().Public().(ed25519.PublicKey)
	made.Spec.CSR = csr
	made.Spec.Signature = signature
	return made, nil
}

// The functions of Liqo's package have the same names and signatures here.
func Example() {
	signature, err := liqoauth.SignNonce(key(), nonce)
	if err != nil {
		log.Fatal(err)
	}
	isSigned, err := liqoauth.VerifyNonce(key().Public(), nonce, signature)
	fmt.Println(isSigned, err)
	_, err = liqoauth.SignNonce(key(), []byte("transfer all to mallory"))
	fmt.Println(err != nil)
	// Output:
	// true <nil>
	// true
}

// A Tenant is verified with the nonce that its consumer has to sign.
func ExampleLibrary_VerifyTenant() {
	ctx := context.Background()
	library, err := liqoauth.New(ctx, liqoauth.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer library.Close(ctx)
	received, err := tenant()
	if err != nil {
		log.Fatal(err)
	}
	verified, err := library.VerifyTenant(ctx, received, consumer, nonce)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(verified.ClusterID, key().Public().(ed25519.PublicKey).Equal(verified.PublicKey))
	// Output: cl-consumer true
}

// The code of an error keeps its meaning across versions.
func ExampleCode() {
	ctx := context.Background()
	library, err := liqoauth.Default()
	if err != nil {
		log.Fatal(err)
	}
	received, err := tenant()
	if err != nil {
		log.Fatal(err)
	}
	received.Spec.Signature[0] ^= 1
	_, err = library.VerifyTenant(ctx, received, consumer, nonce)
	fmt.Println(errors.Is(err, liqoauth.Code("nonce-signature-wrong")))
	var refused *liqoauth.Error
	if errors.As(err, &refused) {
		fmt.Println(refused.Rule, refused.Field)
	}
	// Output:
	// true
	// 4 spec.signature
}
