package main

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"

	liqov1beta1 "github.com/liqotech/liqo/apis/core/v1beta1"
	"github.com/liqotech/liqo/pkg/consts"
	"github.com/liqotech/liqo/pkg/liqo-controller-manager/authentication"
	certificatesv1 "k8s.io/api/certificates/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// peeringUser is the user by which the consumer's liqoctl may authenticate by
// itself. What could not be read is nil.
type peeringUser struct {
	request  *certificatesv1.CertificateSigningRequest
	bindings []*rbacv1.RoleBinding
	// kubeconfig is a path.
	kubeconfig string
}

// The roles as Liqo's chart names them by default.
const (
	readerRole = "liqo-peering-user-liqo-ns"
	writerRole = "liqo-peering-user-tenant-ns"
)

func readPeeringUser(dir string, report *report) *peeringUser {
	if !exists(dir) {
		return nil
	}
	user := &peeringUser{kubeconfig: filepath.Join(dir, "kubeconfig.yaml")}
	report.check("peering-user/csr.yaml is read by Kubernetes' type, strictly", func() (err error) {
		user.request, err = readObject[*certificatesv1.CertificateSigningRequest](filepath.Join(dir, "csr.yaml"))
		return err
	})
	report.check("peering-user/rolebindings.yaml is read by Kubernetes' type, strictly", func() (err error) {
		user.bindings, err = readObjects[*rbacv1.RoleBinding](filepath.Join(dir, "rolebindings.yaml"))
		return err
	})
	return user
}

// peeringUserName is the name of all the user's objects. Liqo's own function
// for it brings Helm and Docker along.
func peeringUserName(consumer liqov1beta1.ClusterID) string {
	return "liqo-peer-user-" + string(consumer)
}

// judgePeeringUser compares with what `liqoctl generate peering-user` makes.
func judgePeeringUser(exchange *exchange, report *report) {
	user := exchange.peeringUser
	if user == nil {
		return
	}
	const kubeconfig = "peering-user/kubeconfig.yaml"
	used := useKubeconfig(user.kubeconfig, kubeconfig, kubeconfig+": the kubeconfig", report)
	var private crypto.PrivateKey
	if used != nil {
		private = used.private
	}

	key, right := judgePeeringRequest(user.request, private, exchange, report)
	judgePeeringRights(user.bindings, right, exchange, report)
	if used != nil && key != nil {
		judgePeeringKubeconfig(kubeconfig, used, user.request, key, right, exchange, report)
	}
}

// judgePeeringRequest gives the user's key and subject; the key is nil if they
// could not be read.
func judgePeeringRequest(request *certificatesv1.CertificateSigningRequest, private crypto.PrivateKey, exchange *exchange, report *report) (key *publicKey, right subject) {
	if request == nil {
		return nil, right
	}
	const file = "peering-user/csr.yaml"
	report.check(file+": name and label are right", func() error {
		user := peeringUserName(exchange.consumer)
		return checkPeeringMetadata(request, user, user, "")
	})
	report.check(file+": signer, usages and lifetime are right", func() error {
		return checkPeeringRequestSpec(&request.Spec)
	})
	report.check(file+": the CSR names a peering user of the consumer", func() (err error) {
		key, right, err = parsePeeringCSR(request.Spec.Request, exchange.consumer)
		return err
	})
	report.check(file+": the CSR is signed by its own key", func() error {
		return checkCSRSignature(request.Spec.Request)
	})
	if key != nil && isDeterministic(private) {
		report.check(file+": the CSR is, byte for byte, the one that Liqo makes with the kubeconfig's key", func() error {
			// Only the common name of GenerateCSRForPeerUser is random. The
			// organization is the control plane's.
			csr, err := generateControlPlaneCSR(private, liqov1beta1.ClusterID(right.commonName))
			return all(err, sameBytes(request.Spec.Request, csr))
		})
	}
	if len(request.Status.Certificate) > 0 {
		report.check(file+": the request is approved", func() error {
			if !slices.ContainsFunc(request.Status.Conditions, isApproval) {
				return errors.New("there is a certificate, but no approval")
			}
			return nil
		})
	}
	return key, right
}

func isApproval(condition certificatesv1.CertificateSigningRequestCondition) bool {
	return condition.Type == certificatesv1.CertificateApproved && condition.Status == "True"
}

// checkPeeringMetadata holds for all objects of the user.
func checkPeeringMetadata(object metav1.Object, user, name, namespace string) error {
	return all(
		named("metadata.name", equal(object.GetName(), name)),
		named("metadata.namespace", equal(object.GetNamespace(), namespace)),
		named("label "+consts.PeeringUserNameLabelKey, equal(object.GetLabels()[consts.PeeringUserNameLabelKey], user)),
	)
}

func checkPeeringRequestSpec(spec *certificatesv1.CertificateSigningRequestSpec) error {
	usages := []certificatesv1.KeyUsage{
		certificatesv1.UsageDigitalSignature,
		certificatesv1.UsageKeyEncipherment,
		certificatesv1.UsageClientAuth,
	}
	if !slices.Equal(spec.Usages, usages) {
		return fmt.Errorf("spec.usages: found %q, not %q", spec.Usages, usages)
	}
	// The API server writes the groups of the one who asks.
	if len(spec.Groups) > 0 && !slices.Contains(spec.Groups, "system:authenticated") {
		return fmt.Errorf("spec.groups: found %q, without system:authenticated", spec.Groups)
	}
	// Liqo sets none. Kubernetes takes no less than this.
	if seconds := spec.ExpirationSeconds; seconds != nil && *seconds < 600 {
		return fmt.Errorf("spec.expirationSeconds: found %d, not at least 600", *seconds)
	}
	return named("spec.signerName", equal(spec.SignerName, certificatesv1.KubeAPIServerClientSignerName))
}

// parsePeeringCSR reads key and subject, if the subject is a peering user of
// the consumer.
func parsePeeringCSR(text []byte, consumer liqov1beta1.ClusterID) (*publicKey, subject, error) {
	right := subject{organization: authentication.OrganizationControlPlaneCSR()}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, right, errors.New("it is not PEM")
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, right, err
	}
	form := regexp.MustCompile("^" + regexp.QuoteMeta(peeringUserName(consumer)) + "-[0-9a-f]{32}$")
	right.commonName = request.Subject.CommonName
	if !form.MatchString(right.commonName) {
		return nil, right, fmt.Errorf("common name: found %q, not %s-<32 hexadecimal digits>", right.commonName, peeringUserName(consumer))
	}
	key := &publicKey{whose: "the peering user's", public: request.PublicKey}
	return key, right, checkName(&request.Subject, right)
}

// judgePeeringRights compares with the two RoleBindings that Liqo makes.
func judgePeeringRights(bindings []*rbacv1.RoleBinding, user subject, exchange *exchange, report *report) {
	if bindings == nil {
		return
	}
	const file = "peering-user/rolebindings.yaml"
	report.check(file+": there are two", func() error {
		if len(bindings) != 2 {
			return fmt.Errorf("found %d RoleBindings, not 2", len(bindings))
		}
		return nil
	})
	name := peeringUserName(exchange.consumer)
	for _, right := range []*rbacv1.RoleBinding{
		peeringBinding(name+"-liqo-ns-reader", consts.DefaultLiqoNamespace, "Role", readerRole, user),
		peeringBinding(name+"-tenant-ns-writer", tenantNamespace(exchange.consumer), "ClusterRole", writerRole, user),
	} {
		report.check(file+": "+right.Name+" binds the user and nobody else", func() error {
			return checkPeeringBinding(bindings, name, right)
		})
	}
}

func peeringBinding(name, namespace, kind, role string, user subject) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user.commonName}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: role},
	}
}

func checkPeeringBinding(bindings []*rbacv1.RoleBinding, user string, right *rbacv1.RoleBinding) error {
	at := slices.IndexFunc(bindings, func(binding *rbacv1.RoleBinding) bool { return binding.Name == right.Name })
	if at < 0 {
		return errors.New("there is none of this name")
	}
	found := bindings[at]
	if !equality.Semantic.DeepEqual(found.Subjects, right.Subjects) {
		return fmt.Errorf("subjects: found %+v, not %+v", found.Subjects, right.Subjects)
	}
	if found.RoleRef != right.RoleRef {
		return fmt.Errorf("roleRef: found %+v, not %+v", found.RoleRef, right.RoleRef)
	}
	return checkPeeringMetadata(found, user, right.Name, right.Namespace)
}

func judgePeeringKubeconfig(file string, used *usedKubeconfig, request *certificatesv1.CertificateSigningRequest, key *publicKey, user subject, exchange *exchange, report *report) {
	report.check(file+": the kubeconfig's key is the peering user's", func() error {
		return used.hasKey(key)
	})
	judgeCertificate(&clientCertificate{
		whose:   file + ": the",
		chain:   used.client.CertData,
		ca:      used.client.CAData,
		caIn:    "the kubeconfig's CA",
		key:     key,
		subject: user,
	}, exchange.now, report)

	right := &kubeconfigContent{
		whose: "the provider's, for this user",
		// Liqo gives the cluster the consumer's name, though it is the provider.
		cluster:     string(exchange.consumer),
		user:        string(exchange.consumer) + "-user",
		server:      used.client.Host,
		namespace:   tenantNamespace(exchange.consumer),
		ca:          used.client.CAData,
		certificate: used.client.CertData,
	}
	if exchange.identity != nil {
		right.server = exchange.identity.Spec.AuthParams.APIServer
	}
	if len(request.Status.Certificate) > 0 {
		right.certificate = request.Status.Certificate
	}
	judgeContent(file+": the kubeconfig", used, right, report)
}
