package edge

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
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

// Keyed reports whether a key must be a known one.
func (s *Edge) Keyed() bool { return s.Access.Keys != nil && s.Access.Keys.Demanded() }

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

// Authenticate returns the tenant of a request; "" means that its key is missing or unknown. The two headers are equal:
// an accepted key may be in either.
func (s *Edge) Authenticate(r *http.Request) string {
	for _, key := range []string{r.Header.Get(wire.HeaderKey), bearer(r.Header.Get("Authorization"))} {
		if tenant := s.Tenant(key); tenant != "" {
			return tenant
		}
	}
	return ""
}

// localKey stands for a missing key if none is required. The server's greeting suggests it, so that models trained with
// it can be sampled without a key.
const localKey = "tml-local"

// authenticateLocal is authenticate for interfaces whose local servers need no key.
func (s *Edge) authenticateLocal(r *http.Request) string {
	tenant := s.Authenticate(r)
	if tenant == "" && !s.Keyed() {
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

func (s *Edge) Tenant(key string) string {
	keyed := s.Keyed()
	switch {
	case keyed && !s.Access.Keys.Allowed(HashKey(key)):
		return ""
	case !keyed && !strings.HasPrefix(key, "tml-"):
		return ""
	}
	return TenantOf(key)
}

// Origin is the scheme and host under which a client reaches this server: PublicURL, else a proxy's headers, else the
// request's own. A client that forges them only gets a wrong address itself.
func (s *Edge) Origin(r *http.Request) string {
	if s.Access.PublicURL != "" {
		return strings.TrimRight(s.Access.PublicURL, "/")
	}
	scheme, host := "http", r.Host
	if r.TLS != nil {
		scheme = "https"
	}
	if v := first(r.Header.Get("X-Forwarded-Proto")); v == "http" || v == "https" {
		scheme = v
	}
	if v := first(r.Header.Get("X-Forwarded-Host")); v != "" {
		host = v
	}
	return (&url.URL{Scheme: scheme, Host: host}).String()
}

// first is the first of a header's values, which the proxy nearest to the client set.
func first(values string) string {
	v, _, _ := strings.Cut(values, ",")
	return strings.TrimSpace(v)
}
