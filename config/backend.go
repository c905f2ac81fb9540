package config

import (
	"fmt"
	"os"
	"strings"
)

// BackendKind is the sort of thing that trains and samples.
type BackendKind uint8

// The kinds of backend.
const (
	Local  BackendKind = iota // the engine in this process
	Server                    // a Tinker server at a given address
	Hosted                    // the hosted Tinker service
)

// String is "local engine", "server" or "hosted service".
func (k BackendKind) String() string {
	return [...]string{"local engine", "server", "hosted service"}[k]
}

// Backend names the service that a run trains on, and the reason.
type Backend struct {
	Kind   BackendKind
	URL    string // of a server
	KeyEnv string // the environment variable that holds the API key; empty when none is set
	Reason string // one line: what was chosen, why, and how to change it
}

// ChooseBackend decides where a run trains; the first rule that matches wins:
//
//	model.tinker.enable false                            the local engine
//	model.tinker.base_url: local, or a local model
//	folder and no base_url                               the local engine
//	model.tinker.base_url, else TINKER_BASE_URL          that server
//	TINKER_API_KEY, else TRINITY_API_KEY                 the hosted service
//	nothing                                              the local engine
//
// So a key in the environment never turns a local example into a paid run. getenv is os.LookupEnv in a program. A
// model counts as local when its path is a folder, or cannot be a name of the form owner/model.
func ChooseBackend(c *Config, getenv func(string) (string, bool)) (Backend, error) {
	return ChooseBackendAs(c, getenv, func(key, value string) string {
		if value == "" {
			return key
		}
		return key + ": " + value
	})
}

// ChooseBackendAs is ChooseBackend for a configuration that was not written as YAML: name says how its user sets a key
// to a value, or with the value "" only names the key.
func ChooseBackendAs(c *Config, getenv func(string) (string, bool), name func(key, value string) string) (Backend,
	error) {
	const url, rank = "model.tinker.base_url", "model.tinker.rank"
	b := choose(c, getenv, name)
	if b.Kind == Local {
		return b, nil
	}
	switch {
	case c.Model.Tinker.Rank == 0:
		return b, fmt.Errorf("config: %s is 0, which trains all weights, but the run goes to the %s, which trains "+
			"adapters; give a rank such as 32, or %s", name(rank, ""), b.Kind, name(url, "local"))
	case c.Model.BaseDtype != "":
		return b, fmt.Errorf("config: model.base_dtype is %s, but the run goes to the %s, which chooses the dtype of "+
			"its weights (trinity serve --base-dtype); leave it out", c.Model.BaseDtype, b.Kind)
	case c.Model.RandomInit:
		return b, fmt.Errorf("config: model.random_init is true, but the run goes to the %s, which starts from its "+
			"own weights; remove it, or give %s", b.Kind, name(url, "local"))
	}
	return b, nil
}

func choose(c *Config, getenv func(string) (string, bool), name func(key, value string) string) Backend {
	t, model := &c.Model.Tinker, c.Model.BaseModel()
	keyEnv := firstSet(getenv, "TINKER_API_KEY", "TRINITY_API_KEY")
	const key = "model.tinker.base_url"
	url, local := name(key, ""), name(key, "local")
	switch {
	case !t.Enable:
		return Backend{Reason: "training on the local engine (model.tinker.enable is false); set it to true to use a " +
			"Tinker server or the hosted service"}
	case strings.EqualFold(t.BaseURL, "local"):
		return Backend{Reason: fmt.Sprintf("training on the local engine (%s is local); remove it to let the model or "+
			"the environment decide", url)}
	case t.BaseURL == "" && isLocalModel(model):
		return Backend{Reason: fmt.Sprintf("training on the local engine (%s is a local folder); set %s to use a "+
			"server", model, url)}
	case t.BaseURL != "":
		return Backend{Server, t.BaseURL, keyEnv, fmt.Sprintf("training on the server %s (%s); set %s for the local "+
			"engine", t.BaseURL, url, local)}
	}
	if at, _ := getenv("TINKER_BASE_URL"); at != "" {
		return Backend{Server, at, keyEnv, fmt.Sprintf("training on the server %s (TINKER_BASE_URL); set %s for the "+
			"local engine", at, local)}
	}
	if keyEnv != "" {
		return Backend{Hosted, "", keyEnv, fmt.Sprintf("training on the hosted Tinker service (%s is set), which "+
			"costs money; set %s for the local engine", keyEnv, local)}
	}
	return Backend{Reason: fmt.Sprintf("training on the local engine (no server and no key is given); set "+
		"TINKER_API_KEY for the hosted service, or %s for a server", url)}
}

// firstSet returns the first of the names whose variable is not empty.
func firstSet(getenv func(string) (string, bool), names ...string) string {
	for _, name := range names {
		if v, _ := getenv(name); v != "" {
			return name
		}
	}
	return ""
}

// isLocalModel reports whether a model's path is a folder here, or is written as only a path can be.
func isLocalModel(path string) bool {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return true
	}
	for _, prefix := range []string{"/", "./", "../", "~", `.\`, `..\`} {
		if strings.HasPrefix(path, prefix) {
			return true
		}
	}
	return strings.Count(path, "/") > 1 || path == "." || path == ".."
}
