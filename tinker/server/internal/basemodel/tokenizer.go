package basemodel

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/edge"
)

// The SDK's get_tokenizer hands a name to transformers, which asks the Hugging Face hub, or the place that HF_ENDPOINT
// names. The tokenizers of base models are served here as a hub serves them, so that a client on any machine gets them
// with HF_ENDPOINT set to this server's address. The routes are the hub's: GET or HEAD
// /<repository>/resolve/<revision>/<file>, GET /api/models/<repository>[/revision/<revision>] and GET
// /api/models/<repository>/tree/<revision>/<folder>.

// LlamaRepo is the repository that the SDK requests for a model whose name begins with llamaNames.
const (
	LlamaRepo  = "thinkingmachineslabinc/meta-llama-3-instruct-tokenizer"
	llamaNames = "meta-llama/Llama-3"
)

// repoName matches the repository names of the hub.
var repoName = regexp.MustCompile(`^[A-Za-z0-9][\w.-]{0,95}(/[A-Za-z0-9][\w.-]{0,95})?$`)

// TokenizerID is the tokenizer_id of get_info: a repository name that transformers accepts and that the hub or this
// server has; "" if there is none.
func (s *Registry) TokenizerID(asked, base string) string {
	plain, _, _ := strings.Cut(asked, ":")
	switch {
	case s.HubNames[base] != "":
		return s.HubNames[base]
	case s.Tokenizers[base] == "":
		return ""
	case repoName.MatchString(plain):
		return plain
	case repoName.MatchString(base):
		return base
	}
	return flat(base)
}

// TokenizerAdvice is a message to clients: how get_tokenizer finds tokenizers that the hub does not have; "" if there
// are none.
func (s *Registry) TokenizerAdvice(c *edge.Call) string {
	for base := range s.Tokenizers {
		if s.HubNames[base] == "" {
			return "get_tokenizer() finds the tokenizers of this server's base models with HF_ENDPOINT=" +
				s.Edge.Origin(c.R) + " (and HF_TOKEN set to the key, if the server requires keys), set " +
				"before Python starts"
		}
	}
	return ""
}

// flat turns a path into a single name.
func flat(base string) string {
	return "trinity/" + strings.Trim(regexp.MustCompile(`[^\w.]+`).ReplaceAllString(base, "-"), "-.")
}

// tokenizerFolder is the folder of a repository's tokenizer. The SDK treats the third part of a name as a variant and
// leaves it out.
func (s *Registry) tokenizerFolder(repo string) (string, bool) {
	if dir, ok := s.Tokenizers[s.BaseName(repo)]; ok {
		return dir, true
	}
	begin := repo + "/"
	if repo == LlamaRepo {
		begin = llamaNames
	}
	found := map[string]bool{}
	for base, dir := range s.Tokenizers {
		if flat(base) == repo || s.HubNames[base] == repo || strings.HasPrefix(base, begin) {
			found[dir] = true
		}
	}
	for alias, base := range s.Aliases {
		if dir := s.Tokenizers[base]; dir != "" && strings.HasPrefix(alias, begin) {
			found[dir] = true
		}
	}
	for dir := range found {
		return dir, len(found) == 1
	}
	return "", false
}

// Resolve answers with one file of a tokenizer. Other requests go to other.
func (s *Registry) Resolve(w http.ResponseWriter, r *http.Request, other http.Handler) {
	repo, rest, ok := strings.Cut(r.PathValue("path"), "/resolve/")
	_, name, ok2 := strings.Cut(rest, "/")
	if !ok || !ok2 || !repoName.MatchString(repo) {
		other.ServeHTTP(w, r)
		return
	}
	files, ok := s.repository(w, r, repo)
	if !ok {
		return
	}
	content, ok := files.content[name]
	w.Header().Set("X-Repo-Commit", files.commit)
	if !ok {
		s.hubError(w, http.StatusNotFound, "EntryNotFound", "this repository has only the files of a tokenizer")
		return
	}
	sum := sha256.Sum256(content)
	w.Header().Set("ETag", strconv.Quote(hex.EncodeToString(sum[:])))
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

// Describe lists the files of a tokenizer, or those in its folder of chat templates, the only one.
func (s *Registry) Describe(w http.ResponseWriter, r *http.Request) {
	repo, _, _ := strings.Cut(r.PathValue("repo"), "/revision/")
	repo, rest, tree := strings.Cut(repo, "/tree/")
	files, ok := s.repository(w, r, repo)
	if !ok {
		return
	}
	if tree {
		_, folder, _ := strings.Cut(rest, "/")
		s.tree(w, files, folder)
		return
	}
	list := []map[string]string{}
	for _, name := range files.names {
		list = append(list, map[string]string{"rfilename": name})
	}
	edge.Reply(w, http.StatusOK, map[string]any{"id": repo, "sha": files.commit, "siblings": list})
}

// tree lists the files in a folder. transformers finds additional chat templates with it.
func (s *Registry) tree(w http.ResponseWriter, files tokenizerRepo, folder string) {
	var list []map[string]any
	for _, name := range files.names {
		if folder == path.Dir(name) {
			sum := sha256.Sum256(files.content[name])
			list = append(list, map[string]any{"type": "file", "path": name, "size": len(files.content[name]),
				"oid": hex.EncodeToString(sum[:20])})
		}
	}
	if list == nil {
		s.hubError(w, http.StatusNotFound, "EntryNotFound", "there is no such folder in this repository")
		return
	}
	edge.Reply(w, http.StatusOK, list)
}

// repository returns the tokenizer that a request names, or answers with an error. If keys are required, HF_TOKEN must
// be one.
func (s *Registry) repository(w http.ResponseWriter, r *http.Request, repo string) (tokenizerRepo, bool) {
	if s.Edge.Keyed() && s.Edge.Authenticate(r) == "" {
		s.hubError(w, http.StatusUnauthorized, "GatedRepo",
			"this server requires keys: set HF_TOKEN to the one in TINKER_API_KEY")
		return tokenizerRepo{}, false
	}
	dir, ok := s.tokenizerFolder(repo)
	if !ok {
		s.hubError(w, http.StatusNotFound, "RepoNotFound",
			fmt.Sprintf("%s is no base model of this server; unset HF_ENDPOINT to use the hub", repo))
		return tokenizerRepo{}, false
	}
	files, err := readTokenizer(dir)
	if err != nil {
		s.Edge.Fail(w, r, fmt.Errorf("server: the tokenizer of %s: %w", repo, err))
		return tokenizerRepo{}, false
	}
	return files, true
}

func (s *Registry) hubError(w http.ResponseWriter, code int, kind, text string) {
	w.Header().Set("X-Error-Code", kind)
	w.Header().Set("X-Error-Message", text)
	edge.Reply(w, code, map[string]string{"error": text})
}
