package studio

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net"
	"net/http"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/web"
)

// guard lets requests through that come from this machine's programs and the studio's own pages: a web page anywhere
// can make a browser send requests here, so the Host, and the Origin if there is one, must be ours. With
// a token, a request must bring it.
func (s *Studio) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		secure(w.Header())
		if (web.Guard{Hosts: s.opts.Hosts}).Check(r) != nil {
			s.fail(w, r, refusal{http.StatusForbidden, "forbidden",
				"studio: the request came by a foreign name or page; " +
					"open the address that the studio printed"})
			return
		}
		if s.opts.Token == "" || s.carries(r) {
			next.ServeHTTP(w, r)
			return
		}
		given := r.URL.Query().Get("token")
		if r.Method != http.MethodGet || !equal(given, s.opts.Token) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			s.fail(w, r, refusal{http.StatusUnauthorized, "unauthorized",
				"studio: a token is needed; open the address " +
					"that the studio printed, or send Authorization: Bearer"})
			return
		}
		s.remember(w, r)
	})
}

// cookie is the name of the cookie that has the token. Browsers send cookies to all ports of a host, so the name tells
// studios apart.
func cookie(r *http.Request) string {
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		return "trinity_studio_" + port
	}
	return "trinity_studio"
}

// kept is a token as a cookie carries it: a token may contain characters that a cookie must not.
func kept(token string) string {
	sum := sha256.Sum256([]byte("trinity studio\n" + token))
	return hex.EncodeToString(sum[:])
}

// remember keeps the token in a cookie and takes it out of the address.
func (s *Studio) remember(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, &http.Cookie{Name: cookie(r), Value: kept(s.opts.Token), Path: "/", HttpOnly: true,
		SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil})
	to := *r.URL
	q := to.Query()
	q.Del("token")
	to.RawQuery, to.Scheme, to.Host = q.Encode(), "", ""
	to.Path = "/" + strings.TrimLeft(to.Path, "/") // never another host
	http.Redirect(w, r, to.String(), http.StatusSeeOther)
}

// carries reports whether a request brings the token.
func (s *Studio) carries(r *http.Request) bool {
	if key, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok && equal(key, s.opts.Token) {
		return true
	}
	c, err := r.Cookie(cookie(r))
	return err == nil && equal(c.Value, kept(s.opts.Token))
}

// equal compares secrets in constant time.
func equal(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}
