package main

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	authv1beta1 "github.com/liqotech/liqo/apis/authentication/v1beta1"
	liqov1beta1 "github.com/liqotech/liqo/apis/core/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
)

// exchange is what the files of a directory hold. What could not be read is
// nil, and is in the report.
type exchange struct {
	consumer, provider liqov1beta1.ClusterID
	nonce              []byte
	now                time.Time
	tenant             *authv1beta1.Tenant
	identity           *authv1beta1.Identity
	// kubeconfig is a path, empty if there is none.
	kubeconfig string

	// These are by the name of the file.
	slices           map[string]*authv1beta1.ResourceSlice
	sliceIdentities  map[string]*authv1beta1.Identity
	sliceKubeconfigs []string
	renews           map[string]*authv1beta1.Renew

	peeringUser *peeringUser
}

// What the names of some files begin with. NAME in slice-NAME.yaml,
// slice-identity-NAME.yaml and slice-kubeconfig-NAME.yaml is the same for
// files that belong together.
const (
	sliceFile           = "slice-"
	sliceIdentityFile   = "slice-identity-"
	sliceKubeconfigFile = "slice-kubeconfig-"
	renewFile           = "renew-"
)

// tenantNamespace is Liqo's default name. Its own function for it is not
// exported.
func tenantNamespace(remote liqov1beta1.ClusterID) string {
	return "liqo-tenant-" + string(remote)
}

func readExchange(dir string, report *report) *exchange {
	read := &exchange{now: time.Now()}

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

	read.slices = readEach[*authv1beta1.ResourceSlice](files(dir, sliceFile, sliceIdentityFile, sliceKubeconfigFile), report)
	read.sliceIdentities = readEach[*authv1beta1.Identity](files(dir, sliceIdentityFile), report)
	read.sliceKubeconfigs = files(dir, sliceKubeconfigFile)
	read.renews = readEach[*authv1beta1.Renew](files(dir, renewFile), report)
	read.peeringUser = readPeeringUser(filepath.Join(dir, "peering-user"), report)
	return read
}

// files are those of a directory whose names begin with prefix, and with none
// of the others, in order.
func files(dir, prefix string, others ...string) []string {
	// The pattern is constant, so that Glob cannot fail.
	paths, _ := filepath.Glob(filepath.Join(dir, prefix+"*.yaml"))
	return slices.DeleteFunc(paths, func(path string) bool {
		return slices.ContainsFunc(others, func(other string) bool {
			return strings.HasPrefix(filepath.Base(path), other)
		})
	})
}

// readEach gives the objects that can be read, by the names of their files.
func readEach[T runtime.Object](paths []string, report *report) map[string]T {
	objects := map[string]T{}
	for _, path := range paths {
		name := filepath.Base(path)
		report.check(name+" is read by Liqo's type, strictly", func() error {
			object, err := readObject[T](path)
			if err == nil {
				objects[name] = object
			}
			return err
		})
	}
	return objects
}

// inOrder goes through objects by the names of their files.
func inOrder[T any](objects map[string]T) []string {
	return slices.Sorted(maps.Keys(objects))
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
