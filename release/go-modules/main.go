// Command go-modules packs Go modules into a folder from which the go command takes them, as from
// a proxy: GOPROXY=file:///FOLDER. It prints the lines that go.sum has for them.
//
//	go-modules VERSION TIME FOLDER MODULE...
//
// Each MODULE is a folder with a go.mod. TIME is that of the commit, as in RFC 3339.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"
	"golang.org/x/mod/zip"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "go-modules:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) < 4 {
		return errors.New("usage: go-modules VERSION TIME FOLDER MODULE...")
	}
	at, err := time.Parse(time.RFC3339, arguments[1])
	if err != nil {
		return err
	}
	for _, source := range arguments[3:] {
		if err := pack(source, arguments[0], at, arguments[2]); err != nil {
			return fmt.Errorf("%s: %w", source, err)
		}
	}
	return nil
}

// pack writes the files of one module: its zip, its go.mod, what the version is, and the list of
// versions.
func pack(source, version string, at time.Time, folder string) error {
	goMod, err := os.ReadFile(filepath.Join(source, "go.mod"))
	if err != nil {
		return err
	}
	packed := module.Version{Path: modfile.ModulePath(goMod), Version: version}
	escaped, err := module.EscapePath(packed.Path)
	if err != nil {
		return err
	}
	versions := filepath.Join(folder, filepath.FromSlash(escaped), "@v")
	if err := os.MkdirAll(versions, 0o755); err != nil {
		return err
	}
	info, err := json.Marshal(struct {
		Version string
		Time    time.Time
	}{version, at.UTC()})
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		version + ".mod":  goMod,
		version + ".info": info,
		"list":            []byte(version + "\n"),
	} {
		if err := os.WriteFile(filepath.Join(versions, name), content, 0o644); err != nil {
			return err
		}
	}
	archive := filepath.Join(versions, version+".zip")
	if err := writeZip(archive, packed, source); err != nil {
		return err
	}
	return printSums(packed, archive, filepath.Join(versions, version+".mod"))
}

// writeZip leaves out the modules in folders of this one, as the go command does.
func writeZip(archive string, packed module.Version, source string) error {
	file, err := os.Create(archive)
	if err != nil {
		return err
	}
	if err := zip.CreateFromDir(file, packed, source); err != nil {
		return errors.Join(err, file.Close())
	}
	return file.Close()
}

func printSums(packed module.Version, archive, goMod string) error {
	ofZip, err := dirhash.HashZip(archive, dirhash.Hash1)
	if err != nil {
		return err
	}
	ofGoMod, err := dirhash.Hash1([]string{"go.mod"}, func(string) (io.ReadCloser, error) {
		return os.Open(goMod)
	})
	if err != nil {
		return err
	}
	_, err = fmt.Printf("%[1]s %[2]s %[3]s\n%[1]s %[2]s/go.mod %[4]s\n",
		packed.Path, packed.Version, ofZip, ofGoMod)
	return err
}
