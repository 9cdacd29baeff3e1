//go:build liqo_auth_c

package liqoauth

import (
	"context"

	"git.example.com/liqo-auth/liqo-auth/go/internal/native"
)

func init() {
	borders = append(borders, border{"cgo", func(library *Library) {
		library.carry = func(_ context.Context, request []byte) ([]byte, error) {
			return native.Call(request), nil
		}
	}})
}
