package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

const (
	weightsFile = "model.safetensors"
	indexFile   = "model.safetensors.index.json"
)

const configFile = "config.json"

// chooseModel is chooseDescribed for a model that has a tokenizer.
func (h *Hub) chooseModel(ctx context.Context, l Listing) ([]string, error) {
	files, err := h.chooseDescribed(ctx, l)
	if err == nil && !slices.Contains(l.Names, "tokenizer.json") {
		err = errors.New("there is no tokenizer.json, and no other form of a tokenizer is read; choose a repository " +
			"of the model that has one")
	}
	return files, err
}

// chooseDescribed takes the files beside config.json that describe the model, and its weights in safetensors. Other
// formats of the same weights, and folders below, stay where they are.
func (h *Hub) chooseDescribed(ctx context.Context, l Listing) ([]string, error) {
	if !slices.Contains(l.Names, configFile) {
		return nil, errors.New("there is no config.json" + remedy(l))
	}
	weights, err := chooseWeights(ctx, l)
	if err != nil {
		return nil, err
	}
	if err := h.check(ctx, l); err != nil {
		return nil, err
	}
	for _, n := range l.Names {
		if n != indexFile && isDescription(n) {
			weights = append(weights, n)
		}
	}
	return weights, nil
}

// check asks whether a model on the hub is worth its download. A model in the cache is checked by the reader of its
// folder.
func (h *Hub) check(ctx context.Context, l Listing) error {
	if h.Check == nil || l.Local {
		return nil
	}
	config, err := l.Read(ctx, configFile)
	if err != nil {
		return err
	}
	return h.Check(config)
}

// remedy says how the GGUF files of a repository are named.
func remedy(l Listing) string {
	if slices.ContainsFunc(l.Names, func(n string) bool { return path.Ext(n) == ".gguf" }) {
		return "; there are GGUF files: put hf.co/ before the name, and :Q4_K_M or another of them behind it"
	}
	return ""
}

// chooseWeights names the one file of weights, or the index and the shards that it names.
func chooseWeights(ctx context.Context, l Listing) ([]string, error) {
	switch {
	case slices.Contains(l.Names, weightsFile):
		return []string{weightsFile}, nil
	case !slices.Contains(l.Names, indexFile):
		return nil, fmt.Errorf("there is neither %s nor %s; weights in another format have to be converted to "+
			"safetensors%s", weightsFile, indexFile, remedy(l))
	}
	data, err := l.Read(ctx, indexFile)
	if err != nil {
		return nil, err
	}
	var index struct {
		Shards map[string]string `json:"weight_map"`
	}
	if err := json.Unmarshal(data, &index); err != nil {
		return nil, fmt.Errorf("%s: %w", indexFile, err)
	}
	names := slices.Compact(slices.Sorted(maps.Values(index.Shards)))
	for _, n := range names {
		if !slices.Contains(l.Names, n) {
			return nil, fmt.Errorf("%s is missing, which %s names", n, indexFile)
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s names no files", indexFile)
	}
	return append(names, indexFile), nil
}

// isDescription reports a file of settings or text of the model itself: tokenizer, templates, licence.
func isDescription(name string) bool {
	if dir := path.Dir(name); dir != "." && dir != "additional_chat_templates" {
		return false
	}
	switch path.Ext(name) {
	case ".json":
		return !strings.HasSuffix(name, ".index.json")
	case ".jinja", ".txt":
		return true
	}
	return false
}
