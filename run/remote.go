package run

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
	"github.com/seed-d9ad8ee0/trinity/loop/remote"
	"github.com/seed-d9ad8ee0/trinity/tinker/client"
)

// openServer connects to the server or the hosted service that the configuration chose.
func (b *job) openServer(ctx context.Context) error {
	ctx, cancel := b.whileWanted(ctx)
	defer cancel()
	left := remote.ModelNotes{FS: b.fs, Path: filepath.Join(b.dir, "remote_models.json"), Server: b.backend.URL}
	spare, err := left.Read()
	if err != nil {
		return err
	}
	o := b.clientOptions(func(p client.Pause) { b.progress.Say(pauseText(p)) }, b.progress.Warn)
	if b.cfg.Mode.Trains() && b.cfg.Mode != config.Bench {
		o.OnModel, o.Spare = left.Add, spare
	}
	c, err := client.Open(ctx, o)
	if err != nil {
		return err
	}
	b.opened(c.Close)
	b.service, b.remote = c, c
	_, err = c.Capabilities(ctx) // from which the client learns whose server it is
	return err
}

func (b *job) dial(ctx context.Context, paused func(client.Pause), warn func(string)) (*client.Client, error) {
	return client.Open(ctx, b.clientOptions(paused, warn))
}

func (b *job) clientOptions(paused func(client.Pause), warn func(string)) client.Options {
	key := ""
	if b.backend.KeyEnv != "" {
		key, _ = b.LookupEnv(b.backend.KeyEnv)
	}
	o := client.Options{BaseURL: b.backend.URL, APIKey: key, KeyName: b.backend.KeyEnv, Paused: paused, Log: warn}
	if line, ok := b.LookupEnv("TINKER_CREDENTIAL_CMD"); ok && line != "" {
		o.Credential = client.Command(line)
	}
	return o
}

// serverStops are the tokens that end a turn, to be named in requests: a server need not know the chat template that
// is used here.
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
