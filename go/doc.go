// Package liqoauth is both sides of Liqo's inter-cluster authentication, without cgo.
//
// The library is written in Rust and runs here as WebAssembly, by wazero, which is
// pure Go. Private keys never enter the module: a crypto.Signer signs in Go.
//
// The functions with the names of Liqo's package authentication have its signatures,
// so that a change of the import is enough. They use a [Library] that is made on first
// use. Methods of a Library take a context.
package liqoauth
