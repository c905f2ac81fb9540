package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/hub"
	"github.com/seed-d9ad8ee0/trinity/tinker/client"
	"github.com/seed-d9ad8ee0/trinity/tokenizer"
)

// openServer connects to the server or the hosted service that the configuration chose.
func (b *job) openServer(ctx context.Context) error {
	key := ""
	if b.backend.KeyEnv != "" {
		key, _ = b.LookupEnv(b.backend.KeyEnv)
	}
	c, err := client.Open(ctx, client.Options{BaseURL: b.backend.URL, APIKey: key, KeyName: b.backend.KeyEnv,
		Paused: b.progress.paused, Log: b.progress.warn})
	if err != nil {
		return err
	}
	b.opened(c.Close)
	b.service = c
	return nil
}

// llamaTokenizer is an ungated copy of the tokenizer of Llama 3, which all models of that family share.
const llamaTokenizer = "baseten/Meta-Llama-3-tokenizer"

// tokenizerFolder finds the tokenizer of a model that a server has: in a folder that the configuration names, in the cache, or on the hub.
func (b *job) tokenizerFolder(ctx context.Context) (string, error) {
	var tried []error
	names := []string{b.cfg.Model.ModelPath, b.cfg.Model.BaseModel()}
	if strings.HasPrefix(b.cfg.Model.BaseModel(), "meta-llama/Llama-3") {
		names = append(names, llamaTokenizer)
	}
	for i, name := range names {
		name, _, _ = strings.Cut(name, ":") // variants of a model, such as its context length, share the tokenizer
		if i == 1 && name == names[0] {
			continue
		}
		dir := b.Find(name)
		if st, err := os.Stat(dir); err == nil && st.IsDir() {
			return dir, nil
		}
		if b.Hub == nil || !hub.IsName(name) {
			tried = append(tried, fmt.Errorf("%s is no folder here", name))
			continue
		}
		dir, err := b.Hub.Tokenizer(ctx, name)
		if err == nil {
			return dir, nil
		}
		tried = append(tried, err)
	}
	return "", fmt.Errorf("run: no tokenizer for %s: %w; name a folder that has its tokenizer.json in model.model_path and the server's name in model.tinker.base_model, or set HF_TOKEN to a token that may read it",
		b.cfg.Model.BaseModel(), errors.Join(tried...))
}

// serverStops are the tokens that end a turn, to be named in requests: a server need not know the chat template that is used here.
func (b *job) serverStops(conf *tokenizer.Config) ([]int32, error) {
	if b.backend.Kind == config.Local {
		return nil, nil // the engine knows them
	}
	stops, err := b.model.template.StopIDs(b.model.tokenizer)
	if id, ok := b.model.tokenizer.TokenID(conf.EOSToken); ok && !slices.Contains(stops, id) {
		stops = append(stops, id)
	}
	return stops, err
}
