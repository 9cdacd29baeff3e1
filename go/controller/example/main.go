// The example runs a provider and a consumer, each on its own cluster, and lets them
// authenticate. One process has both kubeconfigs, so it carries the messages itself.
//
//	openssl genpkey -algorithm ed25519 -out key.pem
//	example MILAN.kubeconfig ROME.kubeconfig key.pem
//
// Both clusters have Liqo's resource definitions, and the key is the consumer's. The
// provider's kube-controller-manager signs the certificates.
package main

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"

	liqov1beta1 "github.com/liqotech/liqo/apis/core/v1beta1"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"liqoauth"
	"liqoauth/controller"
)

const (
	providerID liqov1beta1.ClusterID = "milan"
	consumerID liqov1beta1.ClusterID = "rome"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: example PROVIDER-KUBECONFIG CONSUMER-KUBECONFIG KEY")
		os.Exit(2)
	}
	if err := run(ctrl.SetupSignalHandler(), os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, atProvider, atConsumer, keyFile string) error {
	library, err := liqoauth.New(ctx, liqoauth.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = library.Close(context.WithoutCancel(ctx)) }()

	// A real program keeps it in a Secret: it stays the same for the cluster's life.
	var recordKey [32]byte
	if _, err := rand.Read(recordKey[:]); err != nil {
		return err
	}
	key, err := readKey(keyFile)
	if err != nil {
		return err
	}

	milan, err := clientcmd.BuildConfigFromFlags("", atProvider)
	if err != nil {
		return err
	}
	rome, err := clientcmd.BuildConfigFromFlags("", atConsumer)
	if err != nil {
		return err
	}
	provider := library.Provider(liqoauth.ProviderConfig{
		ClusterID: providerID, APIServer: milan.Host, APIServerCA: string(milan.CAData), KubernetesSigner: true,
	}, recordKey, liqoauth.Backends{Names: isTaken})
	consumer := library.Consumer(liqoauth.ConsumerConfig{ClusterID: consumerID}, key, nil)

	// Each side delivers to the other one.
	var toProvider, toConsumer *controller.Reconciler
	managerOfProvider, err := manage(ctx, milan, "provider", provider, &toProvider, &toConsumer)
	if err != nil {
		return err
	}
	managerOfConsumer, err := manage(ctx, rome, "consumer", consumer, &toConsumer, &toProvider)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return managerOfProvider.Start(ctx) })
	group.Go(func() error { return managerOfConsumer.Start(ctx) })
	group.Go(func() error {
		_, err := toProvider.Order(ctx, consumerID, provider.Invite)
		return err
	})
	return group.Wait()
}

// manage makes the manager of one side, and sets its reconciler.
func manage(ctx context.Context, config *rest.Config, name string, side controller.Side,
	own, other **controller.Reconciler,
) (ctrl.Manager, error) {
	manager, err := ctrl.NewManager(config, ctrl.Options{Metrics: server.Options{BindAddress: "0"}})
	if err != nil {
		return nil, err
	}
	*own, err = controller.New(ctx, controller.Config{
		Side: side, Reader: manager.GetAPIReader(), Writer: manager.GetClient(),
		Deliver: func(ctx context.Context, message liqoauth.Message) error {
			return (*other).Receive(ctx, message)
		},
	})
	if err != nil {
		return nil, err
	}
	return manager, (*own).SetupWithManager(ctx, manager, name)
}

// readKey reads a private key in PKCS #8. The kubeconfigs refer to it by its file.
func readKey(file string) (liqoauth.Key, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return liqoauth.Key{}, err
	}
	block, _ := pem.Decode(raw)
	if block == nil {
		return liqoauth.Key{}, fmt.Errorf("%s is not in PEM", file)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return liqoauth.Key{}, err
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return liqoauth.Key{}, fmt.Errorf("%s contains a key that cannot sign", file)
	}
	return liqoauth.Key{Signer: signer, File: file}, nil
}

// isTaken knows which users and groups the cluster has already.
func isTaken(_ context.Context, request liqoauth.NameRequest) (bool, error) {
	return request.Name == "kubernetes-admin" || request.Name == "system:masters", nil
}
