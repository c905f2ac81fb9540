package hubtest

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// Part is how many bytes a large file may have that is uploaded at once; a larger one comes in parts of so many.
const Part = 4096

// write answers a request that changes the hub, as huggingface_hub makes them, and reports whether it was one.
func (s *Server) write(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodPost {
		return false
	}
	p := strings.TrimPrefix(r.URL.Path, "/")
	completes := strings.HasPrefix(p, "lfs/complete/") // a signed address; huggingface_hub sends no token there
	if !completes && r.Header.Get("Authorization") != "Bearer "+Token {
		refuse(w, http.StatusUnauthorized, "", "Invalid username or password.")
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	api, _ := strings.CutPrefix(p, "api/")
	key, act, _ := strings.Cut(strings.TrimSuffix(api, "/main"), "/preupload")
	committed, isCommit := strings.CutSuffix(strings.TrimSuffix(api, "/main"), "/commit")
	switch {
	case p == "api/repos/create":
		s.create(w, r)
	case p == "api/validate-yaml": // of a model card
		reply(w, map[string]any{"errors": []string{}, "warnings": []string{}})
	case p == "lfs/verify":
		s.verify(w, r)
	case completes:
		s.complete(w, r, strings.TrimPrefix(p, "lfs/complete/"))
	case strings.HasSuffix(p, ".git/info/lfs/objects/batch"):
		s.batch(w, r)
	case isCommit:
		s.commit(w, r, committed)
	case act == "" && key != api:
		preupload(w, r)
	default:
		return false
	}
	return true
}

func (s *Server) create(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Name, Organization, Type string
		Private                  bool
	}
	if !read(w, r, &in) {
		return
	}
	key := cmp.Or(in.Type, "model") + "s/" + in.Organization + "/" + in.Name
	switch _, there := s.Repos[key]; {
	case in.Organization == "others":
		refuse(w, http.StatusForbidden, "", "You don't have the rights to create a model under this namespace")
	case there:
		refuse(w, http.StatusConflict, "", "You already created this model repo")
	default:
		s.Repos[key] = Repo{Files: map[string][]byte{}, Private: in.Private}
		reply(w, map[string]any{"url": s.URL + "/" + in.Organization + "/" + in.Name})
	}
}

func preupload(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Files []struct {
			Path, Sample string
			Size         int64
		}
	}
	if !read(w, r, &in) {
		return
	}
	out := []map[string]any{}
	for _, f := range in.Files {
		mode := "regular"
		if f.Size >= Large {
			mode = "lfs"
		}
		sample, err := base64.StdEncoding.DecodeString(f.Sample)
		if err != nil || int64(len(sample)) != min(512, f.Size) {
			http.Error(w, "the sample of "+f.Path+" is not its first 512 bytes", http.StatusBadRequest)
			return
		}
		out = append(out, map[string]any{"path": f.Path, "uploadMode": mode, "shouldIgnore": false})
	}
	reply(w, map[string]any{"files": out})
}

func (s *Server) batch(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Operation string
		Objects   []struct {
			OID  string
			Size int64
		}
	}
	if !read(w, r, &in) {
		return
	}
	out := []map[string]any{}
	for _, o := range in.Objects {
		object := map[string]any{"oid": o.OID, "size": o.Size}
		if _, there := s.stored[o.OID]; !there {
			up := map[string]any{"href": s.cdn.URL + "/lfs/" + o.OID + "/1"}
			if o.Size > Part {
				header := map[string]string{"chunk_size": strconv.Itoa(Part)}
				for n := int64(1); (n-1)*Part < o.Size; n++ {
					header[fmt.Sprintf("%05d", n)] = fmt.Sprintf("%s/lfs/%s/%d", s.cdn.URL, o.OID, n)
				}
				up = map[string]any{"href": s.URL + "/lfs/complete/" + o.OID, "header": header}
			}
			object["actions"] = map[string]any{"upload": up, "verify": map[string]any{"href": s.URL + "/lfs/verify"}}
		}
		out = append(out, object)
	}
	reply(w, map[string]any{"objects": out, "transfer": "basic"})
}

// put takes a file or a part of it, as the store of large files.
func (s *Server) put(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	oid, part, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, "/lfs/"), "/")
	if err != nil || !ok {
		http.Error(w, "no part", http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.parts[oid] == nil {
		s.parts[oid] = map[string][]byte{}
	}
	s.parts[oid][part] = body
	w.Header().Set("ETag", ETag(body))
}

// complete checks what the parts are said to be.
func (s *Server) complete(w http.ResponseWriter, r *http.Request, oid string) {
	var in struct {
		OID   string
		Parts []struct {
			PartNumber int
			ETag       string
		}
	}
	if !read(w, r, &in) {
		return
	}
	for i, p := range in.Parts {
		if p.PartNumber != i+1 || p.ETag != ETag(s.parts[oid][strconv.Itoa(i+1)]) {
			http.Error(w, "part "+strconv.Itoa(i+1)+" is another", http.StatusBadRequest)
			return
		}
	}
	if len(in.Parts) != len(s.parts[oid]) || in.OID != oid {
		http.Error(w, "there are other parts", http.StatusBadRequest)
		return
	}
	reply(w, map[string]any{})
}

// verify puts an object's parts together.
func (s *Server) verify(w http.ResponseWriter, r *http.Request) {
	var in struct {
		OID  string
		Size int64
	}
	if !read(w, r, &in) {
		return
	}
	var content []byte
	for n := 1; n <= len(s.parts[in.OID]); n++ {
		content = append(content, s.parts[in.OID][strconv.Itoa(n)]...)
	}
	if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != in.OID || int64(len(content)) != in.Size {
		http.Error(w, "the object is another", http.StatusBadRequest)
		return
	}
	s.stored[in.OID] = content
	reply(w, map[string]any{})
}

func (s *Server) commit(w http.ResponseWriter, r *http.Request, key string) {
	repo, ok := s.Repos[key]
	if !ok || r.Header.Get("Content-Type") != "application/x-ndjson" {
		refuse(w, http.StatusNotFound, "RepoNotFound", "Repository not found")
		return
	}
	for lines := json.NewDecoder(r.Body); ; {
		var in struct {
			Key   string
			Value struct{ Path, Content, Encoding, OID string }
		}
		if err := lines.Decode(&in); err == io.EOF {
			break
		} else if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		content, known := s.stored[in.Value.OID]
		var err error
		if in.Key == "file" {
			content, err = base64.StdEncoding.DecodeString(in.Value.Content)
			known = err == nil && in.Value.Encoding == "base64"
		}
		if in.Key != "header" && !known {
			http.Error(w, in.Value.Path+" was not uploaded", http.StatusBadRequest)
			return
		}
		if in.Key != "header" {
			repo.Files[in.Value.Path] = content
		}
	}
	reply(w, map[string]any{"success": true, "commitOid": repo.Commit(), "commitUrl": s.URL + "/" +
		strings.TrimPrefix(key, "models/") + "/commit/" + repo.Commit(), "hookOutput": ""})
}

// read reads a request's JSON, or answers that it is none.
func read(w http.ResponseWriter, r *http.Request, into any) bool {
	err := json.NewDecoder(r.Body).Decode(into)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
	return err == nil
}
