package web

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// Guard keeps requests of other web pages out of a server that trusts local programs. A page may send requests to any
// address, this machine's loopback included. Headers that only a browser sets tell them apart: Origin is the page, Host
// the name that it used, and Sec-Fetch-Site (https://www.w3.org/TR/fetch-metadata/) says whether the two belong
// together. A page whose own name was pointed at this machine (DNS rebinding) is of the same origin as the server, but
// its Host is a public name.
type Guard struct {
	Hosts   []string // public names of the server, in lower case and without a port
	AnyHost bool     // every Host is the server's
	Origins []string // pages that may call, as in an Origin header; * is all
	Public  string   // URL of the server, whose pages are its own; may be empty
}

// Foreign is the error of a request that a Guard refuses.
type Foreign struct{ Header, Value string }

// Error names a remedy.
func (f *Foreign) Error() string {
	if f.Header == "Host" {
		return fmt.Sprintf("Host is %q, which is not a name of this server; reach it by its address or as localhost",
			f.Value)
	}
	return fmt.Sprintf("%s is %q: web pages of another origin may not call this server", f.Header, f.Value)
}

// Check returns nil or a *Foreign.
func (g Guard) Check(r *http.Request) error {
	host := hostOf(r.Host)
	if !g.AnyHost && !local(host) && !(private(host) && fromAfar(r)) && !slices.Contains(g.Hosts, host) {
		return &Foreign{"Host", host}
	}
	origin := r.Header.Get("Origin")
	switch site := r.Header.Get("Sec-Fetch-Site"); {
	case origin != "" && (g.Allows(origin) || g.own(r, origin)):
		return nil
	case origin != "":
		return &Foreign{"Origin", origin}
	case site == "cross-site" || site == "same-site":
		return &Foreign{"Sec-Fetch-Site", site}
	}
	return nil
}

// Allows reports whether pages of origin may call from a browser.
func (g Guard) Allows(origin string) bool {
	return slices.Contains(g.Origins, origin) || slices.Contains(g.Origins, "*")
}

// Handler answers refused requests with status 403 and an error in OpenAI's form.
func (g Guard) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := g.Check(r)
		if err == nil {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Connection", "close") // so that the body is not read
		w.WriteHeader(http.StatusForbidden)
		problem := map[string]string{"message": err.Error(), "type": "permission_error", "code": "foreign_page"}
		json.NewEncoder(w).Encode(map[string]any{"error": problem}) // a client that went away
	})
}

// local reports whether host is an address or a name of loopback, which no owner of a name can point here. A request
// without a Host comes from no browser.
func local(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil || host == "" || host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// private reports whether host is a name that the public DNS does not have. Somebody in the network of this machine may
// have it, who reaches what is open to the network anyway, and must not reach loopback by it.
func private(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	return last == host || slices.Contains([]string{"local", "internal", "lan"}, last)
}

// fromAfar reports whether a request came to another address than loopback.
func fromAfar(r *http.Request) bool {
	at, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return ok && !at.IP.IsLoopback()
}

// own reports whether a page comes from the server itself, under the name of the request or its public URL. Where every
// Host is the server's this lets in any page that has a name of this machine; keys are required then, and such a page
// has none.
func (g Guard) own(r *http.Request, origin string) bool {
	page, err := url.Parse(origin)
	if err != nil || page.Host == "" {
		return false
	}
	public, err := url.Parse(g.Public)
	if err == nil && public.Host != "" && sameHost(page, public) && page.Scheme == public.Scheme {
		return true
	}
	return sameHost(page, &url.URL{Scheme: page.Scheme, Host: r.Host})
}

// sameHost compares host and port, with the default port of the scheme.
func sameHost(a, b *url.URL) bool {
	port := func(u *url.URL) string {
		if p := u.Port(); p != "" {
			return p
		}
		return map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

// hostOf is the name or the address in a Host header: without the port, the brackets of IPv6 and a last dot, in lower
// case.
func hostOf(header string) string {
	host, _, err := net.SplitHostPort(header)
	if err != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(header, "["), "]")
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}
