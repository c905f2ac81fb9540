// Package hubtest is a hub for tests: a server in this process that speaks the part of the Hugging Face hub's HTTP API
// by which repositories are listed, and files are fetched and uploaded, with the headers that clients go by.
package hubtest

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Repo is one repository. Files of at least Large bytes are served as the hub serves large files: with their sha256,
// from another place.
type Repo struct {
	Files   map[string][]byte
	Gated   bool // files are given to those who send Token only
	Private bool // nothing is
}

// Token is the one the server accepts.
const Token = "hf_test"

// Large is where large files begin, in bytes.
const Large = 1024

// Server is a running hub. Set its fields before the first request.
type Server struct {
	URL   string          // for HF_ENDPOINT
	Repos map[string]Repo // by "models/org/name" or "datasets/org/name"
	// Spoil may change the answer to a request for bytes: it returns true if it has answered. nil leaves all as it is.
	Spoil func(w http.ResponseWriter, r *http.Request, name string, content []byte) bool

	mu     sync.Mutex
	log    []string
	stored map[string][]byte            // large files that were uploaded, by their sha256
	parts  map[string]map[string][]byte // likewise, before they are verified
	cdn    *httptest.Server
}

// New starts a hub that ends with the test.
func New(t testing.TB, repos map[string]Repo) *Server {
	s := &Server{Repos: repos, stored: map[string][]byte{}, parts: map[string]map[string][]byte{}}
	front := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(front.Close)
	s.cdn = httptest.NewServer(http.HandlerFunc(s.serveLarge))
	t.Cleanup(s.cdn.Close)
	s.URL = front.URL
	return s
}

// Requests lists what was asked so far, as "METHOD path range", in order.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

// Commit is the commit of a repository's only revision: it follows from the content.
func (r Repo) Commit() string {
	h := sha1.New()
	for _, n := range r.names() {
		fmt.Fprintf(h, "%s %s\n", n, ETag(r.Files[n]))
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (r Repo) names() []string {
	var names []string
	for n := range r.Files {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// ETag is the name of a content: sha256 of a large file, git's sha1 of a small one.
func ETag(content []byte) string {
	if len(content) >= Large {
		sum := sha256.Sum256(content)
		return hex.EncodeToString(sum[:])
	}
	h := sha1.New()
	fmt.Fprintf(h, "blob %d\x00", len(content))
	h.Write(content)
	return hex.EncodeToString(h.Sum(nil))
}

func (s *Server) note(r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+r.Header.Get("Range")))
}

// serve answers as the hub itself: /api/models/ID/revision/REV and /ID/resolve/REV/FILE.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.note(r)
	if s.write(w, r) {
		return
	}
	p := strings.TrimPrefix(r.URL.Path, "/")
	if api, ok := strings.CutPrefix(p, "api/"); ok {
		key, rest, _ := strings.Cut(api, "/revision/")
		if i := strings.Index(key, "/tree/"); i >= 0 {
			rest, key = key[i+len("/tree/"):], key[:i]
			s.tree(w, r, key, rest)
			return
		}
		s.info(w, r, key, rest)
		return
	}
	if !strings.HasPrefix(p, "datasets/") {
		p = "models/" + p
	}
	key, rest, ok := strings.Cut(p, "/resolve/")
	rev, name, ok2 := strings.Cut(rest, "/")
	if !ok || !ok2 {
		http.NotFound(w, r)
		return
	}
	s.resolve(w, r, key, rev, name)
}

// repo finds a repository at a revision, or answers why there is none.
func (s *Server) repo(w http.ResponseWriter, r *http.Request, key, rev string) (Repo, bool) {
	repo, ok := s.Repos[key]
	known := r.Header.Get("Authorization") == "Bearer "+Token
	switch {
	case !ok || repo.Private && !known:
		refuse(w, http.StatusUnauthorized, "RepoNotFound", "Repository not found")
	case rev != "main" && rev != repo.Commit():
		refuse(w, http.StatusNotFound, "RevisionNotFound", "Invalid rev id: "+rev)
	default:
		w.Header().Set("X-Repo-Commit", repo.Commit())
		return repo, true
	}
	return repo, false
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("X-Error-Code", code)
	w.Header().Set("X-Error-Message", message)
	w.WriteHeader(status)
}

func (s *Server) info(w http.ResponseWriter, r *http.Request, key, rev string) {
	repo, ok := s.repo(w, r, key, rev)
	if !ok {
		return
	}
	files := []map[string]any{}
	for _, n := range repo.names() {
		files = append(files, map[string]any{"rfilename": n})
	}
	_, id, _ := strings.Cut(key, "/")
	reply(w, map[string]any{"_id": "1", "id": id, "modelId": id, "sha": repo.Commit(), "siblings": files,
		"private": repo.Private,
		"gated":   repo.Gated, "downloads": 0, "likes": 0, "tags": []string{},
		"lastModified": time.Unix(0, 0).UTC().Format(time.RFC3339)})
}

func (s *Server) tree(w http.ResponseWriter, r *http.Request, key, rev string) {
	repo, ok := s.repo(w, r, key, rev)
	if !ok {
		return
	}
	files := []map[string]any{}
	for _, n := range repo.names() {
		f := map[string]any{"type": "file", "path": n, "size": len(repo.Files[n]), "oid": ETag(repo.Files[n])}
		if len(repo.Files[n]) >= Large {
			f["lfs"] = map[string]any{"oid": ETag(repo.Files[n]), "size": len(repo.Files[n]), "pointerSize": 130}
		}
		files = append(files, f)
	}
	reply(w, files)
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		panic(http.ErrAbortHandler)
	}
}

// resolve answers for one file: small ones at once, large ones by a redirect that says what will come.
func (s *Server) resolve(w http.ResponseWriter, r *http.Request, key, rev, name string) {
	repo, ok := s.repo(w, r, key, rev)
	if !ok {
		return
	}
	content, ok := repo.Files[name]
	switch {
	case repo.Gated && r.Header.Get("Authorization") == "":
		refuse(w, http.StatusUnauthorized, "GatedRepo", "Access to this repository is restricted")
	case repo.Gated && r.Header.Get("Authorization") != "Bearer "+Token:
		refuse(w, http.StatusForbidden, "GatedRepo",
			"Access to this repository is restricted and you are not in the authorized list")
	case !ok:
		refuse(w, http.StatusNotFound, "EntryNotFound", "Entry not found")
	case len(content) >= Large:
		w.Header().Set("X-Linked-Etag", strconv.Quote(ETag(content)))
		w.Header().Set("X-Linked-Size", strconv.Itoa(len(content)))
		w.Header().Set("ETag", `"of the redirect"`)
		http.Redirect(w, r, s.cdn.URL+"/"+key+"/"+name+"?signed=yes", http.StatusFound)
	default:
		s.bytes(w, r, name, content)
	}
}

// serveLarge answers as the store of large files. It must not see the token.
func (s *Server) serveLarge(w http.ResponseWriter, r *http.Request) {
	s.note(r)
	if r.Header.Get("Authorization") != "" {
		http.Error(w, "a token came to a server it is not for", http.StatusBadRequest)
		return
	}
	if r.Method == http.MethodPut {
		s.put(w, r)
		return
	}
	for key, repo := range s.Repos {
		if name, ok := strings.CutPrefix(r.URL.Path, "/"+key+"/"); ok && r.URL.Query().Get("signed") == "yes" {
			s.bytes(w, r, name, repo.Files[name])
			return
		}
	}
	http.NotFound(w, r)
}

func (s *Server) bytes(w http.ResponseWriter, r *http.Request, name string, content []byte) {
	if s.Spoil != nil && r.Method == http.MethodGet && s.Spoil(w, r, name, content) {
		return
	}
	w.Header().Set("ETag", strconv.Quote(ETag(content)))
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(content))
}
