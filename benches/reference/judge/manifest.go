package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	authv1beta1 "github.com/liqotech/liqo/apis/authentication/v1beta1"
	certificatesv1 "k8s.io/api/certificates/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
)

// readObject reads the one object of a file as an API server with
// fieldValidation=Strict would: unknown and repeated fields are refused.
func readObject[T runtime.Object](path string) (T, error) {
	var none T
	objects, err := readObjects[T](path)
	if err != nil {
		return none, err
	}
	if len(objects) != 1 {
		return none, fmt.Errorf("found %d YAML documents, not 1", len(objects))
	}
	return objects[0], nil
}

// readObjects reads all objects of a file, one a YAML document. They are nil
// only with an error.
func readObjects[T runtime.Object](path string) ([]T, error) {
	manifests, err := documents(path)
	if err != nil {
		return nil, err
	}
	known, err := scheme()
	if err != nil {
		return nil, err
	}
	decoder := json.NewSerializerWithOptions(json.DefaultMetaFactory, known, known,
		json.SerializerOptions{Yaml: true, Strict: true})
	objects := []T{}
	for _, manifest := range manifests {
		decoded, _, err := decoder.Decode(manifest, nil, nil)
		if err != nil {
			return nil, err
		}
		object, ok := decoded.(T)
		if !ok {
			return nil, fmt.Errorf("found a %T, not a %T", decoded, object)
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// scheme knows the kinds of an exchange.
func scheme() (*runtime.Scheme, error) {
	known := runtime.NewScheme()
	return known, all(
		authv1beta1.AddToScheme(known),
		certificatesv1.AddToScheme(known),
		rbacv1.AddToScheme(known),
	)
}

// documents splits a file where YAML does. The decoder alone would pass over
// all documents but the first.
func documents(path string) ([][]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	reader := utilyaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(text)))
	defer reader.Close()
	var found [][]byte
	buffer := make([]byte, len(text)+1)
	for {
		n, err := reader.Read(buffer)
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		if document := bytes.Clone(buffer[:n]); len(bytes.TrimSpace(document)) > 0 {
			found = append(found, document)
		}
	}
}
