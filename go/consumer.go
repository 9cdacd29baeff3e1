package liqoauth

import (
	"context"
	"time"

	liqov1beta1 "github.com/liqotech/liqo/apis/core/v1beta1"
)

// ConsumerConfig configures a consumer.
type ConsumerConfig struct {
	// ClusterID of this cluster.
	ClusterID liqov1beta1.ClusterID `json:"clusterID"`
	// Namespace of the consumer's records; liqo if it is empty.
	Namespace string `json:"namespace,omitempty"`
	// Policy for all peers.
	Policy Policy `json:"policy"`
	// PeerAgain signs the nonce of the peering that this side ended last again. Set it only if
	// nobody but administrators delivers nonces here.
	PeerAgain bool `json:"peerAgain,omitempty"`
	// Peers are the settings of single providers.
	Peers map[liqov1beta1.ClusterID]ProviderSettings `json:"peers,omitempty"`
}

// ProviderSettings are a consumer's settings for one provider.
type ProviderSettings struct {
	// ProxyURL through which this cluster reaches the provider.
	ProxyURL string `json:"proxyURL,omitempty"`
	// RemoteTenantNamespace is the tenant namespace on the provider, if it is not
	// Liqo's.
	RemoteTenantNamespace string `json:"remoteTenantNamespace,omitempty"`
	// ProviderKeys are the fingerprints that the provider may have. If there are any,
	// the provider has to prove one.
	ProviderKeys []string `json:"providerKeys,omitempty"`
	// AcceptUnprovenProvider accepts an Identity without the proof to which its nonce
	// committed.
	AcceptUnprovenProvider bool `json:"acceptUnprovenProvider,omitempty"`
	// PubliclyTrusted accepts an Identity without a CA.
	PubliclyTrusted bool `json:"publiclyTrusted,omitempty"`
	// AcceptAWS accepts an AWS user in place of a certificate.
	AcceptAWS bool `json:"acceptAws,omitempty"`
	// Renewal is byEvidence if it is empty, byProvider, byConsumer or byHand.
	Renewal string `json:"renewal,omitempty"`
	// SignSlicesMadeByAnyone signs every slice for this provider.
	SignSlicesMadeByAnyone bool `json:"signSlicesMadeByAnyone,omitempty"`
	// KubeconfigDigest is the SHA-256 ("SHA256:" and hexadecimal digits) of the kubeconfig that an
	// administrator has made for this provider, in place of an Identity.
	KubeconfigDigest string `json:"kubeconfigDigest,omitempty"`
	// Policy for this provider, if it differs.
	Policy *Policy `json:"policy,omitempty"`
}

// SliceOptions are the resources that a slice asks for.
type SliceOptions struct {
	Name string `json:"name"`
	// Class is Liqo's own if it is empty.
	Class     string            `json:"class,omitempty"`
	Resources map[string]string `json:"resources,omitempty"`
}

// Consumer uses the resources of providers. It keeps no state: the phase of a peering
// follows from its objects.
type Consumer struct{ machine }

// Consumer returns a consumer with this key. Do not change the maps of the config
// afterwards.
func (l *Library) Consumer(config ConsumerConfig, key Key, now func() time.Time) *Consumer {
	side := map[string]any{"config": config, "key": key}
	return &Consumer{newMachine(l, "consumer", side, nil, valuesOfConsumer(config.Namespace), key.answer, now)}
}

// RequestSlice asks the provider for resources.
func (c *Consumer) RequestSlice(ctx context.Context, view View, options SliceOptions) (*Step, error) {
	return c.step(ctx, view, OrderRequestSlice(options))
}

// DeleteSlice gives the resources of a slice back.
func (c *Consumer) DeleteSlice(ctx context.Context, view View, name string) (*Step, error) {
	return c.step(ctx, view, OrderDeleteSlice(name))
}

// ReleasePins forgets the provider's API server, CA and key.
func (c *Consumer) ReleasePins(ctx context.Context, view View) (*Step, error) {
	return c.step(ctx, view, OrderReleasePins())
}

// Unauthenticate ends the peering.
func (c *Consumer) Unauthenticate(ctx context.Context, view View) (*Step, error) {
	return c.step(ctx, view, OrderUnauthenticate())
}
