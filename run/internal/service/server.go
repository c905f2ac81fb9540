package service

import (
	"context"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/run/internal/job"
	"github.com/seed-d9ad8ee0/trinity/run/internal/jobdir"
	"github.com/seed-d9ad8ee0/trinity/tinker/client"
)

// openServer connects to the server or the hosted service.
func openServer(ctx context.Context, j *job.Job) error {
	ctx, cancel := j.WhileWanted(ctx)
	defer cancel()
	left := jobdir.ServerModels{FS: j.FS, Path: j.Dir.File("remote_models.json"), Server: j.Backend.URL}
	spare, err := left.Read()
	if err != nil {
		return err
	}
	o := client.Options{Log: j.Progress.Warn, Paused: func(p client.Pause) { j.Progress.Say(pauseText(p)) }}
	if j.Config.Mode.Trains() && j.Config.Mode != config.Bench {
		o.OnModel, o.Spare = left.Add, spare
	}
	c, err := dial(ctx, j, o)
	if err != nil {
		return err
	}
	j.Opened(c.Close)
	j.API, j.Server = c, c
	_, err = c.Capabilities(ctx) // from which the client learns whose server it is
	return err
}

// dial opens a session on the server of the backend.
func dial(ctx context.Context, j *job.Job, o client.Options) (*client.Client, error) {
	o.BaseURL, o.KeyName = j.Backend.URL, j.Backend.KeyEnv
	if o.KeyName != "" {
		o.APIKey, _ = j.LookupEnv(o.KeyName)
	}
	if line, ok := j.LookupEnv("TINKER_CREDENTIAL_CMD"); ok && line != "" {
		o.Credential = client.Command(line)
	}
	return client.Open(ctx, o)
}

// pauseText says why requests to the server are held up, or that they are no longer.
func pauseText(p client.Pause) string {
	text := "the server answers again"
	switch p.State {
	case client.Capacity:
		text = "waiting: the server has no room now"
	case client.RateLimited:
		text = "waiting: the server says that these are too many requests"
	case client.Billing:
		text = "waiting: the account's billing must be put in order"
	case client.Unreachable:
		text = "waiting for the server"
	}
	if p.Reason != "" {
		text += ": " + p.Reason
	}
	return text
}
