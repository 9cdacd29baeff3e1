package liqoauth

import (
	"context"
	"crypto"
	"crypto/sha256"
	"fmt"
	"slices"

	authv1beta1 "github.com/liqotech/liqo/apis/authentication/v1beta1"
	liqov1beta1 "github.com/liqotech/liqo/apis/core/v1beta1"
)

// The functions below have the names and signatures of Liqo's package
// pkg/liqo-controller-manager/authentication.

// SignNonce signs a nonce, and nothing but a nonce.
func SignNonce(priv crypto.PrivateKey, nonce []byte) ([]byte, error) {
	library, err := Default()
	if err != nil {
		return nil, err
	}
	return library.SignNonce(context.Background(), priv, nonce)
}

// VerifyNonce verifies a signature over a nonce.
func VerifyNonce(publicKey crypto.PublicKey, nonce, signature []byte) (bool, error) {
	library, err := Default()
	if err != nil {
		return false, err
	}
	return library.VerifyNonce(context.Background(), publicKey, nonce, signature)
}

// GenerateCSRForControlPlane makes the request of a consumer's control plane.
func GenerateCSRForControlPlane(key crypto.PrivateKey, clusterID liqov1beta1.ClusterID) (csrBytes []byte, err error) {
	library, err := Default()
	if err != nil {
		return nil, err
	}
	return library.GenerateCSRForControlPlane(context.Background(), key, clusterID)
}

// GenerateCSRForResourceSlice makes the request of a resource slice.
func GenerateCSRForResourceSlice(key crypto.PrivateKey,
	resourceSlice *authv1beta1.ResourceSlice,
) (csrBytes []byte, err error) {
	library, err := Default()
	if err != nil {
		return nil, err
	}
	return library.GenerateCSRForResourceSlice(context.Background(), key, resourceSlice)
}

// GenerateCSRForPeerUser makes the request of a new peering user, and returns its name.
func GenerateCSRForPeerUser(key crypto.PrivateKey, clusterID liqov1beta1.ClusterID) (csrBytes []byte, userCN string, err error) {
	library, err := Default()
	if err != nil {
		return nil, "", err
	}
	return library.GenerateCSRForPeerUser(context.Background(), key, clusterID)
}

// CheckCSRForControlPlane verifies the request of a consumer's control plane, and its
// signature by its own key.
func CheckCSRForControlPlane(csr, publicKeyDER []byte, remoteClusterID liqov1beta1.ClusterID) error {
	library, err := Default()
	if err != nil {
		return err
	}
	return library.CheckCSRForControlPlane(context.Background(), csr, publicKeyDER, remoteClusterID)
}

// CheckCSRForResourceSlice verifies the request of a resource slice, and its signature
// by its own key.
func CheckCSRForResourceSlice(tenantPublicKey []byte, resourceSlice *authv1beta1.ResourceSlice, checkPublicKey bool) error {
	library, err := Default()
	if err != nil {
		return err
	}
	return library.CheckCSRForResourceSlice(context.Background(), tenantPublicKey, resourceSlice, checkPublicKey)
}

// ParseTenantPublicKey reads spec.publicKey of a Tenant.
func ParseTenantPublicKey(publicKey []byte) (crypto.PublicKey, []byte, error) {
	library, err := Default()
	if err != nil {
		return nil, nil, err
	}
	return library.ParseTenantPublicKey(context.Background(), publicKey)
}

// CommonNameControlPlaneCSR returns the user of a consumer's control plane.
func CommonNameControlPlaneCSR(clusterID liqov1beta1.ClusterID) string {
	return string(clusterID)
}

// OrganizationControlPlaneCSR returns the group of every control plane.
func OrganizationControlPlaneCSR() string {
	return "liqo.io"
}

// CommonNameResourceSliceCSR returns the user of a resource slice. As in Liqo, it
// panics if the slice names no consumer.
func CommonNameResourceSliceCSR(resourceSlice *authv1beta1.ResourceSlice) string {
	hash := sha256.Sum256([]byte(*resourceSlice.Spec.ConsumerClusterID))
	return fmt.Sprintf("%s-%x", resourceSlice.Name, hash[:6])
}

// OrganizationResourceSliceCSR returns the group of a consumer's resource slices. As
// in Liqo, it panics if the slice names no consumer.
func OrganizationResourceSliceCSR(resourceSlice *authv1beta1.ResourceSlice) string {
	return string(*resourceSlice.Spec.ConsumerClusterID)
}

// IsControlPlaneUser reports whether the groups contain that of control planes.
func IsControlPlaneUser(groups []string) bool {
	return slices.Contains(groups, OrganizationControlPlaneCSR())
}
