// Package ticket signs the names of accepted requests and of downloads, so that clients cannot make
// them up.
package ticket

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// The kinds of tickets.
const (
	Model   = "m" // creation of a model, by its id
	Unload  = "u" // unloading of a model, by its id
	Train   = "t" // training request, by model id and SeqID
	Sample  = "s" // sample request, by sampler id and sequence number
	Archive = "a" // archive, by checkpoint path and expiry time in Unix seconds
	Trace   = "p" // trace of a session, by its id and expiry time
	File    = "f" // one file of a checkpoint, by path and file name, one per line, and expiry time
)

// Signer makes tickets, which name a request and which only this server can make.
type Signer struct{ secret []byte }

// Open reads the key that signs tickets. The first start draws it.
func Open(dfs disk.FS, path string) (*Signer, error) {
	secret, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		secret = make([]byte, 32)
		rand.Read(secret) // never fails
		return &Signer{secret}, disk.WriteFile(dfs, path, secret)
	}
	if err == nil && len(secret) != 32 {
		err = fmt.Errorf("%s has %d bytes, not 32; restore it from a backup, or remove it (ids given out so far are "+
			"then unknown)", path, len(secret))
	}
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	return &Signer{secret}, nil
}

// Ticket encodes the key of a request, an id and a number.
func (s *Signer) Ticket(kind, id string, seq int64) string {
	body := kind + "\x00" + strconv.FormatInt(seq, 10) + "\x00" + id
	return base64.RawURLEncoding.EncodeToString(append(s.sign(body), body...))
}

// Promise is the answer to an accepted request.
func (s *Signer) Promise(kind, id string, seq int64, modelID string) wire.Promise {
	return wire.Promise{RequestID: s.Ticket(kind, id, seq), ModelID: modelID}
}

const signature = 16 // bytes

func (s *Signer) sign(body string) []byte {
	mac := hmac.New(sha256.New, s.secret)
	mac.Write([]byte(body))
	return mac.Sum(nil)[:signature]
}

// Parse decodes a ticket; ok is false if this server did not make it.
func (s *Signer) Parse(ticket string) (kind, id string, seq int64, ok bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(ticket)
	if err != nil || len(raw) <= signature || strings.ContainsAny(ticket, "\r\n") {
		return "", "", 0, false
	}
	body := string(raw[signature:])
	if !hmac.Equal(raw[:signature], s.sign(body)) {
		return "", "", 0, false
	}
	parts := strings.SplitN(body, "\x00", 3)
	if len(parts) != 3 {
		return "", "", 0, false
	}
	seq, err = strconv.ParseInt(parts[1], 10, 64)
	return parts[0], parts[2], seq, err == nil
}
