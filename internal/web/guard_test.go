package web

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestGuard(t *testing.T) {
	plain, named := Guard{}, Guard{Hosts: []string{"models.example.com"}, Origins: []string{"https://app.example"}}
	public := Guard{AnyHost: true, Public: "https://far.example/trinity"}
	for _, c := range []struct {
		g                     Guard
		host, origin, site, f string // f: the header that is refused
	}{
		{plain, "localhost:8000", "", "", ""},
		{plain, "LOCALHOST.:8000", "", "", ""},
		{plain, "a.localhost", "", "", ""},
		{plain, "127.0.0.1:8000", "", "", ""},
		{plain, "0.0.0.0:8000", "", "", ""},
		{plain, "[::1]:8000", "", "", ""},
		{plain, "10.1.2.3", "", "none", ""},
		{plain, "trainer:8000", "", "", "Host"},
		{plain, "host.docker.internal:8000", "", "", "Host"},
		{plain, "box.local", "", "", "Host"},
		{plain, "", "", "", ""},
		{plain, "evil.example:8000", "", "", "Host"},
		{plain, "evil.example:8000", "http://evil.example:8000", "", "Host"},
		{plain, "localhost.evil.example", "", "", "Host"},
		{plain, "127.0.0.1.evil.example", "", "", "Host"},
		{plain, "models.example.com", "", "", "Host"},
		{plain, "localhost:8000", "http://localhost:8000", "same-origin", ""},
		{plain, "localhost:8000", "http://localhost:3000", "same-site", "Origin"},
		{plain, "localhost:8000", "http://evil.example", "", "Origin"},
		{plain, "localhost:8000", "null", "", "Origin"},
		{plain, "127.0.0.1:8000", "", "cross-site", "Sec-Fetch-Site"},
		{plain, "127.0.0.1:8000", "", "same-site", "Sec-Fetch-Site"},
		{named, "models.example.com", "", "", ""},
		{named, "localhost", "https://app.example", "cross-site", ""},
		{named, "localhost", "https://app.example.evil.example", "cross-site", "Origin"},
		{Guard{Origins: []string{"*"}}, "localhost", "https://anybody.example", "cross-site", ""},
		{public, "anything.example", "", "", ""},
		{public, "inside", "https://far.example", "", ""},
		{public, "inside", "http://far.example", "", "Origin"},
	} {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.Host = c.host
		for key, v := range map[string]string{"Origin": c.origin, "Sec-Fetch-Site": c.site} {
			if v != "" {
				r.Header.Set(key, v)
			}
		}
		var f *Foreign
		if errors.As(c.g.Check(r), &f); (f == nil) != (c.f == "") || f != nil && f.Header != c.f {
			t.Errorf("Host %q, Origin %q, Sec-Fetch-Site %q: %v, want refused by %q", c.host, c.origin, c.site, f, c.f)
		}
		w := httptest.NewRecorder()
		c.g.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {})).ServeHTTP(w, r)
		refused := w.Code == http.StatusForbidden && strings.Contains(w.Body.String(), "foreign_page")
		if refused != (c.f != "") {
			t.Errorf("Host %q, Origin %q: %d %s", c.host, c.origin, w.Code, w.Body)
		}
	}
}

// What is open to the network may be reached by private names, and loopback may not.
func TestGuardOfTheNetwork(t *testing.T) {
	for _, c := range []struct {
		at, host string
		refused  bool
	}{
		{"10.0.0.7", "trainer:8000", false}, {"10.0.0.7", "box.local", false},
		{"10.0.0.7", "host.docker.internal", false}, {"10.0.0.7", "evil.example", true},
		{"127.0.0.1", "trainer:8000", true}, {"::1", "box.local", true},
		{"127.0.0.1", "0.0.0.0:8000", false},
	} {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.Host = c.host
		r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey,
			net.Addr(&net.TCPAddr{IP: net.ParseIP(c.at), Port: 8000})))
		if err := (Guard{}).Check(r); (err != nil) != c.refused {
			t.Errorf("Host %q at %s: %v", c.host, c.at, err)
		}
	}
}
