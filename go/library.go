package liqoauth

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"sync"

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
	// Sessions is the most instances that belong to a [Session], each with some 2 MB and the
	// peer's objects; 64 if it is 0 or less. The session that was not used for the longest
	// time gives its instance up to another one, and is opened anew at its next use.
	Sessions int
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
	sessions *sessions
	policy   Policy
	running  running
	// carry takes a request to the module, and returns its answer. Only tests change it.
	carry func(ctx context.Context, request []byte) ([]byte, error)
}

// ErrClosed is returned by a call after Close.
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
	config := wazero.NewRuntimeConfig().WithMemoryLimitPages(memoryPages)
	library := &Library{policy: options.Policy, sessions: newSessions(options.Sessions)}
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
	if err := library.provideHost(ctx); err != nil {
		return nil, errors.Join(err, library.Close(ctx))
	}
	compiled, err := library.runtime.CompileModule(ctx, binary)
	if err != nil {
		return nil, errors.Join(err, library.Close(ctx))
	}
	library.compiled = compiled
	return library, nil
}

// Close frees the module and its instances. It waits for the calls in progress and for their
// backends, also for those whose context has ended. Later calls fail with [ErrClosed]. A backend
// must not call it: a session's backends answer within a call.
func (l *Library) Close(ctx context.Context) error {
	l.running.end()
	l.sessions.wipe()
	err := l.runtime.Close(ctx)
	if l.cache != nil {
		err = errors.Join(err, l.cache.Close(ctx))
	}
	return err
}

// call sends arguments to an instance, and reads the value of its answer.
func (l *Library) call(ctx context.Context, name string, arguments, value any) error {
	request, err := json.Marshal(map[string]any{name: arguments})
	if err != nil {
		return fmt.Errorf("liqoauth: %w", err)
	}
	return l.send(ctx, request, value)
}

// send sends a request, wipes it, and reads the value of its answer.
func (l *Library) send(ctx context.Context, request []byte, value any) error {
	defer clear(request)
	answer, err := l.carry(ctx, request)
	if err != nil {
		return err
	}
	return readAnswer(answer, value)
}

// readAnswer reads the value of an answer, and wipes the answer.
func readAnswer(answer []byte, value any) error {
	defer clear(answer)
	if form, isOfSession := value.(*nextForm); isOfSession {
		if text, isOK := bytes.CutPrefix(answer, []byte(`{"ok":`)); isOK {
			if err := form.decode(bytes.TrimSuffix(text, []byte("}"))); err != nil {
				return fmt.Errorf("liqoauth: answer of the module: %w", err)
			}
			return nil
		}
	}
	if value == nil {
		value = new(json.RawMessage)
	}
	// The value is read in its place.
	form := struct {
		OK    any    `json:"ok"`
		Error *Error `json:"error"`
	}{OK: value}
	if err := json.Unmarshal(answer, &form); err != nil {
		return fmt.Errorf("liqoauth: answer of the module: %w", err)
	}
	if form.Error != nil {
		return form.Error
	}
	return nil
}

// exchange sends bytes to an idle instance, or to a new one.
//
// A call cannot be interrupted: wazero would have to look at the context in each round of
// each loop, which takes as long as the call itself. If the context ends, the call goes on
// in the background, and its answer is wiped.
func (l *Library) exchange(ctx context.Context, request []byte) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	call, err := l.begin(context.WithoutCancel(ctx), request)
	if err != nil {
		return nil, err
	}
	return wait(ctx, call)
}

// wait makes a call, and waits for it until the context ends. An answer that comes later is
// wiped.
func wait(ctx context.Context, call func() result) ([]byte, error) {
	if ctx.Done() == nil {
		found := call()
		return found.answer, found.err
	}
	results := make(chan result, 1)
	go func() { results <- call() }()
	select {
	case found := <-results:
		return found.answer, found.err
	case <-ctx.Done():
		go func() { clear((<-results).answer) }()
		return nil, ctx.Err()
	}
}

// result of a call.
type result struct {
	answer []byte
	err    error
}

// begin copies the request to an instance, and returns the call. The caller has to make the
// call exactly once, since the call leaves running and gives the instance back.
func (l *Library) begin(ctx context.Context, request []byte) (call func() result, err error) {
	if !l.running.enter() {
		return nil, ErrClosed
	}
	in, err := l.take(ctx)
	if err != nil {
		l.running.leave()
		return nil, err
	}
	return l.start(ctx, in, [][]byte{request}, l.give), nil
}

// start copies the parts of a request to an instance, and returns the call. After a call that has not
// failed, the instance goes to keep. The caller has entered running, and the call leaves it.
func (l *Library) start(ctx context.Context, in *instance, request [][]byte, keep func(context.Context, *instance)) (call func() result) {
	place, length, failed := in.put(ctx, request...)
	return func() result {
		defer l.running.leave()
		var answer []byte
		if failed == nil {
			answer, failed = in.answer(ctx, place, length)
		}
		if failed != nil {
			// A stopped instance has an unknown state.
			in.discard(ctx)
			return result{err: fmt.Errorf("%w: %w", ErrTrap, failed)}
		}
		keep(ctx, in)
		return result{answer: answer}
	}
}

func (l *Library) take(ctx context.Context) (*instance, error) {
	if l.running.hasEnded() {
		return nil, ErrClosed
	}
	select {
	case in := <-l.idle:
		return in, nil
	default:
		return l.instantiate(ctx)
	}
}

func (l *Library) give(ctx context.Context, in *instance) {
	if !in.isLarge() {
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
	in.wipe()
	_ = in.module.Close(ctx)
}

func (in *instance) wipe() {
	memory := in.module.Memory()
	if view, ok := memory.Read(0, memory.Size()); ok {
		clear(view)
	}
}

// isLarge reports whether the memory has grown beyond what is kept.
func (in *instance) isLarge() bool {
	return in.module.Memory().Size()>>16 > keptPages
}

func (l *Library) instantiate(ctx context.Context) (*instance, error) {
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

// put copies the parts of a request to the module, and returns its place and its length.
func (in *instance) put(ctx context.Context, request ...[]byte) (place, length uint64, err error) {
	for _, part := range request {
		length += uint64(len(part))
	}
	results, err := in.allocate.Call(ctx, length)
	if err != nil {
		return 0, 0, err
	}
	at := api.DecodeU32(results[0])
	for _, part := range request {
		if !in.module.Memory().Write(at, part) {
			return 0, 0, errBounds
		}
		at += uint32(len(part))
	}
	return results[0], length, nil
}

// answer returns a copy of the answer to a request. Both are wiped in the module.
func (in *instance) answer(ctx context.Context, place, length uint64) ([]byte, error) {
	results, err := in.call.Call(ctx, place, length, uint64(in.answerLength))
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
	if _, err := in.release.Call(ctx, place, length); err != nil {
		return nil, err
	}
	_, err = in.release.Call(ctx, found, uint64(answerLength))
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
