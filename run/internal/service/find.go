package service

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/hf/hub"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
	"github.com/seed-d9ad8ee0/trinity/run/internal/job"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/client"
)

// llamaTokenizer is an ungated copy of the tokenizer of Llama 3, which all models of that family share.
const llamaTokenizer = "baseten/Meta-Llama-3-tokenizer"

// FindModel finds the model that a run trains and reads its tokenizer. On a server the weights are the server's, and
// the tokenizer's files will do. read, if it is of the same folder, need not be read again; nil: nothing is read yet.
func FindModel(ctx context.Context, j *job.Job, read *job.Model) (*job.Model, error) {
	ctx, cancel := j.WhileWanted(ctx)
	defer cancel()
	name := j.Config.Model.BaseModel()
	find := FindTokenizer
	if j.Backend.Kind == config.Local {
		find = func(ctx context.Context, j *job.Job) (string, error) { return j.ModelFolder(ctx, name) }
	}
	dir, err := find(ctx, j)
	if err != nil {
		return nil, err
	}
	m, err := job.LoadModel(name, dir, read)
	if err == nil { // model.enable_thinking where that is open
		m.Thinking = j.Config.Explorer.RolloutModel.EnableThinking
	}
	return m, err
}

// FindTokenizer finds the folder with the tokenizer of a model that a server has: in a folder that the configuration
// names, in the hub's cache, where the server says or from itself, on the hub under the model's own name, or, for
// Llama 3, in an ungated copy.
func FindTokenizer(ctx context.Context, j *job.Job) (string, error) {
	name := j.Config.Model.BaseModel()
	var names []string
	for _, n := range []string{j.Config.Model.ModelPath, name} {
		n, _, _ = strings.Cut(n, ":") // variants of a model, such as its context length, share the tokenizer
		if !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	for _, n := range names {
		if at := j.Find(n); disk.IsFolder(at) || strings.EqualFold(filepath.Ext(at), ".gguf") {
			return j.ModelFolder(ctx, n)
		}
	}
	if j.Hub != nil {
		for _, n := range names {
			if dir, err := j.Hub.CachedTokenizer(ctx, n); err == nil {
				return dir, nil
			}
		}
	}
	if j.Offline {
		return "", fmt.Errorf("run: the tokenizer of %s is neither in a local folder nor in the hub's cache, and an "+
			"estimate asks no server", name)
	}
	said, err := serversTokenizer(ctx, j)
	if err != nil {
		return "", err
	}
	if disk.IsFolder(said) {
		return said, nil
	}
	if said != "" {
		if dir, err := fromServer(ctx, j, said); err == nil {
			return dir, nil
		}
		if !slices.Contains(names, said) {
			names = append([]string{said}, names...)
		}
	}
	if strings.HasPrefix(name, "meta-llama/Llama-3") {
		names = append(names, llamaTokenizer)
	}
	return fetchTokenizer(ctx, j, names)
}

// fromServer fetches a tokenizer from the server itself, if that serves tokenizers as a hub does. They have a cache of
// their own beside the hub's: what a server calls by a name need not be what the hub does.
func fromServer(ctx context.Context, j *job.Job, name string) (string, error) {
	if j.Hub == nil || !hub.IsName(name) {
		return "", fmt.Errorf("run: %s cannot be fetched from the server", name)
	}
	at, err := url.Parse(j.Backend.URL)
	if err != nil {
		return "", fmt.Errorf("run: %w", err)
	}
	o := j.Hub.Options
	o.Endpoint, o.Offline = strings.TrimRight(j.Backend.URL, "/"), false
	o.Cache = filepath.Join(filepath.Dir(o.Cache), "trinity-servers", strings.ReplaceAll(at.Host, ":", "_"))
	o.Token, _ = j.LookupEnv(j.Backend.KeyEnv)
	return hub.New(o).Tokenizer(ctx, name)
}

// fetchTokenizer takes the first of the names that the hub gives.
func fetchTokenizer(ctx context.Context, j *job.Job, names []string) (string, error) {
	var tried []error
	for _, n := range names {
		if j.Hub == nil || !hub.IsName(n) {
			tried = append(tried, fmt.Errorf("there is no folder %s", n))
			continue
		}
		dir, err := j.Hub.Tokenizer(ctx, n)
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
	if j.Gem {
		folder = ""
	}
	return "", fmt.Errorf("run: no tokenizer for %s: %w; %sset HF_TOKEN to a token that may read it",
		j.Config.Model.BaseModel(), errors.Join(tried...), folder)
}

// serversTokenizer asks the server where the model's tokenizer is, a folder or a name on the hub; "" if it does not
// say. Only a model tells, so one is made, in a session of its own, with which it ends.
func serversTokenizer(ctx context.Context, j *job.Job) (id string, err error) {
	say := func(p client.Pause) {
		if p.State != client.Active {
			fmt.Fprintf(j.Out, "waiting for the server to say which tokenizer %s has: %s\n", j.Config.Model.BaseModel(),
				p.Reason)
		}
	}
	c, err := dial(ctx, j, client.Options{Paused: say,
		Log: func(msg string) { fmt.Fprintln(j.Out, "warning:", foreign.Text(msg)) }})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	l := j.Config.LoRA()
	m, err := c.CreateModel(ctx, tinker.CreateModelRequest{BaseModel: j.Config.Model.BaseModel(),
		LoRA: tinker.LoRA{Rank: l.Rank, TrainAttn: l.TrainAttn, TrainMLP: l.TrainMLP, TrainUnembed: l.TrainUnembed}})
	if err != nil {
		return "", err
	}
	info, err := m.Info(ctx)
	return info.TokenizerID, err
}
