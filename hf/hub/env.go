package hub

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
)

// FromEnv reads the variables that huggingface_hub knows: HF_HOME, HF_HUB_CACHE, HF_HUB_OFFLINE, HF_ENDPOINT, HF_TOKEN
// (else the file that `hf auth login` writes), with its defaults below home, the user's folder.
func FromEnv(lookup func(string) (string, bool), home string) Options {
	get := func(names ...string) string {
		for _, n := range names {
			if v, ok := lookup(n); ok && v != "" {
				return v
			}
		}
		return ""
	}
	path := func(p string) string {
		if rest, ok := strings.CutPrefix(p, "~"); ok && (rest == "" || os.IsPathSeparator(rest[0])) {
			return filepath.Join(home, rest)
		}
		return p
	}
	base := path(get("HF_HOME"))
	if base == "" {
		cache := path(get("XDG_CACHE_HOME"))
		cache = cmp.Or(cache, filepath.Join(home, ".cache"))
		base = filepath.Join(cache, "huggingface")
	}
	o := Options{
		Cache:    path(get("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE")),
		Endpoint: strings.TrimRight(get("HF_ENDPOINT"), "/"),
		Offline:  isTrue(get("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")),
		Token:    strings.TrimSpace(get("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")),
	}
	o.Cache = cmp.Or(o.Cache, filepath.Join(base, "hub"))
	if o.Token == "" {
		file := path(get("HF_TOKEN_PATH"))
		file = cmp.Or(file, filepath.Join(base, "token"))
		if data, err := os.ReadFile(file); err == nil {
			o.Token = strings.TrimSpace(string(data))
		}
	}
	return o
}

// isTrue reads a switch as Python does.
func isTrue(s string) bool {
	switch strings.ToUpper(s) {
	case "1", "ON", "YES", "TRUE":
		return true
	}
	return false
}
