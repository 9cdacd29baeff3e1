package liqoauth

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"slices"
	"sync"
)

// facts are the tests of Ed25519 that held. A machine sees the same keys and signatures in
// each step, and a test depends on its bytes alone. So a test that held once is not made again.
//
// A peer can make new facts without end. So the older half is forgotten when the other half
// is full. What did not hold is not kept.
type facts struct {
	mutex        sync.Mutex
	young, older map[fact]struct{}
}

// fact is the digest of a test and its bytes.
type fact [sha256.Size]byte

// half is the most facts in either half. A peer needs about five of them. A half takes
// less than half a megabyte.
const half = 4096

// hold makes a test, unless it held before. Without facts, it makes each test.
func (f *facts) hold(test hostTest, bytes []byte) bool {
	if f == nil {
		return test.holds(bytes)
	}
	name := nameOf(test.name, bytes)
	if f.has(name) {
		return true
	}
	if !test.holds(bytes) {
		return false
	}
	f.add(name)
	return true
}

// signed adds that a signature is valid which this process has made, so that the module does
// not have it verified. The library trusts its own keys in this process alike: a verification
// takes twice as long as the signature. A key whose halves do not fit together is not trusted.
func (f *facts) signed(key ed25519.PrivateKey, message, signature []byte) {
	if f == nil || !f.isWhole(key) {
		return
	}
	public := key[ed25519.PrivateKeySize-ed25519.PublicKeySize:]
	f.add(nameOf(verification, slices.Concat(public, signature, message)))
}

// isWhole reports whether the halves of a private key fit together. That they do is a fact, too.
func (f *facts) isWhole(key ed25519.PrivateKey) bool {
	const test = "ed25519_halves"
	text := append([]byte(test), key...)
	defer clear(text)
	name := fact(sha256.Sum256(text))
	if f.has(name) {
		return true
	}
	whole := ed25519.NewKeyFromSeed(text[len(test) : len(test)+ed25519.SeedSize])
	defer clear(whole)
	if !whole.Equal(key) {
		return false
	}
	f.add(name)
	return true
}

// nameOf names a fact. No test's name begins with another one's.
func nameOf(test string, bytes []byte) fact {
	return sha256.Sum256(append([]byte(test), bytes...))
}

// has reports whether a fact is kept. A fact that is used stays young.
func (f *facts) has(name fact) bool {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if _, found := f.young[name]; found {
		return true
	}
	_, found := f.older[name]
	if found {
		f.keep(name)
	}
	return found
}

func (f *facts) add(name fact) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.keep(name)
}

func (f *facts) keep(name fact) {
	if len(f.young) == half {
		f.young, f.older = nil, f.young
	}
	if f.young == nil {
		f.young = make(map[fact]struct{})
	}
	f.young[name] = struct{}{}
}

// factsKey is the key of a call's facts in its context.
type factsKey struct{}

func (f *facts) within(ctx context.Context) context.Context {
	return context.WithValue(ctx, factsKey{}, f)
}

func factsOf(ctx context.Context) *facts {
	found, _ := ctx.Value(factsKey{}).(*facts)
	return found
}
