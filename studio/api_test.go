package studio

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

func TestOpenAPI(t *testing.T) {
	s, server := opened(t, Options{Dirs: []string{t.TempDir()}})
	api := get[struct {
		Paths map[string]map[string]any
	}](t, server, "/api/openapi.json", 200)
	n := 0
	for path, methods := range api.Paths {
		for method := range methods {
			n++
			probe := strings.NewReplacer("{", "", "}", "").Replace(path)
			r := httptest.NewRequest(strings.ToUpper(method), probe, nil)
			if _, pattern := s.mux.Handler(r); pattern != strings.ToUpper(method)+" "+path {
				t.Errorf("%s %s is described and served as %q", method, path, pattern)
			}
		}
	}
	if n != len(descriptions()) || n != s.served {
		t.Errorf("%d routes are described, %d served", n, s.served)
	}
}

func FuzzAPI(f *testing.F) {
	root := f.TempDir()
	job(f, root, "a")
	s := New(Options{Dirs: []string{root}})
	if err := s.Look(context.Background()); err != nil {
		f.Fatal(err)
	}
	id := s.runs.all()[0].id
	f.Add("samples", "step=1&q=a&sort=-reward&cursor=MTpzdGVw")
	f.Add("histogram", "bins=3&set=*")
	f.Add("samples/step_000001.0", "from=5&count=-1")
	f.Add("groups/1/0", "set=held-out")
	f.Add("metrics", "name=critic/rewards/mean&points=0&from=-1")
	f.Fuzz(func(t *testing.T, path, query string) {
		u := url.URL{Scheme: "http", Host: "localhost", Path: "/api/runs/" + id + "/" + path, RawQuery: query}
		r := &http.Request{Method: http.MethodGet, URL: &u, Host: "localhost", Header: http.Header{}, Body: http.NoBody}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r.WithContext(t.Context()))
		if w.Code >= 500 {
			t.Fatalf("%s?%s: %d %s", path, query, w.Code, w.Body)
		}
	})
}
