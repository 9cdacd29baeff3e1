package liqoauth

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
)

// changes are objects that are new or have changed, and objects that are gone.
type changes struct {
	seen map[ObjectReference]seenObject
	gone map[ObjectReference]struct{}
	// size is the bytes of seen.
	size int
}

// seenObject is an object as JSON. The version is empty if it is unknown.
type seenObject struct {
	version string
	form    []byte
}

const (
	// mostWaiting is the most bytes that wait for a call. Beyond, all objects are listed again.
	mostWaiting = 4 << 20
	// mostAtOnce is about the most bytes of objects in one request, so that large objects take
	// little of an instance's memory.
	mostAtOnce = 512 << 10
)

func (c *changes) observe(id ObjectReference, version string, object runtime.Object) error {
	form, err := formOfObject(object)
	if err != nil {
		return err
	}
	c.put(id, seenObject{version, form})
	return nil
}

func (c *changes) put(id ObjectReference, object seenObject) {
	c.drop(id)
	if c.seen == nil {
		c.seen = map[ObjectReference]seenObject{}
	}
	c.seen[id] = object
	delete(c.gone, id)
	c.size += len(object.form)
}

// drop forgets an object that was seen, and wipes it: it may be a Secret.
func (c *changes) drop(id ObjectReference) {
	form := c.seen[id].form
	c.size -= len(form)
	delete(c.seen, id)
	wipeForm(form)
}

func (c *changes) forget(id ObjectReference) {
	c.drop(id)
	if c.gone == nil {
		c.gone = map[ObjectReference]struct{}{}
	}
	c.gone[id] = struct{}{}
}

func (c *changes) wipe() {
	for id := range c.seen {
		c.drop(id)
	}
	c.gone = nil
}

// list tells the module what differs from all objects, if they are to be listed.
func (s *Session) list(ctx context.Context) error {
	s.mutex.Lock()
	isStale := s.isStale
	s.isStale = false
	if isStale {
		s.waiting.wipe()
	}
	s.mutex.Unlock()
	if !isStale {
		return nil
	}
	objects, err := s.objects(ctx)
	if err != nil {
		return err
	}
	present := make(map[ObjectReference]bool, len(objects))
	for _, object := range objects {
		id, version, err := identify(object)
		if err != nil {
			return err
		}
		present[id] = true
		if told, isTold := s.told[id]; isTold && version != "" && told == version {
			continue
		}
		if err := s.leaving.observe(id, version, s.machine.values.of(s.peer, object)); err != nil {
			return err
		}
		if err := s.tellLarge(ctx); err != nil {
			return err
		}
	}
	for id := range s.told {
		if !present[id] {
			s.leaving.forget(id)
		}
	}
	return nil
}

// tell adds what has changed since the last call to what the next request tells.
func (s *Session) tell(ctx context.Context) error {
	s.mutex.Lock()
	waiting := s.waiting
	s.waiting = changes{}
	s.mutex.Unlock()
	for id := range waiting.gone {
		s.leaving.forget(id)
	}
	for id, object := range waiting.seen {
		s.leaving.put(id, object)
		if err := s.tellLarge(ctx); err != nil {
			return err
		}
	}
	return nil
}

// tellLarge sends what is to be told, if it is much.
func (s *Session) tellLarge(ctx context.Context) error {
	if s.leaving.size < mostAtOnce {
		return nil
	}
	_, err := s.send(ctx, "", nil, nil, nil)
	return err
}

// forgetTold makes the next call tell these objects again, since the module has forgotten them.
func (s *Session) forgetTold(forgotten []ObjectReference) {
	for _, id := range forgotten {
		delete(s.told, id)
	}
	if len(forgotten) > 0 {
		s.Relist()
	}
}

// isTold notes that the module has what the last request told.
func (s *Session) isTold() {
	if s.told == nil {
		s.told = map[ObjectReference]string{}
	}
	for id, object := range s.leaving.seen {
		s.told[id] = object.version
	}
	for id := range s.leaving.gone {
		delete(s.told, id)
	}
	s.leaving.wipe()
}

// identify returns an object's name and version. The version is empty if it is unknown.
func identify(object runtime.Object) (ObjectReference, string, error) {
	metadata, err := meta.Accessor(object)
	if err != nil {
		return ObjectReference{}, "", fmt.Errorf("liqoauth: %w", err)
	}
	kind, err := kindOf(object)
	if err != nil {
		return ObjectReference{}, "", err
	}
	id := ObjectReference{Kind: kind.Kind, Namespace: metadata.GetNamespace(), Name: metadata.GetName()}
	version := metadata.GetResourceVersion()
	if version != "" {
		version = string(metadata.GetUID()) + "/" + version
	}
	return id, version, nil
}
