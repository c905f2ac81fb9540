package server

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
)

// Key is one entry of a KeyFile. The key itself is not stored, only its hash.
type Key struct {
	Name     string    `json:"name"`
	Hash     string    `json:"sha256"`
	Tenant   string    `json:"tenant,omitempty"` // older entries lack it
	Operator bool      `json:"operator,omitempty"`
	Created  time.Time `json:"created"`
}

// KeyFile is a file of keys, keys.json. It is read again when it changes, and implements Keys.
type KeyFile struct {
	path   string
	always bool // keys are required even without a file

	mu   sync.Mutex
	keys []Key
	ever bool        // the file has existed, so there were keys at some time
	seen os.FileInfo // the file that was read; nil: none
}

// OpenKeyFile reads the keys; a missing file has none. always requires a key even then.
func OpenKeyFile(path string, always bool) (*KeyFile, error) {
	f := &KeyFile{path: path, always: always}
	return f, f.load()
}

func (f *KeyFile) load() error {
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
	var keys []Key
	if err := json.Unmarshal(raw, &keys); err != nil {
		return fmt.Errorf("serve: %s is damaged: %w; restore it from a backup, or delete it and create new keys",
			f.path, err)
	}
	f.keys, f.seen = keys, st
	return nil
}

// List lists the keys.
func (f *KeyFile) List() []Key { return f.keys }

// Add makes a key for an owner and returns it. ok is false if the owner has one already.
func (f *KeyFile) Add(owner string, operator bool) (key string, ok bool, err error) {
	if slices.ContainsFunc(f.keys, func(k Key) bool { return k.Name == owner }) {
		return "", false, nil
	}
	secret := make([]byte, 32)
	rand.Read(secret) // never fails
	key = "tml-" + base64.RawURLEncoding.EncodeToString(secret)
	f.keys = append(f.keys, Key{Name: owner, Hash: HashKey(key), Tenant: TenantOf(key), Operator: operator,
		Created: time.Now().UTC().Truncate(time.Second)})
	return key, true, f.save()
}

// Revoke removes an owner's key. ok is false if there is none.
func (f *KeyFile) Revoke(owner string) (ok bool, err error) {
	n := len(f.keys)
	f.keys = slices.DeleteFunc(f.keys, func(k Key) bool { return k.Name == owner })
	if len(f.keys) == n {
		return false, nil
	}
	return true, f.save()
}

// Allowed implements Keys. If the file cannot be read, no key is accepted.
func (f *KeyFile) Allowed(hash string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.look()
	return slices.ContainsFunc(f.keys, func(k Key) bool { return k.Hash == hash })
}

// Demanded implements Keys. Once a key existed, keys are required, even after the last one is revoked.
func (f *KeyFile) Demanded() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.look()
	return f.always || f.ever
}

// Owner implements Keys.
func (f *KeyFile) Owner(tenant string) (name string, operator bool) {
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
func (f *KeyFile) look() {
	st, err := os.Stat(f.path)
	if err == nil && f.seen != nil && os.SameFile(st, f.seen) && st.ModTime().Equal(f.seen.ModTime()) &&
		st.Size() == f.seen.Size() {
		return
	}
	if f.load() != nil {
		f.keys, f.seen = nil, nil
	}
}

func (f *KeyFile) save() error {
	raw, err := json.MarshalIndent(f.keys, "", "  ")
	if err != nil {
		return err
	}
	return disk.WriteFile(disk.OS(), f.path, append(raw, '\n'))
}
