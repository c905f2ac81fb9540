package modelname

import (
	"fmt"
	"regexp"
	"strings"
)

// ollamaPrefix begins the name of a model in Ollama's store.
const ollamaPrefix = "ollama:"

// ollamaName is a name in Ollama's store (types/model/name.go of Ollama fb307609).
type ollamaName struct {
	host, namespace, model, tag string
}

// The rules of the parts of a name. None can begin with a dot, so they are safe as names of files.
var (
	ollamaHost      = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.:-]{0,349}$`)
	ollamaNamespace = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]{0,79}$`)
	ollamaModel     = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}$`)
)

// parseOllama reads [HOST/][NAMESPACE/]MODEL[:TAG] behind the prefix. The tag follows the last colon behind the last
// slash, so that a host may have a port.
func parseOllama(name string) (ollamaName, error) {
	rest := strings.TrimPrefix(name, ollamaPrefix)
	if _, behind, ok := strings.Cut(rest, "://"); ok {
		rest = behind
	}
	n := ollamaName{host: "registry.ollama.ai", namespace: "library", tag: "latest"}
	if at := strings.LastIndexByte(rest, ':'); at > strings.LastIndexByte(rest, '/') {
		rest, n.tag = rest[:at], rest[at+1:]
	}
	switch parts := strings.Split(rest, "/"); len(parts) {
	case 1:
		n.model = parts[0]
	case 2:
		n.namespace, n.model = parts[0], parts[1]
	case 3:
		n.host, n.namespace, n.model = parts[0], parts[1], parts[2]
	}
	if !ollamaHost.MatchString(n.host) || !ollamaNamespace.MatchString(n.namespace) ||
		!ollamaModel.MatchString(n.model) || !ollamaModel.MatchString(n.tag) {
		return n, fmt.Errorf("modelname: %q is not a name of Ollama's; names look like ollama:smollm2:135m or "+
			"ollama:hf.co/owner/name:Q4_K_M", name)
	}
	return n, nil
}

// String is the name as Ollama shows it.
func (n ollamaName) String() string {
	s := n.model + ":" + n.tag
	if n.namespace != "library" || n.host != "registry.ollama.ai" {
		s = n.namespace + "/" + s
	}
	if n.host != "registry.ollama.ai" {
		s = n.host + "/" + s
	}
	return s
}

// parts are the folders and the file of the manifest.
func (n ollamaName) parts() []string { return []string{n.host, n.namespace, n.model, n.tag} }
