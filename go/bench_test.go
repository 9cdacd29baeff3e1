package liqoauth

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"testing"
)

func BenchmarkEmptyCall(b *testing.B) {
	library := newLibrary(b, Options{})
	request := []byte("{")
	for b.Loop() {
		if _, err := library.exchange(b.Context(), request); err != nil {
			b.Fatal(err)
		}
	}
}

// border is a way to the library.
type border struct {
	name string
	use  func(*Library)
}

// borders are the ways to the library: the module, and with the tag liqo_auth_c the C ABI.
var borders = []border{{"wazero", func(*Library) {}}}

func BenchmarkVerifyTenant(b *testing.B) {
	for _, border := range borders {
		b.Run(border.name, func(b *testing.B) {
			library := newLibrary(b, Options{})
			border.use(library)
			nonce, message := newPair(b, library, newKey(b)).invite(b)
			for b.Loop() {
				_, err := library.VerifyTenant(b.Context(), message.Tenant, "cl-consumer", []byte(nonce))
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkHandshake(b *testing.B) {
	for _, border := range borders {
		b.Run(border.name, func(b *testing.B) {
			library := newLibrary(b, Options{})
			border.use(library)
			key := newKey(b)
			for b.Loop() {
				newPair(b, library, key).authenticate(b)
			}
		})
	}
	// The same handshake by a session on each side. A session belongs to an instance of the
	// module, so it has no other border.
	b.Run("session", func(b *testing.B) {
		library := newLibrary(b, Options{})
		key := newKey(b)
		for b.Loop() {
			newPair(b, library, key).authenticateBySessions(b)
		}
	})
}

func BenchmarkFirstUse(b *testing.B) {
	for name, folder := range map[string]string{"cold": "", "from the cache": cacheDir} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				library, err := New(b.Context(), Options{CacheDir: folder})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := library.SignNonce(b.Context(), newKey(b), []byte(honestNonce)); err != nil {
					b.Fatal(err)
				}
				_ = library.Close(b.Context())
			}
		})
	}
}

func BenchmarkReadRSAKey(b *testing.B) {
	library := newLibrary(b, Options{})
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		b.Fatal(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: publicDER(b, key.Public())})
	for b.Loop() {
		if _, _, err := library.ParseTenantPublicKey(b.Context(), public); err != nil {
			b.Fatal(err)
		}
	}
}
