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

func BenchmarkHandshake(b *testing.B) {
	library := newLibrary(b, Options{})
	key := newKey(b)
	for b.Loop() {
		newPair(b, library, key).authenticate(b)
	}
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
