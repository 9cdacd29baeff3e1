package liqoauth

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/tetratelabs/wazero/api"
)

func TestAnInstanceThatGoesWrongIsNotKept(t *testing.T) {
	library := newLibrary(t, Options{Instances: 1})
	errStopped := errors.New("unreachable")
	stops := func() ([]uint64, error) { return nil, errStopped }
	for name, c := range map[string]struct {
		spoil func(*instance)
		want  error
	}{
		"it stops": {func(in *instance) { in.call = replaced{in.call, stops} }, errStopped},
		"the length of the answer lies outside of the memory": {func(in *instance) {
			in.answerLength = in.module.Memory().Size()
			in.call = replaced{in.call, func() ([]uint64, error) { return []uint64{0}, nil }}
		}, errBounds},
		"the answer lies outside of the memory": {func(in *instance) {
			memory := in.module.Memory()
			in.call = replaced{in.call, func() ([]uint64, error) {
				memory.WriteUint32Le(in.answerLength, 1)
				return []uint64{uint64(memory.Size())}, nil
			}}
		}, errBounds},
		"it stops while it wipes the request": {func(in *instance) {
			isFirst := true
			in.release = replaced{in.release, func() ([]uint64, error) {
				if isFirst {
					isFirst = false
					return stops()
				}
				return nil, nil
			}}
		}, errStopped},
	} {
		t.Run(name, func(t *testing.T) {
			in, err := library.take(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			c.spoil(in)
			library.give(t.Context(), in)
			answer, err := library.exchange(t.Context(), []byte("{}"))
			if answer != nil || !errors.Is(err, ErrTrap) || !errors.Is(err, c.want) {
				t.Errorf("%q, %v", answer, err)
			}
			if len(library.idle) != 0 {
				t.Error("the instance is kept")
			}
		})
	}
}

func TestADiscardedInstanceIsWiped(t *testing.T) {
	library := newLibrary(t, Options{})
	in, err := library.take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	memory, ok := in.module.Memory().Read(0, in.module.Memory().Size())
	if !ok || !bytes.Contains(memory, []byte("liqo-auth")) {
		t.Fatal("the memory cannot be searched")
	}
	in.discard(t.Context())
	if len(bytes.Trim(memory, "\x00")) != 0 {
		t.Error("the memory is not wiped")
	}
}

func TestAnInstanceThatIsNotKeptIsWiped(t *testing.T) {
	library := newLibrary(t, Options{Instances: 1})
	instances := make([]*instance, 2)
	memories := make([][]byte, 2)
	for i := range instances {
		in, err := library.take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		memory, ok := in.module.Memory().Read(0, in.module.Memory().Size())
		if !ok || isWiped(memory) {
			t.Fatal("the memory cannot be read")
		}
		instances[i], memories[i] = in, memory
	}
	for _, in := range instances {
		library.give(t.Context(), in)
	}
	if isWiped(memories[0]) || !isWiped(memories[1]) {
		t.Error("one instance is kept, and the other one is wiped")
	}
	// More than the memory of an instance.
	if _, err := library.exchange(t.Context(), make([]byte, 160<<20)); !errors.Is(err, ErrTrap) {
		t.Fatalf("%v", err)
	}
	if !isWiped(memories[0]) {
		t.Error("a stopped instance is not wiped")
	}
}

// replaced is a function of the module that the test answers.
type replaced struct {
	api.Function
	answer func() ([]uint64, error)
}

func (r replaced) Call(context.Context, ...uint64) ([]uint64, error) { return r.answer() }
