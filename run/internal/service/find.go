package service

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/hf/hub"
	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
	"github.com/seed-d9ad8ee0/trinity/run/internal/base"
	"github.com/seed-d9ad8ee0/trinity/run/internal/site"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/client"
)

// llamaTokenizer is an ungated copy of the tokenizer of Llama 3, which all models of that family share.
const llamaTokenizer = "baseten/Meta-Llama-3-tokenizer"

// Finder finds the folder of the model that a run trains.
type Finder struct {
	Site    site.Site
	Config  *config.Config
	Backend config.Backend
	Offline bool // no server is asked, which could cost money
	Gem     bool // of trinity gem, whose keys have other names
}

// Model finds the model and reads its tokenizer. On a server the weights are the server's, and the tokenizer's files
// will do. read, if it is of the same folder, need not be read again; nil: nothing is read yet.
func (f Finder) Model(ctx context.Context, read *base.Model) (*base.Model, error) {
	ctx, cancel := f.Site.WhileWanted(ctx)
	defer cancel()
	name := f.Config.Model.BaseModel()
	find := f.Tokenizer
	if f.Backend.Kind == config.Local {
		find = func(ctx context.Context) (string, error) { return f.Site.Model(ctx, name) }
	}
	dir, err := find(ctx)
	if err != nil {
		return nil, err
	}
	m, err := base.Load(name, dir, read)
	if err == nil { // model.enable_thinking where that is open
		m.Thinking = f.Config.Explorer.RolloutModel.EnableThinking
	}
	return m, err
}

// Tokenizer finds the folder with the tokenizer of a model that a server has: in a folder that the configuration names,
// in the hub's cache, where the server says or from itself, on the hub under the model's own name, or, for Llama 3, in
// an ungated copy.
func (f Finder) Tokenizer(ctx context.Context) (string, error) {
	name := f.Config.Model.BaseModel()
	var names []string
	for _, n := range []string{f.Config.Model.ModelPath, name} {
		n, _, _ = strings.Cut(n, ":") // variants of a model, such as its context length, share the tokenizer
		if !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	for _, n := range names {
		if at := f.Site.Find(n); isFolder(at) || strings.EqualFold(filepath.Ext(at), ".gguf") {
			return f.Site.Model(ctx, n)
		}
	}
	if f.Site.Hub != nil {
		for _, n := range names {
			if dir, err := f.Site.Hub.CachedTokenizer(ctx, n); err == nil {
				return dir, nil
			}
		}
	}
	if f.Offline {
		return "", fmt.Errorf("run: the tokenizer of %s is neither in a local folder nor in the hub's cache, and an "+
			"estimate asks no server", name)
	}
	said, err := f.serversTokenizer(ctx)
	if err != nil {
		return "", err
	}
	if isFolder(said) {
		return said, nil
	}
	if said != "" {
		if dir, err := f.fromServer(ctx, said); err == nil {
			return dir, nil
		}
		if !slices.Contains(names, said) {
			names = append([]string{said}, names...)
		}
	}
	if strings.HasPrefix(name, "meta-llama/Llama-3") {
		names = append(names, llamaTokenizer)
	}
	return f.fetchTokenizer(ctx, names)
}

// fromServer fetches a tokenizer from the server itself, if that serves tokenizers as a hub does. They have a cache of
// their own beside the hub's: what a server calls by a name need not be what the hub does.
func (f Finder) fromServer(ctx context.Context, name string) (string, error) {
	if f.Site.Hub == nil || !hub.IsName(name) {
		return "", fmt.Errorf("run: %s cannot be fetched from the server", name)
	}
	at, err := url.Parse(f.Backend.URL)
	if err != nil {
		return "", fmt.Errorf("run: %w", err)
	}
	o := f.Site.Hub.Options
	o.Endpoint, o.Offline = strings.TrimRight(f.Backend.URL, "/"), false
	o.Cache = filepath.Join(filepath.Dir(o.Cache), "trinity-servers", strings.ReplaceAll(at.Host, ":", "_"))
	o.Token, _ = f.Site.LookupEnv(f.Backend.KeyEnv)
	return hub.New(o).Tokenizer(ctx, name)
}

// fetchTokenizer takes the first of the names that the hub gives.
func (f Finder) fetchTokenizer(ctx context.Context, names []string) (string, error) {
	var tried []error
	for _, n := range names {
		if f.Site.Hub == nil || !hub.IsName(n) {
			tried = append(tried, fmt.Errorf("there is no folder %s", n))
			continue
		}
		dir, err := f.Site.Hub.Tokenizer(ctx, n)
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
	if f.Gem {
		folder = ""
	}
	return "", fmt.Errorf("run: no tokenizer for %s: %w; %sset HF_TOKEN to a token that may read it",
		f.Config.Model.BaseModel(), errors.Join(tried...), folder)
}

// serversTokenizer asks the server where the model's tokenizer is, a folder or a name on the hub; "" if it does not
// say. Only a model tells, so one is made, in a session of its own, with which it ends.
func (f Finder) serversTokenizer(ctx context.Context) (id string, err error) {
	say := func(p client.Pause) {
		if p.State != client.Active {
			fmt.Fprintf(f.Site.Out, "waiting for the server to say which tokenizer %s has: %s\n",
				f.Config.Model.BaseModel(),
				p.Reason)
		}
	}
	d := Dialer{Site: f.Site, Backend: f.Backend, Paused: say,
		Warn: func(msg string) { fmt.Fprintln(f.Site.Out, "warning:", foreign.Text(msg)) }}
	c, err := d.Dial(ctx)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	l := f.Config.LoRA()
	m, err := c.CreateModel(ctx, tinker.CreateModelRequest{BaseModel: f.Config.Model.BaseModel(),
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
