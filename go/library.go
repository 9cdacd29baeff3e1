package liqoauth

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

//go:embed liqoauth.wasm
var binary []byte

// Options of a Library. The zero value is usable.
type Options struct {
	// CacheDir is a folder for the compiled module. With it, another process starts
	// in a tenth of the time. Nobody else may write there. Empty for no cache.
	CacheDir string
	// Instances is the number of idle instances that are kept, each with about 2 MB;
	// GOMAXPROCS if it is 0 or less. More calls at once make more instances.
	Instances int
	// Policy of verification alone; the strict one if it is the zero value. Providers
	// and consumers have their own.
	Policy Policy
}

// Library is the compiled module and a pool of its instances. It is safe for use by
// several goroutines.
type Library struct {
	runtime  wazero.Runtime
	cache    wazero.CompilationCache
	compiled wazero.CompiledModule
	idle     chan *instance
	policy   Policy
	closed   atomic.Bool
	// carry takes a request to the module, and returns its answer. Only tests change it.
	carry func(ctx context.Context, request []byte) ([]byte, error)
}

// ErrClosed is returned by a call after Close, or during it.
var ErrClosed = errors.New("liqoauth: the library is closed")

// ErrTrap is returned if the module stopped in the middle of a call, by a fault of its
// own. The instance is thrown away; the next call has another one.
var ErrTrap = errors.New("liqoauth: the module stopped")

// memoryPages is the most memory of an instance, in pages of 64 KiB: 128 MiB. An
// instance that grew beyond keptPages is not kept.
const (
	memoryPages = 2048
	keptPages   = 256
)

// New compiles the module. Close the Library after use.
func New(ctx context.Context, options Options) (*Library, error) {
	library, err := compile(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("liqoauth: %w", err)
	}
	return library, nil
}

func compile(ctx context.Context, options Options) (*Library, error) {
	config := wazero.NewRuntimeConfig().
		WithMemoryLimitPages(memoryPages).
		WithCloseOnContextDone(true)
	library := &Library{policy: options.Policy}
	library.carry = library.exchange
	if options.CacheDir != "" {
		cache, err := wazero.NewCompilationCacheWithDir(options.CacheDir)
		if err != nil {
			return nil, err
		}
		library.cache = cache
		config = config.WithCompilationCache(cache)
	}
	instances := options.Instances
	if instances <= 0 {
		instances = runtime.GOMAXPROCS(0)
	}
	library.idle = make(chan *instance, instances)
	library.runtime = wazero.NewRuntimeWithConfig(ctx, config)
	compiled, err := library.runtime.CompileModule(ctx, binary)
	if err != nil {
		return nil, errors.Join(err, library.Close(ctx))
	}
	library.compiled = compiled
	return library, nil
}

// Close frees the module and its instances. Calls in progress and later calls fail with
// [ErrClosed].
func (l *Library) Close(ctx context.Context) error {
	l.closed.Store(true)
	err := l.runtime.Close(ctx)
	if l.cache != nil {
		err = errors.Join(err, l.cache.Close(ctx))
	}
	return err
}

// call sends a request to an instance, and reads the value of its answer.
func (l *Library) call(ctx context.Context, name string, arguments, value any) error {
	request, err := json.Marshal(map[string]any{name: arguments})
	if err != nil {
		return fmt.Errorf("liqoauth: %w", err)
	}
	defer clear(request)
	answer, err := l.carry(ctx, request)
	if err != nil {
		return err
	}
	defer clear(answer)
	var form struct {
		OK    json.RawMessage `json:"ok"`
		Error *Error          `json:"error"`
	}
	// The field is a copy of the answer, and each value is a copy of the field.
	defer func() { clear(form.OK) }()
	if err := json.Unmarshal(answer, &form); err != nil {
		return fmt.Errorf("liqoauth: answer of the module: %w", err)
	}
	if form.Error != nil {
		return form.Error
	}
	if value == nil {
		return nil
	}
	if err := json.Unmarshal(form.OK, value); err != nil {
		return fmt.Errorf("liqoauth: answer of the module: %w", err)
	}
	return nil
}

// exchange sends bytes to an idle instance, or to a new one.
func (l *Library) exchange(ctx context.Context, request []byte) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if l.closed.Load() {
		return nil, ErrClosed
	}
	in, err := l.take(ctx)
	if err != nil {
		return nil, l.orClosed(err)
	}
	answer, err := in.exchange(ctx, request)
	if err != nil {
		// A stopped instance has an unknown state.
		in.discard(ctx)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, l.orClosed(fmt.Errorf("%w: %w", ErrTrap, err))
	}
	if ctx.Err() != nil {
		// The context ended beside the answer. wazero may still close the instance, and
		// would do so in a later call of somebody else.
		in.discard(ctx)
		return answer, nil
	}
	l.give(ctx, in)
	return answer, nil
}

// orClosed returns ErrClosed if the Library is closed: then the fault is not the
// module's.
func (l *Library) orClosed(err error) error {
	if l.closed.Load() {
		return ErrClosed
	}
	return err
}

func (l *Library) take(ctx context.Context) (*instance, error) {
	select {
	case in := <-l.idle:
		return in, nil
	default:
		return l.instantiate(ctx)
	}
}

func (l *Library) give(ctx context.Context, in *instance) {
	if in.module.Memory().Size()>>16 <= keptPages {
		select {
		case l.idle <- in:
			return
		default:
		}
	}
	in.discard(ctx)
}

// instance is one instance of the module: memory of its own, for one call at a time.
type instance struct {
	module                  api.Module
	allocate, release, call api.Function
	// answerLength is the place where a call writes the length of its answer.
	answerLength uint32
}

// discard wipes the memory of an instance, and closes it. A stopped call left its
// request and its values there, the record key among them.
func (in *instance) discard(ctx context.Context) {
	memory := in.module.Memory()
	if view, ok := memory.Read(0, memory.Size()); ok {
		clear(view)
	}
	_ = in.module.Close(context.WithoutCancel(ctx))
}

func (l *Library) instantiate(ctx context.Context) (*instance, error) {
	// This is quick, and a context that can end may close the instance afterwards.
	ctx = context.WithoutCancel(ctx)
	// Without a name, there can be several instances.
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions()
	module, err := l.runtime.InstantiateModule(ctx, l.compiled, config)
	if err != nil {
		return nil, fmt.Errorf("liqoauth: %w", err)
	}
	in := &instance{
		module:   module,
		allocate: module.ExportedFunction("liqo_auth_allocate"),
		release:  module.ExportedFunction("liqo_auth_release"),
		call:     module.ExportedFunction("liqo_auth_call"),
	}
	place, err := in.allocate.Call(ctx, 4)
	if err != nil {
		return nil, errors.Join(err, module.Close(ctx))
	}
	in.answerLength = api.DecodeU32(place[0])
	return in, nil
}

var errBounds = errors.New("an address outside of the memory")

// exchange returns a copy of the answer. Request and answer are wiped in the module.
func (in *instance) exchange(ctx context.Context, request []byte) ([]byte, error) {
	length := uint64(len(request))
	// Only the call itself can take time. A context that can end costs a goroutine.
	quick := context.WithoutCancel(ctx)
	results, err := in.allocate.Call(quick, length)
	if err != nil {
		return nil, err
	}
	place := results[0]
	if !in.module.Memory().Write(api.DecodeU32(place), request) {
		return nil, errBounds
	}
	results, err = in.call.Call(ctx, place, length, uint64(in.answerLength))
	if err != nil {
		return nil, err
	}
	found := results[0]
	answerLength, ok := in.module.Memory().ReadUint32Le(in.answerLength)
	if !ok {
		return nil, errBounds
	}
	view, ok := in.module.Memory().Read(api.DecodeU32(found), answerLength)
	if !ok {
		return nil, errBounds
	}
	answer := append([]byte(nil), view...)
	if _, err := in.release.Call(quick, place, length); err != nil {
		return nil, err
	}
	_, err = in.release.Call(quick, found, uint64(answerLength))
	return answer, err
}

var (
	defaultMutex   sync.Mutex
	defaultLibrary *Library
)

// Default returns the Library that the functions of this package use. The first use
// makes it, without a cache, unless [SetDefault] has set another one.
func Default() (*Library, error) {
	defaultMutex.Lock()
	defer defaultMutex.Unlock()
	if defaultLibrary == nil {
		library, err := New(context.Background(), Options{})
		if err != nil {
			return nil, err
		}
		defaultLibrary = library
	}
	return defaultLibrary, nil
}

// SetDefault sets the Library that the functions of this package use.
func SetDefault(library *Library) {
	defaultMutex.Lock()
	defer defaultMutex.Unlock()
	defaultLibrary = library
}
