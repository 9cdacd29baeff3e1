//go:build liqo_auth_c

// Package native calls the library by its C ABI. Benchmarks compare it with the module.
// The package liqoauth does not use it.
package native

// #cgo CFLAGS: -I${SRCDIR}/../../../wasm
// #include "liqo_auth.h"
import "C"

import "unsafe"

// Call answers a request.
func Call(request []byte) []byte {
	var length C.size_t
	answer := C.liqo_auth_call((*C.uint8_t)(unsafe.SliceData(request)), C.size_t(len(request)), &length)
	defer C.liqo_auth_release(answer, length)
	return C.GoBytes(unsafe.Pointer(answer), C.int(length))
}
