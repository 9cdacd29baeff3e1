package main

import (
	"bytes"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"

	authv1beta1 "github.com/liqotech/liqo/apis/authentication/v1beta1"
	kubeconfigutils "github.com/liqotech/liqo/pkg/utils/kubeconfig"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	clientcmdv1 "k8s.io/client-go/tools/clientcmd/api/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"
)

// judgeKubeconfig judges the control plane's kubeconfig, and gives the key in
// it, if there is one.
func judgeKubeconfig(exchange *exchange, key *publicKey, report *report) crypto.PrivateKey {
	if exchange.kubeconfig == "" {
		return nil
	}
	used := useKubeconfig(exchange.kubeconfig, "kubeconfig.yaml", "the kubeconfig", report)
	if used == nil {
		return nil
	}
	report.check("the kubeconfig's key is the Tenant's", func() error {
		return used.hasKey(key)
	})
	judgeWhatLiqoMakes(exchange, used.private, report)
	if exchange.identity != nil {
		right := kubeconfigOf(exchange.identity)
		right.namespace = ptr.Deref(exchange.identity.Spec.Namespace, "")
		judgeContent("the kubeconfig", used, right, report)
	}
	return used.private
}

// usedKubeconfig is what client-go makes of a kubeconfig.
type usedKubeconfig struct {
	text   []byte
	config *clientcmdapi.Config
	// What is current.
	context *clientcmdapi.Context
	cluster *clientcmdapi.Cluster
	user    *clientcmdapi.AuthInfo
	client  *rest.Config
	private crypto.PrivateKey
}

// choose takes what is current, which client-go would let be nothing at all.
func (u *usedKubeconfig) choose() error {
	if u.context = u.config.Contexts[u.config.CurrentContext]; u.context == nil {
		return fmt.Errorf("there is no context %q", u.config.CurrentContext)
	}
	if u.cluster = u.config.Clusters[u.context.Cluster]; u.cluster == nil {
		return fmt.Errorf("there is no cluster %q", u.context.Cluster)
	}
	if u.user = u.config.AuthInfos[u.context.AuthInfo]; u.user == nil {
		return fmt.Errorf("there is no user %q", u.context.AuthInfo)
	}
	return nil
}

func (u *usedKubeconfig) hasKey(key *publicKey) error {
	public := publicOf(u.private)
	if public == nil {
		return errors.New("there is no key")
	}
	return key.matches(public)
}

// useKubeconfig uses a kubeconfig as kubectl and Liqo would. It is nil if that
// cannot be.
func useKubeconfig(path, file, whose string, report *report) *usedKubeconfig {
	used := &usedKubeconfig{}
	report.check(file+" has no field that client-go does not know", func() (err error) {
		if used.text, err = os.ReadFile(path); err != nil {
			return err
		}
		return yaml.UnmarshalStrict(used.text, &clientcmdv1.Config{})
	})
	loaded := report.check(file+" is loaded by client-go", func() (err error) {
		used.config, err = loadKubeconfig(path)
		return err
	})
	if !loaded {
		return nil
	}
	report.check(whose+" is valid to client-go (clientcmd.Validate)", func() error {
		return clientcmd.Validate(*used.config)
	})
	usable := report.check(whose+" makes a client (ClientConfig)", func() (err error) {
		if err := used.choose(); err != nil {
			return err
		}
		chosen := clientcmd.NewDefaultClientConfig(*used.config, &clientcmd.ConfigOverrides{})
		if used.client, err = chosen.ClientConfig(); err != nil {
			return err
		}
		return rest.LoadTLSFiles(used.client)
	})
	if !usable {
		return nil
	}
	report.check(whose+"'s certificate and key belong together (tls.X509KeyPair)", func() error {
		pair, err := tls.X509KeyPair(used.client.CertData, used.client.KeyData)
		used.private = pair.PrivateKey
		return err
	})
	report.check("client-go makes a TLS client of "+whose+" (TLSConfigFor)", func() error {
		_, err := rest.TLSConfigFor(used.client)
		return err
	})
	return used
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
	if exchange.tenant == nil || !isDeterministic(private) {
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

// kubeconfigContent is what must be in a kubeconfig, but for the key.
type kubeconfigContent struct {
	// whose says where it was found.
	whose           string
	cluster, user   string
	server, proxy   string
	namespace       string
	ca, certificate []byte
}

// kubeconfigOf is what Liqo puts into the kubeconfig of an Identity. It has no
// namespace.
func kubeconfigOf(identity *authv1beta1.Identity) *kubeconfigContent {
	params := &identity.Spec.AuthParams
	return &kubeconfigContent{
		whose:       "the Identity's",
		cluster:     string(identity.Spec.ClusterID),
		user:        identity.Name,
		server:      params.APIServer,
		proxy:       ptr.Deref(params.ProxyURL, ""),
		ca:          params.CA,
		certificate: params.SignedCRT,
	}
}

func judgeContent(whose string, used *usedKubeconfig, right *kubeconfigContent, report *report) {
	report.check(whose+"'s names are those that Liqo gives", func() error {
		return all(
			named("current-context", equal(used.config.CurrentContext, "default-context")),
			named("cluster", equal(used.context.Cluster, right.cluster)),
			named("user", equal(used.context.AuthInfo, right.user)),
		)
	})
	report.check(whose+"'s server is "+right.whose, func() error {
		return equal(used.client.Host, right.server)
	})
	report.check(whose+"'s proxy is "+right.whose, func() error {
		return equal(used.cluster.ProxyURL, right.proxy)
	})
	report.check(whose+"'s namespace is "+right.whose, func() error {
		return equal(used.context.Namespace, right.namespace)
	})
	report.check(whose+"'s CA and certificate are "+right.whose, func() error {
		return sameMaterial(used.client, right)
	})
	// A key that lies elsewhere is not Liqo's form.
	if key := used.user.ClientKeyData; len(key) > 0 {
		report.check(whose+" is, byte for byte, the one that Liqo makes (GenerateKubeconfig)", func() error {
			made, err := kubeconfigutils.GenerateKubeconfig(right.user, right.cluster, right.server,
				right.ca, right.certificate, key, ptr.To(right.proxy), ptr.To(right.namespace))
			return all(err, sameBytes(withoutPreferences(used.text), withoutPreferences(made)))
		})
	}
}

// withoutPreferences leaves out a line that says nothing, and that client-go
// no longer writes.
func withoutPreferences(kubeconfig []byte) []byte {
	return bytes.Replace(kubeconfig, []byte("\npreferences: {}\n"), []byte("\n"), 1)
}

func sameMaterial(client *rest.Config, right *kubeconfigContent) error {
	if client.Insecure {
		return errors.New("it does not verify the server's certificate")
	}
	if len(right.ca) > 0 && !x509.NewCertPool().AppendCertsFromPEM(client.CAData) {
		return errors.New("CA: there is no certificate in it")
	}
	return all(
		named("CA", sameBytes(client.CAData, right.ca)),
		named("certificate", sameBytes(client.CertData, right.certificate)),
	)
}

func sameBytes(found, right []byte) error {
	if !bytes.Equal(found, right) {
		return errors.New("the bytes differ")
	}
	return nil
}
