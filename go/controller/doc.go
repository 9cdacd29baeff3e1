// Package controller runs a provider or a consumer of liqoauth as a reconciler of
// controller-runtime.
//
// A request of the reconciler names a peer, not an object: each change of an object
// leads to the peers that it concerns.
package controller
