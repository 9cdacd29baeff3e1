// Package liqoauth is both sides of Liqo's inter-cluster authentication, without cgo.
//
// The library is written in Rust and runs here as WebAssembly, by wazero, which is
// pure Go. Private keys never enter the module: a [crypto.Signer] signs in Go.
//
// # In place of Liqo's functions
//
// The functions with the names of Liqo's package authentication, such as [SignNonce] and
// [CheckCSRForControlPlane], have its signatures, so that a change of the import is enough. They
// use a [Library] that is made on first use. Methods of a Library take a context.
//
// # Verification alone
//
// [Library.VerifyTenant] verifies a Tenant, and nothing else. An error is an [Error], whose [Code]
// keeps its meaning.
//
// # Both sides
//
// [Library.Provider] and [Library.Consumer] decide what to do from the objects of a peer. They have
// no I/O: the caller sends each [Effect] to the API server, and each [Message] to the peer. A
// [Session] keeps the objects of one peer in the module, and is told what has changed.
package liqoauth
