package main

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/tinker/server"
)

// keyCmd manages the keys of a server.
type keyCmd struct {
	Add    keyAdd    `cmd:"" help:"Create a key and print it; only its hash is stored."`
	List   keyList   `cmd:"" help:"List the keys."`
	Revoke keyRevoke `cmd:"" help:"Revoke a key immediately."`
}

// key is one entry of keys.json.
type key struct {
	Name     string    `json:"name"`
	Hash     string    `json:"sha256"`
	Tenant   string    `json:"tenant,omitempty"` // older entries lack it
	Operator bool      `json:"operator,omitempty"`
	Created  time.Time `json:"created"`
}

// keyFile is keys.json. It is read again when it changes.
type keyFile struct {
	path   string
	always bool // keys are required even without a file

	mu   sync.Mutex
	keys []key
	ever bool        // the file has existed, so there were keys at some time
	seen os.FileInfo // the file that was read; nil: none
}

// openKeys reads the keys; a missing file has no keys.
func openKeys(path string) (*keyFile, error) {
	f := &keyFile{path: path}
	return f, f.load()
}

func (f *keyFile) load() error {
	st, err := os.Stat(f.path)
	if errors.Is(err, os.ErrNotExist) {
		f.keys, f.seen = nil, nil
		return nil
	}
	f.ever = true // even if it cannot be read: then no key is accepted
	if err != nil {
		return err
	}
	raw, err := os.ReadFile(f.path)
	if err != nil {
		return err
	}
	var keys []key
	if err := json.Unmarshal(raw, &keys); err != nil {
		return fmt.Errorf("serve: %s is damaged: %w; restore it from a backup, or delete it and create new keys",
			f.path, err)
	}
	f.keys, f.seen = keys, st
	return nil
}

func (f *keyFile) any() bool { return len(f.keys) > 0 }

// Allowed implements server.Keys. If the file cannot be read, no key is accepted.
func (f *keyFile) Allowed(hash string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.look()
	return slices.ContainsFunc(f.keys, func(k key) bool { return k.Hash == hash })
}

// Demanded implements server.Keys. Once a key existed, keys are required, even after the last one is revoked.
func (f *keyFile) Demanded() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.look()
	return f.always || f.ever
}

// Owner implements server.Keys.
func (f *keyFile) Owner(tenant string) (name string, operator bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.look()
	for _, k := range f.keys {
		if k.Tenant != "" && k.Tenant == tenant {
			return k.Name, k.Operator
		}
	}
	return "", false
}

// look reads the file again if it has changed, so that the next request knows of a revoked key. Whoever saves the keys
// puts a new file in place of the old one. The caller holds f.mu.
func (f *keyFile) look() {
	st, err := os.Stat(f.path)
	if err == nil && f.seen != nil && os.SameFile(st, f.seen) && st.ModTime().Equal(f.seen.ModTime()) &&
		st.Size() == f.seen.Size() {
		return
	}
	if f.load() != nil {
		f.keys, f.seen = nil, nil
	}
}

func (f *keyFile) save() error {
	raw, err := json.MarshalIndent(f.keys, "", "  ")
	if err != nil {
		return err
	}
	return disk.WriteFile(disk.OS(), f.path, append(raw, '\n'))
}

type keyAdd struct {
	dataFlag
	Name     string `arg:"" help:"The name of the key's owner."`
	Operator bool   `help:"The key may see who uses the server: GET /tenants, and trinity studio URL."`
}

// Run implements the command.
func (c *keyAdd) Run(s *surroundings) error {
	if err := os.MkdirAll(c.Data, 0o700); err != nil {
		return err
	}
	f, err := openKeys(c.keys())
	if err != nil {
		return err
	}
	if slices.ContainsFunc(f.keys, func(k key) bool { return k.Name == c.Name }) {
		return usageError{fmt.Errorf("serve: %s already has a key; revoke it first, or choose another name", c.Name)}
	}
	secret := make([]byte, 32)
	rand.Read(secret) // never fails
	text := "tml-" + base64.RawURLEncoding.EncodeToString(secret)
	now := time.Now().UTC().Truncate(time.Second)
	f.keys = append(f.keys, key{Name: c.Name, Hash: server.HashKey(text), Tenant: server.TenantOf(text),
		Operator: c.Operator, Created: now})
	if err := f.save(); err != nil {
		return err
	}
	fmt.Fprintln(s.err, "this key is shown only once:")
	fmt.Fprintln(s.out, text)
	return nil
}

type keyList struct{ dataFlag }

// Run implements the command.
func (c *keyList) Run(s *surroundings) error {
	f, err := openKeys(c.keys())
	if err != nil {
		return err
	}
	for _, k := range f.keys {
		fmt.Fprintf(s.out, "%-20s %s  sha256 %.12s…", k.Name, k.Created.Format(time.RFC3339), k.Hash)
		if k.Tenant != "" {
			fmt.Fprintf(s.out, "  tenant %.12s…", k.Tenant)
		}
		if k.Operator {
			fmt.Fprint(s.out, "  operator")
		}
		fmt.Fprintln(s.out)
	}
	return nil
}

type keyRevoke struct {
	dataFlag
	Name string `arg:"" help:"The name of the key's owner."`
}

// Run implements the command.
func (c *keyRevoke) Run(s *surroundings) error {
	f, err := openKeys(c.keys())
	if err != nil {
		return err
	}
	n := len(f.keys)
	f.keys = slices.DeleteFunc(f.keys, func(k key) bool { return k.Name == c.Name })
	if len(f.keys) == n {
		return usageError{fmt.Errorf("serve: %s has no key; trinity serve key list shows all keys", c.Name)}
	}
	return f.save()
}
