// Command sbom prints the bill of materials of a Go binary: a CycloneDX 1.6 document
// (https://cyclonedx.org/docs/1.6/json/) with the modules that the linker recorded in it. `make release` writes one
// next to each binary.
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
)

// document is the part of CycloneDX that is used. It has no time and no serial number, so equal binaries have equal
// documents.
type document struct {
	Format      string      `json:"bomFormat"`
	SpecVersion string      `json:"specVersion"`
	Version     int         `json:"version"`
	Metadata    metadata    `json:"metadata"`
	Components  []component `json:"components"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	PURL       string     `json:"purl"` // https://github.com/package-url/purl-spec, type golang
	Hashes     []hash     `json:"hashes,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"` // hexadecimal
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: sbom BINARY")
		os.Exit(2)
	}
	doc, err := describe(os.Args[1])
	if err == nil {
		e := json.NewEncoder(os.Stdout)
		e.SetIndent("", "  ")
		err = e.Encode(doc)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

// describe reads a binary's build information.
func describe(path string) (document, error) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return document{}, err
	}
	sum, err := fileHash(path)
	if err != nil {
		return document{}, err
	}
	main := module(info.Main)
	main.Type, main.Hashes = "application", []hash{{"SHA-256", sum}}
	main.Properties = append(main.Properties, property{"file", filepath.Base(path)}, property{"go", info.GoVersion})
	for _, s := range info.Settings {
		main.Properties = append(main.Properties, property{"build:" + s.Key, s.Value})
	}
	doc := document{Format: "CycloneDX", SpecVersion: "1.6", Version: 1, Metadata: metadata{main}}
	for _, m := range info.Deps {
		doc.Components = append(doc.Components, module(*m))
	}
	return doc, nil
}

// module describes one module. Sum is Go's own hash of its files (golang.org/x/mod/sumdb/dirhash), no hash of
// CycloneDX's.
func module(m debug.Module) component {
	c := component{Type: "library", Name: m.Path, Version: m.Version, PURL: "pkg:golang/" + m.Path + "@" + m.Version}
	if m.Sum != "" {
		c.Properties = []property{{"go:sum", m.Sum}}
	}
	return c
}

func fileHash(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
