package server

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// Keys decides which API keys are accepted.
type Keys interface {
	// Allowed reports whether the key with this hash (HashKey) is known and not revoked.
	Allowed(hash string) bool
	// Demanded reports whether only such keys are accepted. If not, every key with the prefix of a key is.
	Demanded() bool
	// Owner returns the name of a tenant's key, "" if it has none, and whether the key may see all tenants.
	Owner(tenant string) (name string, operator bool)
}

// keyed reports whether a key must be a known one.
func (s *Server) keyed() bool { return s.opts.Keys != nil && s.opts.Keys.Demanded() }

// HashKey is the stored form of a key: hex of its SHA-256. Keys are long random strings, so a plain hash cannot be
// reversed.
func HashKey(key string) string {
	h := sha256.Sum256([]byte(key))
	return hex.EncodeToString(h[:])
}

// TenantOf is the tenant of a key. It reveals nothing about the key.
func TenantOf(key string) string {
	h := sha256.Sum256([]byte("trinity tenant\x00" + key))
	return hex.EncodeToString(h[:16])
}

// authenticate returns the tenant of a request; "" means that its key is missing or unknown. The two headers are equal:
// an accepted key may be in either.
func (s *Server) authenticate(r *http.Request) string {
	for _, key := range []string{r.Header.Get(wire.HeaderKey), bearer(r.Header.Get("Authorization"))} {
		if tenant := s.tenant(key); tenant != "" {
			return tenant
		}
	}
	return ""
}

// localKey is the key of callers who send none of this server's, where no key is required. The greeting of the server
// suggests it, so that what is trained with it can be sampled without a key.
const localKey = "tml-local"

// authenticateLocal is authenticate for interfaces whose local servers need no key.
func (s *Server) authenticateLocal(r *http.Request) string {
	tenant := s.authenticate(r)
	if tenant == "" && !s.keyed() {
		return TenantOf(localKey)
	}
	return tenant
}

// bearer is the key in an Authorization header. The name of the scheme may be missing.
func bearer(header string) string {
	scheme, key, ok := strings.Cut(header, " ")
	if ok && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(key)
	}
	return header
}

func (s *Server) tenant(key string) string {
	keyed := s.keyed()
	switch {
	case keyed && !s.opts.Keys.Allowed(HashKey(key)):
		return ""
	case !keyed && !strings.HasPrefix(key, "tml-"):
		return ""
	}
	return TenantOf(key)
}

// The kinds of tokens.
const (
	tokenModel   = "m" // creation of a model, by its id
	tokenUnload  = "u" // unloading of a model, by its id
	tokenTrain   = "t" // training request, by model id and SeqID
	tokenSample  = "s" // sample request, by sampler id and sequence number
	tokenArchive = "a" // archive, by checkpoint path and expiry time in Unix seconds
)

// token encodes the key of a request, an id and a number, as an opaque id that only this server can make.
func (s *Server) token(kind, id string, seq int64) string {
	body := kind + "\x00" + strconv.FormatInt(seq, 10) + "\x00" + id
	return base64.RawURLEncoding.EncodeToString(append(s.sign(body), body...))
}

const signature = 16 // bytes

func (s *Server) sign(body string) []byte {
	mac := hmac.New(sha256.New, s.secret)
	mac.Write([]byte(body))
	return mac.Sum(nil)[:signature]
}

// parseToken decodes a token; ok is false if this server did not make it.
func (s *Server) parseToken(token string) (kind, id string, seq int64, ok bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(raw) <= signature || strings.ContainsAny(token, "\r\n") {
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
