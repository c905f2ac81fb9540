package service

import (
	"context"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/run/internal/site"
	"github.com/seed-d9ad8ee0/trinity/tinker/client"
)

// Dialer connects to a server.
type Dialer struct {
	Site    site.Site
	Backend config.Backend
	Paused  func(client.Pause) // told why requests are held up, and when they are no longer
	Warn    func(text string)
	OnModel func(id string) error // told of models that are made; may be nil
	Spare   []string              // models of earlier starts, which may be unloaded to make room
}

// Dial opens a session.
func (d Dialer) Dial(ctx context.Context) (*client.Client, error) {
	key := ""
	if d.Backend.KeyEnv != "" {
		key, _ = d.Site.LookupEnv(d.Backend.KeyEnv)
	}
	o := client.Options{BaseURL: d.Backend.URL, APIKey: key, KeyName: d.Backend.KeyEnv, Paused: d.Paused,
		Log: d.Warn, OnModel: d.OnModel, Spare: d.Spare}
	if line, ok := d.Site.LookupEnv("TINKER_CREDENTIAL_CMD"); ok && line != "" {
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
