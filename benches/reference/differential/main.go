//go:build !liqo_1_0_0 && !liqo_1_0_3 && !liqo_1_1_2

// Judges what comes on its standard input by Liqo's own functions: a case in
// JSON on each line, and a verdict on each line of its standard output, which
// is "accepted", or "refused: " and why.
package main

import (
	"bufio"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	authv1beta1 "github.com/liqotech/liqo/apis/authentication/v1beta1"
	liqov1beta1 "github.com/liqotech/liqo/apis/core/v1beta1"
	"github.com/liqotech/liqo/pkg/liqo-controller-manager/authentication"
	"github.com/liqotech/liqo/pkg/utils/kubeconfig"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// testCase has one of its first three fields; the rest says what is right.
type testCase struct {
	CSR      []byte                `json:"csr"`
	Tenant   *authv1beta1.Tenant   `json:"tenant"`
	Identity *authv1beta1.Identity `json:"identity"`

	Consumer liqov1beta1.ClusterID `json:"consumer"`
	// PublicKey is the consumer's, as SubjectPublicKeyInfo.
	PublicKey []byte `json:"publicKey"`
	// PrivateKey is the consumer's, in PEM.
	PrivateKey string `json:"privateKey"`
	Nonce      string `json:"nonce"`
}

func main() {
	if err := judgeAll(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func judgeAll(in io.Reader, out io.Writer) error {
	cases := bufio.NewReaderSize(in, 1<<16)
	verdicts := bufio.NewWriter(out)
	for {
		line, err := cases.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return verdicts.Flush()
		}
		if err != nil {
			return err
		}
		if err := judge(line); err != nil {
			fmt.Fprintln(verdicts, "refused:", strings.ReplaceAll(err.Error(), "\n", " "))
		} else {
			fmt.Fprintln(verdicts, "accepted")
		}
		// The other side waits once it has sent all.
		if cases.Buffered() == 0 {
			if err := verdicts.Flush(); err != nil {
				return err
			}
		}
	}
}

func judge(line []byte) (err error) {
	var given testCase
	if err := json.Unmarshal(line, &given); err != nil {
		return err
	}
	// A case that cannot be judged to its end is not accepted.
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("not judged to its end: %v", reason)
		}
	}()
	switch {
	case given.Tenant != nil:
		return judgeTenant(&given)
	case given.Identity != nil:
		return judgeIdentity(&given)
	default:
		return judgeRequest(given.CSR, given.PublicKey, given.Consumer)
	}
}

// judgeRequest is what Liqo asks of a request, and then the API server.
func judgeRequest(csr, publicKey []byte, consumer liqov1beta1.ClusterID) error {
	if err := authentication.CheckCSRForControlPlane(csr, publicKey, consumer); err != nil {
		return err
	}
	block, _ := pem.Decode(csr)
	if block == nil {
		return errors.New("the request is not PEM")
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return err
	}
	return request.CheckSignature()
}

func judgeTenant(given *testCase) error {
	spec := &given.Tenant.Spec
	if spec.ClusterID != given.Consumer {
		return fmt.Errorf("the Tenant is that of %q", spec.ClusterID)
	}
	publicKey, publicKeyDER, err := authentication.ParseTenantPublicKey(spec.PublicKey)
	if err != nil {
		return err
	}
	verified, err := authentication.VerifyNonce(publicKey, []byte(given.Nonce), spec.Signature)
	if err != nil {
		return err
	}
	if !verified {
		return errors.New("the signature over the nonce is not right")
	}
	return judgeRequest(spec.CSR, publicKeyDER, spec.ClusterID)
}

// judgeIdentity is whether a client can be made of the Identity.
func judgeIdentity(given *testCase) error {
	spec := &given.Identity.Spec
	params := &spec.AuthParams
	text, err := kubeconfig.GenerateKubeconfig(given.Identity.Name, string(spec.ClusterID), params.APIServer,
		params.CA, params.SignedCRT, []byte(given.PrivateKey), params.ProxyURL, spec.Namespace)
	if err != nil {
		return err
	}
	client, err := clientcmd.RESTConfigFromKubeConfig(text)
	if err != nil {
		return err
	}
	if _, err := rest.TLSConfigFor(client); err != nil {
		return err
	}
	_, err = rest.HTTPClientFor(client)
	return err
}
