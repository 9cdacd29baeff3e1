// The example runs a provider on a cluster, and lets the consumers of Liqo authenticate:
//
//	head -c 32 /dev/urandom > record.key
//	example milan MILAN.kubeconfig record.key
//	liqoctl authenticate --kubeconfig ROME.kubeconfig --remote-kubeconfig MILAN.kubeconfig
//
// The provider's cluster has Liqo's resource definitions, and Liqo's authentication module
// is switched off there. The cluster's kube-controller-manager signs the certificates.
package main

import (
	"context"
	"fmt"
	"os"

	liqov1beta1 "github.com/liqotech/liqo/apis/core/v1beta1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	liqoauth "git.example.com/liqo-auth/liqo-auth/go"
	"git.example.com/liqo-auth/liqo-auth/go/controller"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: example CLUSTER-ID KUBECONFIG RECORD-KEY")
		os.Exit(2)
	}
	ctrl.SetLogger(klog.Background())
	err := run(ctrl.SetupSignalHandler(), liqov1beta1.ClusterID(os.Args[1]), os.Args[2], os.Args[3])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, clusterID liqov1beta1.ClusterID, kubeconfig, recordKeyFile string) error {
	recordKey, err := readRecordKey(recordKeyFile)
	if err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	// The API server limits requests by itself. The client's own limit, 20 a second, would
	// be less than a look needs.
	config.QPS = -1
	library, err := liqoauth.New(ctx, liqoauth.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = library.Close(context.WithoutCancel(ctx)) }()

	provider := library.Provider(liqoauth.ProviderConfig{
		ClusterID: clusterID, APIServer: config.Host, APIServerCA: string(config.CAData), KubernetesSigner: true,
	}, recordKey, liqoauth.Backends{Names: isTaken})
	bounds, err := provider.Bounds(ctx)
	if err != nil {
		return err
	}
	config.Wrap(controller.BoundedLists(bounds))
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Metrics: server.Options{BindAddress: "0"},
		// The cache has the metadata of all that peers write.
		Cache: cache.Options{DefaultTransform: controller.BoundedCache(bounds)},
	})
	if err != nil {
		return err
	}
	// liqoctl takes the nonce and the Identity from the cluster, and brings the Tenant. So
	// the reconciler delivers no messages.
	reconciler, err := controller.New(ctx, controller.Config{
		Side: provider, Reader: manager.GetAPIReader(), Writer: manager.GetClient(),
		FollowClientCAs: true,
		Events:          manager.GetEventRecorder("liqo-auth"),
	})
	if err != nil {
		return err
	}
	if err := reconciler.SetupWithManager(ctx, manager, "liqo-auth-provider"); err != nil {
		return err
	}
	return manager.Start(ctx)
}

// readRecordKey reads the key that seals the provider's records. It stays the same for
// the cluster's life.
func readRecordKey(file string) (key [32]byte, err error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return key, err
	}
	if len(content) != len(key) {
		return key, fmt.Errorf("%s has %d bytes instead of %d", file, len(content), len(key))
	}
	copy(key[:], content)
	return key, nil
}

// isTaken knows which users and groups the cluster has besides its peers.
func isTaken(_ context.Context, request liqoauth.NameRequest) (bool, error) {
	return request.Name == "kubernetes-admin" || request.Name == "system:masters", nil
}
