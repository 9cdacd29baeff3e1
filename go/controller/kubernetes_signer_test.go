package controller

import (
	"context"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	liqoauth "git.example.com/liqo-auth/liqo-auth/go"
)

// signAll is kube-controller-manager: it signs what is approved.
func signAll(t *testing.T, e *exchange, sign func(context.Context, liqoauth.SigningRequest) (string, error)) (signed int) {
	t.Helper()
	requests := &certificatesv1.CertificateSigningRequestList{}
	if err := e.atProvider.List(t.Context(), requests); err != nil {
		t.Fatal(err)
	}
	for i := range requests.Items {
		csr := &requests.Items[i]
		for _, condition := range csr.Status.Conditions {
			if condition.Type != certificatesv1.CertificateApproved || len(csr.Status.Certificate) > 0 {
				continue
			}
			certificate, err := sign(t.Context(), liqoauth.SigningRequest{
				CSR: string(csr.Spec.Request), Now: time.Now(),
				LifetimeSeconds: uint64(*csr.Spec.ExpirationSeconds),
			})
			if err != nil {
				t.Fatal(err)
			}
			csr.Status.Certificate = []byte(certificate)
			if err := e.atProvider.Status().Update(t.Context(), csr); err != nil {
				t.Fatal(err)
			}
			signed++
		}
	}
	return signed
}

func TestTheClusterSignsByItsOwnObjects(t *testing.T) {
	e := newExchange(t, liqoauth.Backends{}, interceptor.Funcs{})
	authority, sign := signer(t)
	e.provider = library.Provider(liqoauth.ProviderConfig{
		ClusterID: providerID, APIServer: "https://172.19.0.3:6443", APIServerCA: authority, KubernetesSigner: true,
	}, [32]byte{7}, liqoauth.Backends{
		Names: func(context.Context, liqoauth.NameRequest) (bool, error) { return false, nil },
	})
	e.ofProvider = newReconciler(t, e.provider, e.atProvider, e.ofProvider.Deliver)
	e.invite(t)
	signed := 0
	for range 6 {
		if err := e.round(t); err != nil {
			t.Fatal(err)
		}
		signed += signAll(t, e, sign)
	}
	if signed != 1 || !e.isAuthenticated(t) {
		t.Errorf("%d requests are signed", signed)
	}
	if err := e.atConsumer.Get(t.Context(), kubeconfig, &corev1.Secret{}); err != nil {
		t.Error(err)
	}
}
