package main

import (
	"bytes"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"

	authv1beta1 "github.com/liqotech/liqo/apis/authentication/v1beta1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	clientcmdv1 "k8s.io/client-go/tools/clientcmd/api/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"
)

// judgeKubeconfig uses the kubeconfig as kubectl and Liqo would.
func judgeKubeconfig(exchange *exchange, key *tenantKey, report *report) {
	if exchange.kubeconfig == "" {
		return
	}

	report.check("kubeconfig.yaml has no field that client-go does not know", func() error {
		text, err := os.ReadFile(exchange.kubeconfig)
		if err != nil {
			return err
		}
		return yaml.UnmarshalStrict(text, &clientcmdv1.Config{})
	})
	var config *clientcmdapi.Config
	loaded := report.check("kubeconfig.yaml is loaded by client-go", func() (err error) {
		config, err = loadKubeconfig(exchange.kubeconfig)
		return err
	})
	if !loaded {
		return
	}
	report.check("the kubeconfig is valid to client-go (clientcmd.Validate)", func() error {
		return clientcmd.Validate(*config)
	})

	var client *rest.Config
	var namespace string
	usable := report.check("the kubeconfig makes a client (ClientConfig)", func() (err error) {
		chosen := clientcmd.NewDefaultClientConfig(*config, &clientcmd.ConfigOverrides{})
		if namespace, _, err = chosen.Namespace(); err != nil {
			return err
		}
		if client, err = chosen.ClientConfig(); err != nil {
			return err
		}
		return rest.LoadTLSFiles(client)
	})
	if !usable {
		return
	}

	var private crypto.PrivateKey
	report.check("the kubeconfig's certificate and key belong together (tls.X509KeyPair)", func() error {
		pair, err := tls.X509KeyPair(client.CertData, client.KeyData)
		private = pair.PrivateKey
		return err
	})
	report.check("client-go makes a TLS client of the kubeconfig (TLSConfigFor)", func() error {
		_, err := rest.TLSConfigFor(client)
		return err
	})
	report.check("the kubeconfig's key is the Tenant's", func() error {
		signer, ok := private.(crypto.Signer)
		if !ok {
			return errors.New("there is no key")
		}
		return key.matches(signer.Public())
	})
	judgeWhatLiqoMakes(exchange, private, report)
	judgeAgainstIdentity(exchange, config, client, namespace, report)
}

// loadKubeconfig takes relative paths in it from where it lies, as kubectl does.
func loadKubeconfig(path string) (*clientcmdapi.Config, error) {
	config, err := clientcmd.LoadFromFile(path)
	if err != nil {
		return nil, err
	}
	return config, clientcmd.ResolveLocalPaths(config)
}

// judgeWhatLiqoMakes lets Liqo make the same things with the same key. Ed25519
// and RSA signatures leave no choice: one byte that differs is a difference
// from Liqo. For ECDSA there is nothing to compare.
func judgeWhatLiqoMakes(exchange *exchange, private crypto.PrivateKey, report *report) {
	if exchange.tenant == nil || private == nil || !isDeterministic(private) {
		return
	}
	report.check("the Tenant's CSR is, byte for byte, the one that Liqo makes with this key", func() error {
		csr, err := generateControlPlaneCSR(private, exchange.consumer)
		return all(err, sameBytes(exchange.tenant.Spec.CSR, csr))
	})
	report.check("the Tenant's signature is, byte for byte, the one that Liqo makes with this key", func() error {
		signature, err := signNonce(private, exchange.nonce)
		return all(err, sameBytes(exchange.tenant.Spec.Signature, signature))
	})
}

func judgeAgainstIdentity(exchange *exchange, config *clientcmdapi.Config, client *rest.Config, namespace string, report *report) {
	if exchange.identity == nil {
		return
	}
	spec := &exchange.identity.Spec

	report.check("the kubeconfig's names are those that Liqo gives", func() error {
		context := config.Contexts[config.CurrentContext]
		return all(
			named("current-context", equal(config.CurrentContext, "default-context")),
			named("cluster", equal(context.Cluster, string(spec.ClusterID))),
			named("user", equal(context.AuthInfo, exchange.identity.Name)),
		)
	})
	report.check("the kubeconfig's server is the Identity's", func() error {
		return equal(client.Host, spec.AuthParams.APIServer)
	})
	report.check("the kubeconfig's proxy is the Identity's", func() error {
		cluster := config.Clusters[config.Contexts[config.CurrentContext].Cluster]
		return equal(cluster.ProxyURL, ptr.Deref(spec.AuthParams.ProxyURL, ""))
	})
	report.check("the kubeconfig's namespace is the Identity's", func() error {
		return equal(namespace, ptr.Deref(spec.Namespace, ""))
	})
	report.check("the kubeconfig's CA and certificate are the Identity's", func() error {
		return sameMaterial(client, &spec.AuthParams)
	})
}

func sameMaterial(client *rest.Config, params *authv1beta1.AuthParams) error {
	if client.Insecure {
		return errors.New("it does not verify the server's certificate")
	}
	if len(params.CA) > 0 && !x509.NewCertPool().AppendCertsFromPEM(client.CAData) {
		return errors.New("CA: there is no certificate in it")
	}
	return all(
		named("CA", sameBytes(client.CAData, params.CA)),
		named("certificate", sameBytes(client.CertData, params.SignedCRT)),
	)
}

func sameBytes(found, right []byte) error {
	if !bytes.Equal(found, right) {
		return errors.New("the bytes differ")
	}
	return nil
}
