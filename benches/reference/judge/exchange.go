package main

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	authv1beta1 "github.com/liqotech/liqo/apis/authentication/v1beta1"
	liqov1beta1 "github.com/liqotech/liqo/apis/core/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
)

// exchange is what the files of a directory hold. What could not be read is
// nil, and is in the report.
type exchange struct {
	consumer, provider liqov1beta1.ClusterID
	nonce              []byte
	now                time.Time
	tenant             *authv1beta1.Tenant
	identity           *authv1beta1.Identity
	slices             map[string]*authv1beta1.ResourceSlice
	// kubeconfig is a path, empty if there is none.
	kubeconfig string
}

// tenantNamespace is Liqo's default name. Its own function for it is not
// exported.
func tenantNamespace(remote liqov1beta1.ClusterID) string {
	return "liqo-tenant-" + string(remote)
}

func readExchange(dir string, report *report) *exchange {
	read := &exchange{now: time.Now(), slices: map[string]*authv1beta1.ResourceSlice{}}

	readable := report.check("consumer-id.txt and provider-id.txt", func() (err error) {
		if read.consumer, err = readClusterID(dir, "consumer-id.txt"); err != nil {
			return err
		}
		read.provider, err = readClusterID(dir, "provider-id.txt")
		return err
	})
	if !readable {
		return nil
	}

	report.check("nonce.txt holds 64 bytes in base64, and nothing else", func() (err error) {
		if read.nonce, err = os.ReadFile(filepath.Join(dir, "nonce.txt")); err != nil {
			return err
		}
		return checkNonce(read.nonce)
	})
	if text, err := os.ReadFile(filepath.Join(dir, "now.txt")); !errors.Is(err, fs.ErrNotExist) {
		report.check("now.txt", func() error {
			if err != nil {
				return err
			}
			now, err := time.Parse(time.RFC3339, strings.TrimSpace(string(text)))
			read.now = now
			return err
		})
	}
	report.check("tenant.yaml is read by Liqo's type, strictly", func() (err error) {
		read.tenant, err = readObject[*authv1beta1.Tenant](filepath.Join(dir, "tenant.yaml"))
		return err
	})
	report.check("identity.yaml is read by Liqo's type, strictly", func() (err error) {
		read.identity, err = readObject[*authv1beta1.Identity](filepath.Join(dir, "identity.yaml"))
		return err
	})

	if path := filepath.Join(dir, "kubeconfig.yaml"); exists(path) {
		read.kubeconfig = path
	}
	// The pattern is constant, so that Glob cannot fail.
	paths, _ := filepath.Glob(filepath.Join(dir, "slice-*.yaml"))
	for _, path := range paths {
		name := filepath.Base(path)
		report.check(name+" is read by Liqo's type, strictly", func() error {
			slice, err := readObject[*authv1beta1.ResourceSlice](path)
			if err == nil {
				read.slices[name] = slice
			}
			return err
		})
	}
	return read
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

func readClusterID(dir, name string) (liqov1beta1.ClusterID, error) {
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return "", err
	}
	id := strings.TrimSpace(string(text))
	if id == "" {
		return "", fmt.Errorf("%s is empty", name)
	}
	return liqov1beta1.ClusterID(id), nil
}

func checkNonce(text []byte) error {
	decoded, err := base64.StdEncoding.Strict().DecodeString(string(text))
	if err != nil {
		return err
	}
	if len(decoded) != 64 || len(text) != 88 {
		return fmt.Errorf("found %d bytes in %d characters, not 64 in 88", len(decoded), len(text))
	}
	return nil
}

// readObject reads the one object of a file as an API server with
// fieldValidation=Strict would: unknown and repeated fields are refused.
func readObject[T runtime.Object](path string) (T, error) {
	var none T
	manifest, err := oneDocument(path)
	if err != nil {
		return none, err
	}
	scheme := runtime.NewScheme()
	if err := authv1beta1.AddToScheme(scheme); err != nil {
		return none, err
	}
	decoder := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme,
		json.SerializerOptions{Yaml: true, Strict: true})
	decoded, _, err := decoder.Decode(manifest, nil, nil)
	if err != nil {
		return none, err
	}
	object, ok := decoded.(T)
	if !ok {
		return none, fmt.Errorf("found a %T, not a %T", decoded, none)
	}
	return object, nil
}

// oneDocument refuses a second document, which the decoder would pass over.
func oneDocument(path string) ([]byte, error) {
	manifest, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	reader := utilyaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(manifest)))
	defer reader.Close()
	var documents [][]byte
	buffer := make([]byte, len(manifest)+1)
	for {
		n, err := reader.Read(buffer)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if document := bytes.Clone(buffer[:n]); len(bytes.TrimSpace(document)) > 0 {
			documents = append(documents, document)
		}
	}
	if len(documents) != 1 {
		return nil, fmt.Errorf("found %d YAML documents, not 1", len(documents))
	}
	return documents[0], nil
}
