package run

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/hub"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/client"
)

// llamaTokenizer is an ungated copy of the tokenizer of Llama 3, which all models of that family share.
const llamaTokenizer = "baseten/Meta-Llama-3-tokenizer"

// tokenizerFolder finds the tokenizer of a model that a server has: in a folder that the configuration names, in the
// hub's cache, where the server says or from itself, on the hub under the model's own name, or, for Llama 3, in an
// ungated copy.
func (b *job) tokenizerFolder(ctx context.Context) (string, error) {
	name := b.cfg.Model.BaseModel()
	var names []string
	for _, n := range []string{b.cfg.Model.ModelPath, name} {
		n, _, _ = strings.Cut(n, ":") // variants of a model, such as its context length, share the tokenizer
		if !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	for _, n := range names {
		if dir := b.Find(n); isFolder(dir) {
			return dir, nil
		}
	}
	if b.Hub != nil {
		for _, n := range names {
			if dir, err := b.Hub.CachedTokenizer(ctx, n); err == nil {
				return dir, nil
			}
		}
	}
	if b.reckons {
		return "", fmt.Errorf("run: the tokenizer of %s is neither in a folder here nor in the hub's cache, and an "+
			"estimate asks no server", name)
	}
	said, err := b.serversTokenizer(ctx)
	if err != nil {
		return "", err
	}
	if isFolder(said) {
		return said, nil
	}
	if said != "" {
		if dir, err := b.fromServer(ctx, said); err == nil {
			return dir, nil
		}
		if !slices.Contains(names, said) {
			names = append([]string{said}, names...)
		}
	}
	if strings.HasPrefix(name, "meta-llama/Llama-3") {
		names = append(names, llamaTokenizer)
	}
	return b.fetchTokenizer(ctx, names)
}

// fromServer fetches a tokenizer from the server itself, if that serves tokenizers as a hub does. They have a cache of
// their own beside the hub's: what a server calls by a name need not be what the hub does.
func (b *job) fromServer(ctx context.Context, name string) (string, error) {
	if b.Hub == nil || !hub.IsName(name) {
		return "", fmt.Errorf("run: %s cannot be fetched from the server", name)
	}
	at, err := url.Parse(b.backend.URL)
	if err != nil {
		return "", fmt.Errorf("run: %w", err)
	}
	o := b.Hub.Options
	o.Endpoint, o.Offline = strings.TrimRight(b.backend.URL, "/"), false
	o.Cache = filepath.Join(filepath.Dir(o.Cache), "trinity-servers", strings.ReplaceAll(at.Host, ":", "_"))
	o.Token, _ = b.LookupEnv(b.backend.KeyEnv)
	return hub.New(o).Tokenizer(ctx, name)
}

// fetchTokenizer takes the first of the names that the hub gives.
func (b *job) fetchTokenizer(ctx context.Context, names []string) (string, error) {
	var tried []error
	for _, n := range names {
		if b.Hub == nil || !hub.IsName(n) {
			tried = append(tried, fmt.Errorf("%s is no folder here", n))
			continue
		}
		dir, err := b.Hub.Tokenizer(ctx, n)
		if err == nil {
			return dir, nil
		}
		if ctx.Err() != nil {
			return "", err
		}
		tried = append(tried, err)
	}
	folder := "name a folder that has its tokenizer.json in model.model_path and the server's name in " +
		"model.tinker.base_model, or "
	if b.gem {
		folder = ""
	}
	return "", fmt.Errorf("run: no tokenizer for %s: %w; %sset HF_TOKEN to a token that may read it",
		b.cfg.Model.BaseModel(), errors.Join(tried...), folder)
}

// serversTokenizer asks the server where the model's tokenizer is, a folder or a name on the hub; "" if it does not
// say. Only a model tells, so one is made, in a session of its own, with which it ends.
func (b *job) serversTokenizer(ctx context.Context) (id string, err error) {
	say := func(p client.Pause) {
		if p.State != client.Active {
			fmt.Fprintf(b.Out, "waiting for the server to say which tokenizer %s has: %s\n", b.cfg.Model.BaseModel(),
				p.Reason)
		}
	}
	c, err := b.dial(ctx, say, func(msg string) { fmt.Fprintln(b.Out, "warning:", msg) })
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	l := b.cfg.LoRA()
	m, err := c.CreateModel(ctx, tinker.CreateModelRequest{BaseModel: b.cfg.Model.BaseModel(),
		LoRA: tinker.LoRA{Rank: l.Rank, TrainAttn: l.TrainAttn, TrainMLP: l.TrainMLP, TrainUnembed: l.TrainUnembed}})
	if err != nil {
		return "", err
	}
	info, err := m.Info(ctx)
	return info.TokenizerID, err
}

func isFolder(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}
