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
	Add    keyAdd    `cmd:"" help:"Make a key and print it; only its hash is kept."`
	List   keyList   `cmd:"" help:"List the keys."`
	Revoke keyRevoke `cmd:"" help:"Revoke a key, at once."`
}

// key is one entry of keys.json.
type key struct {
	Name    string    `json:"name"`
	Hash    string    `json:"sha256"`
	Created time.Time `json:"created"`
}

// keyFile is keys.json, read again when it changes.
type keyFile struct {
	path   string
	always bool // a key is demanded also while there is no file

	mu   sync.Mutex
	keys []key
	ever bool      // there was a file: keys existed, if only once
	read time.Time // when
	mod  time.Time // of the file
}

// keyLook bounds how often the file is looked at; a revoked key works that much longer.
const keyLook = time.Second

// openKeys reads the keys; a missing file has none.
func openKeys(path string) (*keyFile, error) {
	f := &keyFile{path: path}
	return f, f.load()
}

func (f *keyFile) load() error {
	st, err := os.Stat(f.path)
	if errors.Is(err, os.ErrNotExist) {
		f.keys = nil
		return nil
	}
	f.ever = true // also when it cannot be read: then nobody comes in
	if err != nil {
		return err
	}
	raw, err := os.ReadFile(f.path)
	if err != nil {
		return err
	}
	var keys []key
	if err := json.Unmarshal(raw, &keys); err != nil {
		return fmt.Errorf("serve: %s is damaged: %w; restore it from a backup, or remove it and make new keys", f.path, err)
	}
	f.keys, f.mod = keys, st.ModTime()
	return nil
}

func (f *keyFile) any() bool { return len(f.keys) > 0 }

// Allowed implements server.Keys. A file that cannot be read lets nobody in.
func (f *keyFile) Allowed(hash string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.look()
	return slices.ContainsFunc(f.keys, func(k key) bool { return k.Hash == hash })
}

// Demanded implements server.Keys. Once there were keys they are demanded, also when the last one is revoked.
func (f *keyFile) Demanded() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.look()
	return f.always || f.ever
}

// look reads the file again if it has changed; f.mu is held.
func (f *keyFile) look() {
	now := time.Now()
	if now.Sub(f.read) <= keyLook {
		return
	}
	f.read = now
	st, err := os.Stat(f.path)
	if err == nil && st.ModTime().Equal(f.mod) {
		return
	}
	if f.load() != nil {
		f.keys = nil
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
	Name string `arg:"" help:"Whose key it is."`
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
		return usageError{fmt.Errorf("serve: there is a key of %s; revoke it first, or take another name", c.Name)}
	}
	secret := make([]byte, 32)
	rand.Read(secret) // never fails
	text := "tml-" + base64.RawURLEncoding.EncodeToString(secret)
	f.keys = append(f.keys, key{Name: c.Name, Hash: server.HashKey(text), Created: time.Now().UTC().Truncate(time.Second)})
	if err := f.save(); err != nil {
		return err
	}
	fmt.Fprintln(s.err, "this key is shown once:")
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
		fmt.Fprintf(s.out, "%-20s %s  sha256 %.12s…\n", k.Name, k.Created.Format(time.RFC3339), k.Hash)
	}
	return nil
}

type keyRevoke struct {
	dataFlag
	Name string `arg:"" help:"Whose key."`
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
		return usageError{fmt.Errorf("serve: there is no key of %s; trinity serve key list", c.Name)}
	}
	return f.save()
}
