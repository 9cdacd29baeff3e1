package liqoauth

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Bounds are what one object may have. A peer may write larger ones: the module keeps their
// version, kind and metadata alone.
type Bounds struct {
	// Bytes of the object's JSON.
	Bytes int `json:"object"`
	// Values are maps, lists, texts and numbers.
	Values int `json:"objectValues"`
}

// Bounds returns the bounds of the module.
func (m *machine) Bounds(ctx context.Context) (Bounds, error) {
	var found Bounds
	err := m.library.send(ctx, []byte(`"limits"`), &found)
	return found, err
}

// Reduce takes the managed fields out of an object. Of one beyond the bounds, it leaves what the
// module would keep, so that the rest need not stay in memory until then.
func (b Bounds) Reduce(object *unstructured.Unstructured) {
	metadata, _ := object.Object["metadata"].(map[string]any)
	delete(metadata, "managedFields")
	over := b.exceededBy(extentOf(object.Object))
	if over == "" {
		return
	}
	reduced := keepShort(object.Object, "apiVersion", "kind")
	reduced["metadata"] = b.reduceMetadata(metadata)
	// The module reads why the rest is missing.
	reduced["overLimit"] = over
	object.Object = reduced
}

// reduceMetadata keeps the fields of the metadata that the module reads. Labels come first, since
// they say whose the object is.
func (b Bounds) reduceMetadata(metadata map[string]any) map[string]any {
	kept := keepShort(metadata, "name", "namespace", "uid", "resourceVersion", "generateName",
		"generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")
	for _, field := range []string{"labels", "finalizers", "ownerReferences", "annotations"} {
		value, isThere := metadata[field]
		if !isThere {
			continue
		}
		kept[field] = value
		if b.exceededBy(extentOf(kept)) != "" {
			delete(kept, field)
		}
	}
	return kept
}

// exceededBy returns what is too much, or an empty text.
func (b Bounds) exceededBy(found extent) string {
	switch {
	case found.bytes > b.Bytes:
		return "bytes"
	case found.values > b.Values:
		return "values"
	}
	return ""
}

// mostShort is the most bytes of a field without parts.
const mostShort = 4 << 10

// keepShort returns those of the fields that have no parts.
func keepShort(fields map[string]any, names ...string) map[string]any {
	kept := map[string]any{}
	for _, name := range names {
		value, isThere := fields[name]
		if found := extentOf(value); isThere && found.values == 1 && found.bytes <= mostShort {
			kept[name] = value
		}
	}
	return kept
}

// extent is how large a value is: the least bytes of its JSON, and the values in it.
type extent struct{ bytes, values int }

func extentOf(value any) extent {
	found := extent{bytes: 2, values: 1}
	switch value := value.(type) {
	case map[string]any:
		found.bytes += max(len(value)-1, 0)
		for key, field := range value {
			found.bytes += len(key) + len(`"":`)
			found.add(extentOf(field))
		}
	case []any:
		found.bytes += max(len(value)-1, 0)
		for _, item := range value {
			found.add(extentOf(item))
		}
	case string:
		found.bytes += len(value)
	default:
		found.bytes = 1
	}
	return found
}

func (e *extent) add(part extent) {
	e.bytes += part.bytes
	e.values += part.values
}
