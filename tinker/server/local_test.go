package server

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// Where no key is required, a caller without one of this server's is the tenant of tml-local over every interface but
// the Tinker protocol. Where keys are required, they are required everywhere. The two headers of a key are equal.
func TestLocalCallers(t *testing.T) {
	const local = "tml-local"
	open, keyed := newEndpoint(t), newRig(t, Options{Access: Access{Keys: keyList{HashKey("tml-known")}}})
	open.key = local
	m := open.model(open.session(), 0)
	open.result(open.promise("/save_weights_for_sampler", map[string]any{"model_id": m, "path": "one", "seq_id": 1}))
	path := "tinker://" + m + "/sampler_weights/one"
	for _, c := range []struct {
		name, bearer, key string
		protocol, other   int // status on the open server
		known             int // status on the keyed one
		owns              bool
	}{
		{"nothing", "", "", 401, 200, 401, true},
		{"a foreign key", "", "sk-foreign", 401, 200, 401, true},
		{"a foreign bearer", "Bearer sk-foreign", "", 401, 200, 401, true},
		{"Basic", "Basic dG1sLXg6eQ==", "", 401, 200, 401, true},
		{"its own key", "", local, 200, 200, 401, true},
		{"another key", "", "tml-other", 200, 200, 401, false},
		{"another key as bearer", "bearer tml-other", "", 200, 200, 401, false},
		{"a key beside a foreign one", "Bearer tml-other", "sk-foreign", 200, 200, 401, false},
		{"a known key", "", "tml-known", 200, 200, 200, false},
		{"a known key as bearer", "Bearer tml-known", "anything", 200, 200, 200, false},
	} {
		headers := []string{"Authorization", c.bearer, wire.HeaderKey, c.key}
		got := func(r *rig, path string) (int, string) {
			code, _, raw := r.as("").send("GET", path, nil, headers...)
			return code, string(raw)
		}
		if code, _ := got(open, wire.Prefix+"/get_server_capabilities"); code != c.protocol {
			t.Errorf("%s, Tinker protocol: %d, want %d", c.name, code, c.protocol)
		}
		for _, prefix := range []string{"/oai/api/v1", "/v1"} {
			code, raw := got(open, prefix+"/models")
			if code != c.other || strings.Contains(raw, path) != c.owns {
				t.Errorf("%s, %s: %d %s, want %d, the checkpoint of %s: %v", c.name, prefix, code, raw, c.other, local,
					c.owns)
			}
			if code, raw := got(keyed, prefix+"/models"); code != c.known {
				t.Errorf("%s, %s where keys are required: %d %s, want %d", c.name, prefix, code, raw, c.known)
			}
		}
		if code, raw := got(open, "/v1/nowhere"); code != 404 || !strings.Contains(raw, "no route of this server") {
			t.Errorf("%s, a route that there is not: %d %s", c.name, code, raw)
		}
		if code, _ := got(keyed, wire.Prefix+"/get_server_capabilities"); code != c.known {
			t.Errorf("%s, Tinker protocol where keys are required: %d, want %d", c.name, code, c.known)
		}
	}
}

// Requests with a foreign Host or Origin are refused before anything else, in the form of their route.
func TestHostsAndOrigins(t *testing.T) {
	r := newEndpoint(t)
	for _, c := range []struct {
		hosts, origins []string
		public         string
		host, origin   string
		refused        string
	}{
		{nil, nil, "", "anything.example", "", ""},
		{[]string{}, nil, "", "", "", ""},
		{[]string{}, nil, "", "localhost", "", ""},
		{[]string{}, nil, "", "LOCALHOST.:99", "", ""},
		{[]string{}, nil, "", "app.localhost:99", "", ""},
		{[]string{}, nil, "", "127.9.9.9:8000", "", ""},
		{[]string{}, nil, "", "[::1]:8000", "", ""},
		{[]string{}, nil, "", "[::1]", "", ""},
		{[]string{}, nil, "", "10.0.0.1:8000", "", ""},
		{[]string{}, nil, "", "evil.example:8000", "", "--allow-host evil.example"},
		{[]string{}, nil, "", "localhost.evil.example", "", "--allow-host localhost.evil.example"},
		{[]string{}, nil, "", "notlocalhost", "", "--allow-host notlocalhost"},
		{[]string{"lab.example"}, nil, "", "lab.example:8000", "", ""},
		{[]string{"lab.example"}, nil, "", "Lab.Example.", "", ""},
		{[]string{"lab.example"}, nil, "", "x.lab.example", "", "--allow-host x.lab.example"},
		{[]string{}, nil, "", "localhost:80", "http://localhost", ""},
		{[]string{}, nil, "", "localhost:80", "http://localhost:3000", "--cors-origin http://localhost:3000"},
		{[]string{}, nil, "", "localhost", "https://evil.example", "--cors-origin https://evil.example"},
		{[]string{}, nil, "", "localhost", "null", "--cors-origin null"},
		{nil, nil, "", "anything.example", "https://evil.example", "--cors-origin https://evil.example"},
		{[]string{}, nil, "https://lab.example/x", "localhost", "https://lab.example", ""},
		{[]string{}, nil, "https://lab.example/x", "localhost", "http://lab.example", "--cors-origin"},
		{[]string{}, []string{"https://chat.example"}, "", "localhost", "https://chat.example", ""},
		{[]string{}, []string{"https://chat.example"}, "", "localhost", "http://chat.example", "--cors-origin"},
		{[]string{}, []string{"https://chat.example"}, "", "evil.example", "https://chat.example", "--allow-host"},
		{[]string{}, []string{"*"}, "", "localhost", "null", ""},
	} {
		a := &r.server.edge.Access
		a.Hosts, a.Origins, a.PublicURL = c.hosts, c.origins, c.public
		for path, field := range map[string]string{"/v1/models": `"error"`, "/healthz": `"detail"`,
			wire.Prefix + "/get_server_capabilities": `"detail"`} {
			code, raw := ask(t, r, "GET", path, c.host, c.origin)
			if c.refused == "" && code != http.StatusOK || c.refused != "" && (code != http.StatusForbidden ||
				!strings.Contains(raw, c.refused) || !strings.Contains(raw, field)) {
				t.Errorf("hosts %q, origins %q: Host %q, Origin %q, %s: %d %s, want %q", c.hosts, c.origins, c.host,
					c.origin, path, code, raw, c.refused)
			}
		}
	}
}

// ask sends a request with these headers and the rig's key.
func ask(t *testing.T, r *rig, method, path, host, origin string, more ...string) (int, string) {
	t.Helper()
	code, _, raw := asked(t, r, method, path, host, origin, more...)
	return code, raw
}

func asked(t *testing.T, r *rig, method, path, host, origin string, more ...string) (int, http.Header, string) {
	t.Helper()
	q, err := http.NewRequest(method, r.web.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if host != "" {
		q.Host = host
	}
	q.Header.Set(wire.HeaderKey, r.key)
	if origin != "" {
		q.Header.Set("Origin", origin)
	}
	for i := 0; i+1 < len(more); i += 2 {
		q.Header.Set(more[i], more[i+1])
	}
	resp, err := r.web.Client().Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(raw)
}

// CORS headers are sent to allowed pages alone; their preflights need no key.
func TestCORS(t *testing.T) {
	r := newEndpoint(t)
	const page = "https://chat.example"
	r.server.edge.Access.Hosts, r.server.edge.Access.Origins = []string{}, []string{page}
	preflight := []string{"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers",
		"authorization, content-type, x-stainless-lang", "Access-Control-Request-Private-Network", "true"}
	stranger := r.as("")
	for _, path := range []string{"/v1/chat/completions", wire.Prefix + "/create_session", "/nowhere"} {
		code, h, raw := asked(t, stranger, "OPTIONS", path, "", page, preflight...)
		if code != http.StatusNoContent || raw != "" || h.Get("Access-Control-Allow-Origin") != page ||
			!strings.Contains(h.Get("Access-Control-Allow-Methods"), "POST") || h.Get("Vary") != "Origin" ||
			h.Get("Access-Control-Allow-Headers") != preflight[3] ||
			h.Get("Access-Control-Allow-Private-Network") != "true" || h.Get("Access-Control-Max-Age") == "" {
			t.Errorf("preflight of %s: %d %v %s", path, code, h, raw)
		}
		code, h, _ = asked(t, stranger, "OPTIONS", path, "", "https://evil.example", preflight...)
		if code != http.StatusForbidden || anyCORS(h) {
			t.Errorf("a foreign preflight of %s: %d %v", path, code, h)
		}
	}
	if code, h, _ := asked(t, r, "GET", "/v1/models", "", page); code != http.StatusOK ||
		h.Get("Access-Control-Allow-Origin") != page || h.Get("Vary") != "Origin" {
		t.Errorf("an allowed page: %d %v", code, h)
	}
	if code, h, _ := asked(t, r, "GET", "/v1/models", "", ""); code != http.StatusOK || anyCORS(h) {
		t.Errorf("no page: %d %v", code, h)
	}
	if code, h, _ := asked(t, r, "GET", "/v1/models", "", r.web.URL); code != http.StatusOK || anyCORS(h) {
		t.Errorf("a page of the server itself: %d %v", code, h)
	}
	if code, _, _ := asked(t, r, "OPTIONS", "/v1/models", "", ""); code == http.StatusNoContent {
		t.Error("OPTIONS without an Origin is answered as a preflight")
	}
}

func anyCORS(h http.Header) bool {
	for name := range h {
		if strings.HasPrefix(name, "Access-Control-") {
			return true
		}
	}
	return false
}
