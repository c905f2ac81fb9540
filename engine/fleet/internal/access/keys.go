// Package access makes and reads the keys of a fleet: the operator and account that sign, the credentials of head,
// workers and operators, and the certificate of the embedded server. Credentials are NATS's: a JWT that lists
// the subjects a user may use, signed by the account, and the seed of an Ed25519 key that proves who asks.
//
// See https://docs.nats.io/running-a-nats-service/configuration/securing_nats/auth_intro/jwt.
package access

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/message"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// Keys are the secrets of one fleet.
type Keys struct {
	Names  message.Names
	Secret []byte // chooses the tasks that are checked

	signer  string // seed of a key of another server's account
	account string // public key of that account

	mu    sync.Mutex
	path  string
	saved saved
}

// saved is the file of keys.
type saved struct {
	Job      string
	Operator string // seeds
	Account  string
	System   string
	Join     string // of the credentials that workers enrol with
	Secret   string
	Revoked  map[string]int64  // public key to the second of its revocation
	Removed  map[string]string // worker's id to the reason
}

// Open reads the keys in a folder, or makes them. job names the fleet.
func Open(dir, job string) (*Keys, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("fleet: %w", err)
	}
	k := &Keys{path: filepath.Join(dir, "keys.json")}
	err := disk.ReadJSON(k.path, &k.saved)
	if errors.Is(err, fs.ErrNotExist) {
		err = k.make(job)
	}
	if err != nil {
		return nil, fmt.Errorf("fleet: the keys of the fleet: %w", err)
	}
	k.Names = message.Names{Job: k.saved.Job}
	k.Secret, err = hex.DecodeString(k.saved.Secret)
	return k, err
}

// make makes new keys and saves them.
func (k *Keys) make(job string) error {
	random := make([]byte, 36)
	if _, err := rand.Read(random); err != nil {
		return err
	}
	k.saved.Job = token(job) + "-" + hex.EncodeToString(random[:4])
	k.saved.Secret = hex.EncodeToString(random[4:])
	for _, made := range []struct {
		seed   *string
		prefix nkeys.PrefixByte
	}{
		{&k.saved.Operator, nkeys.PrefixByteOperator}, {&k.saved.Account, nkeys.PrefixByteAccount},
		{&k.saved.System, nkeys.PrefixByteAccount}, {&k.saved.Join, nkeys.PrefixByteUser},
	} {
		pair, err := nkeys.CreatePair(made.prefix)
		if err != nil {
			return err
		}
		seed, err := pair.Seed()
		if err != nil {
			return err
		}
		*made.seed = string(seed)
	}
	return k.save()
}

// save writes the keys. The caller holds the lock or is alone.
func (k *Keys) save() error {
	data, err := disk.Seal(k.saved)
	if err != nil {
		return err
	}
	return writeSecret(k.path, data)
}

// token makes a name one token of a subject and of a stream's name.
func token(name string) string {
	s := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, name)
	s = cmp.Or(s, "job")
	return s[:min(len(s), 40)]
}

// Sign lets the keys sign for an account of another server. The file holds the seed of the account's key or of one of
// its signing keys; creds belong to a user of the account.
func (k *Keys) Sign(file, creds string) error {
	seed, err := disk.ReadFile(file, maxFile)
	if err != nil {
		return fmt.Errorf("fleet: the account's key: %w", err)
	}
	text := strings.TrimSpace(string(seed))
	if !nkeys.IsValidPublicAccountKey(public(text)) {
		return fmt.Errorf("fleet: the account's key: %s holds no seed of an account (SA…)", file)
	}
	c, err := Read(creds)
	if err != nil {
		return err
	}
	user, err := jwt.DecodeUserClaims(c.JWT)
	if err != nil {
		return fmt.Errorf("fleet: credentials %s: %w", creds, err)
	}
	k.signer, k.account = text, cmp.Or(user.IssuerAccount, user.Issuer)
	return nil
}

// Remove notes that a worker is refused from now on. Its credentials are revoked.
func (k *Keys) Remove(worker, reason string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.saved.Removed == nil {
		k.saved.Removed = map[string]string{}
	}
	k.saved.Removed[worker] = reason
	k.revoke(worker)
	return k.save()
}

// Removed returns why a worker was removed, or "".
func (k *Keys) Removed(worker string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.saved.Removed[worker]
}

// Rotate makes a new key for the credentials that workers enrol with and revokes the old one.
func (k *Keys) Rotate() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.revoke(public(k.saved.Join))
	pair, err := nkeys.CreateUser()
	if err != nil {
		return err
	}
	seed, err := pair.Seed()
	if err != nil {
		return err
	}
	k.saved.Join = string(seed)
	return k.save()
}

func (k *Keys) revoke(key string) {
	if k.saved.Revoked == nil {
		k.saved.Revoked = map[string]int64{}
	}
	k.saved.Revoked[key] = time.Now().Unix() + 1
}

// public returns the public key of a seed, "" if it is none.
func public(seed string) string {
	pair, err := nkeys.FromSeed([]byte(seed))
	if err != nil {
		return ""
	}
	key, err := pair.PublicKey()
	if err != nil {
		return ""
	}
	return key
}

// OperatorClaims, AccountKey and SystemKey are trusted by the embedded server.
func (k *Keys) OperatorClaims() (*jwt.OperatorClaims, error) {
	pair, err := nkeys.FromSeed([]byte(k.saved.Operator))
	if err != nil {
		return nil, fmt.Errorf("fleet: the operator's key: %w", err)
	}
	o := jwt.NewOperatorClaims(public(k.saved.Operator))
	o.Name = "trinity"
	text, err := o.Encode(pair)
	if err != nil {
		return nil, fmt.Errorf("fleet: %w", err)
	}
	return jwt.DecodeOperatorClaims(text)
}

// AccountKey is the public key of the fleet's account.
func (k *Keys) AccountKey() string { return public(k.saved.Account) }

// SystemKey is the public key of the server's own account.
func (k *Keys) SystemKey() string { return public(k.saved.System) }

// AccountJWT is the fleet's account with its revocations.
func (k *Keys) AccountJWT() (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	a := jwt.NewAccountClaims(k.AccountKey())
	a.Name = k.saved.Job
	a.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: -1, DiskStorage: -1, Streams: -1, Consumer: -1}
	for key, at := range k.saved.Revoked {
		a.RevokeAt(key, time.Unix(at, 0))
	}
	return k.sign(a)
}

// SystemJWT is the account of the server itself.
func (k *Keys) SystemJWT() (string, error) {
	a := jwt.NewAccountClaims(k.SystemKey())
	a.Name = "system"
	return k.sign(a)
}

func (k *Keys) sign(a *jwt.AccountClaims) (string, error) {
	pair, err := nkeys.FromSeed([]byte(k.saved.Operator))
	if err != nil {
		return "", fmt.Errorf("fleet: the operator's key: %w", err)
	}
	text, err := a.Encode(pair)
	if err != nil {
		return "", fmt.Errorf("fleet: %w", err)
	}
	return text, nil
}
