package hub

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
)

// kind is the kind of a repository, as the API and the cache write it.
type kind string

const (
	models   kind = "models"
	datasets kind = "datasets"
)

// repo is a repository at a revision.
type repo struct {
	kind     kind
	id       string // owner/name
	revision string // branch, tag or commit
}

// nameRule matches the owners and names that huggingface_hub accepts.
// A word without an owner, as the oldest repositories have, is a local path here.
var nameRule = regexp.MustCompile(`^([A-Za-z0-9_][A-Za-z0-9_.-]{0,94}[A-Za-z0-9_]/|` +
	`[A-Za-z0-9_]/)([A-Za-z0-9_][A-Za-z0-9_.-]{0,94}[A-Za-z0-9_]|[A-Za-z0-9_])$`)

var commitRule = regexp.MustCompile(`^[0-9a-f]{40}$`)

// dataFile ends names that mean files on this machine.
var dataFile = []string{".json", ".jsonl", ".csv", ".parquet", ".yaml", ".yml", ".txt", ".git", ".safetensors", ".gguf"}

// IsName reports whether s can be a repository's name, such as meta-llama/Llama-3.2-3B or openai/gsm8k@main.
func IsName(s string) bool {
	_, err := parse(models, s)
	return err == nil
}

func parse(k kind, s string) (repo, error) {
	id, revision, given := strings.Cut(s, "@")
	bad := !nameRule.MatchString(id) || strings.Contains(id, "--") || strings.Contains(id, "..")
	for _, end := range dataFile {
		bad = bad || strings.HasSuffix(id, end)
	}
	switch {
	case bad:
		return repo{}, fmt.Errorf("hub: %q is not a name on the hub; names look like openai/gsm8k", s)
	case !given:
		revision = "main"
	case revision == "" || !filepath.IsLocal(revision) || strings.ContainsAny(revision, "\\?#%:"):
		return repo{}, fmt.Errorf("hub: %q is not a revision of %s; give a branch, a tag or a commit", revision, id)
	}
	return repo{k, id, revision}, nil
}

// String is how messages name the repository.
func (r repo) String() string {
	what := "model "
	if r.kind == datasets {
		what = "data set "
	}
	if r.revision != "main" {
		return what + r.id + "@" + r.revision
	}
	return what + r.id
}

// folder is the repository's folder in the cache.
func (r repo) folder() string {
	return string(r.kind) + "--" + strings.ReplaceAll(r.id, "/", "--")
}

// page is the repository's path below the endpoint.
func (r repo) page() string {
	if r.kind == datasets {
		return "/datasets/" + r.id
	}
	return "/" + r.id
}
