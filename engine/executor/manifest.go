package executor

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
)

// Manifest lists the files of a base model that a version needs.
type Manifest struct {
	Base     string `json:"base"`               // fingerprint, as of Version
	Name     string `json:"name"`               // of the model
	Repo     string `json:"repo,omitempty"`     // its name on the hub, if it came from there
	Revision string `json:"revision,omitempty"` // a commit
	Files    []File `json:"files"`
}

// File is one file of a Manifest.
type File struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
	Hash string `json:"sha256"`
}

// maxManifest bounds a manifest's bytes; a model of hundreds of files needs a few tens of KiB.
const maxManifest = 1 << 20

// Encode returns the manifest as a blob's content.
func (m Manifest) Encode() ([]byte, error) { return json.Marshal(m) }

// ParseManifest reads a manifest and refuses names and hashes that are none.
func ParseManifest(raw []byte) (Manifest, error) {
	var m Manifest
	if len(raw) > maxManifest {
		return m, fmt.Errorf("executor: a manifest of %d bytes; at most %d are read", len(raw), maxManifest)
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return m, fmt.Errorf("executor: manifest: %w", err)
	}
	seen := map[string]bool{}
	for _, f := range m.Files {
		switch {
		case f.Name == "" || filepath.Base(f.Name) != f.Name || strings.ContainsAny(f.Name, `/\:`) ||
			strings.HasPrefix(f.Name, "."):
			return m, fmt.Errorf("executor: manifest of %q: %q is not a file name", m.Name, f.Name)
		case seen[f.Name]:
			return m, fmt.Errorf("executor: manifest of %q: %s is listed twice", m.Name, f.Name)
		case !IsHash(f.Hash) || f.Size < 0:
			return m, fmt.Errorf("executor: manifest of %q: %s has hash %q and size %d", m.Name, f.Name, f.Hash, f.Size)
		}
		seen[f.Name] = true
	}
	if len(m.Files) == 0 || !seen["config.json"] {
		return m, fmt.Errorf("executor: manifest of %q lists %d files and must list config.json", m.Name, len(m.Files))
	}
	return m, nil
}

// IsHash reports whether s is a SHA-256 in lower-case hexadecimal.
func IsHash(s string) bool {
	raw, err := hex.DecodeString(s)
	return err == nil && len(raw) == sha256.Size && s == hex.EncodeToString(raw)
}

// HashOf is the hash of a blob's content.
func HashOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
