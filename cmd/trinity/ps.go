package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"text/tabwriter"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
	"github.com/seed-d9ad8ee0/trinity/tinker/client"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// remote says which Tinker server a command uses.
type remote struct {
	BaseURL string `help:"The server; default: TINKER_BASE_URL, else the hosted service." placeholder:"URL"`
	APIKey  string `help:"The key; default: TINKER_API_KEY." placeholder:"KEY"`
	Format  string `short:"f" help:"Output format: table or json." enum:"table,json" default:"table"`
}

// dial opens a client of the server. It does not create a session there.
func (r *remote) dial(ctx context.Context, s *surroundings) (*client.Client, error) {
	log := func(msg string) { fmt.Fprintln(s.err, foreign.Text(msg)) }
	o := client.Options{BaseURL: r.BaseURL, APIKey: r.APIKey, KeyName: "--api-key", Log: log}
	if v, ok := s.env("TINKER_BASE_URL"); ok && o.BaseURL == "" {
		o.BaseURL = v
	}
	if v, ok := s.env("TINKER_API_KEY"); ok && o.APIKey == "" {
		o.APIKey, o.KeyName = v, "TINKER_API_KEY"
	}
	u, err := url.Parse(o.BaseURL)
	if err == nil && o.APIKey == "" && (u.Hostname() == "127.0.0.1" || u.Hostname() == "localhost") {
		o.APIKey = "tml-local" // any key will do there
	}
	if v, ok := s.env("TINKER_CREDENTIAL_CMD"); ok && v != "" {
		o.Credential = client.Command(v)
	}
	c, err := client.Open(ctx, o)
	if err != nil && o.APIKey == "" && o.Credential == nil {
		return nil, usageError{fmt.Errorf("trinity: %w", err)}
	}
	return c, err
}

// show prints v as JSON, or rows as a table.
func (r *remote) show(s *surroundings, v any, head string, rows []string) error {
	if r.Format == "json" {
		return printJSON(s.out, v)
	}
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, head)
	for _, row := range rows {
		fmt.Fprintln(w, foreign.Plain(row))
	}
	return w.Flush()
}

// printJSON prints v with indents.
func printJSON(out io.Writer, v any) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// psCmd lists the training runs of a server.
type psCmd struct {
	remote
	Limit int `help:"The most to list, latest first." default:"20"`
}

// Run implements the command.
func (c *psCmd) Run(s *surroundings) error {
	return with(s, &c.remote, func(ctx context.Context, t *client.Client) error {
		list, err := t.TrainingRuns(ctx, c.Limit, 0)
		if err != nil {
			return err
		}
		var rows []string
		for _, r := range list.TrainingRuns {
			rows = append(rows, fmt.Sprintf("%s\t%s\t%s\t%s\t%s", r.TrainingRunID, r.BaseModel, rank(r),
				ago(r.LastRequestTime), last(r)))
		}
		return c.show(s, list, "RUN\tBASE MODEL\tRANK\tLAST REQUEST\tLAST CHECKPOINT", rows)
	})
}

// with runs f with a client of the server.
func with(s *surroundings, r *remote, f func(context.Context, *client.Client) error) error {
	ctx, cancel := s.untilStop()
	defer cancel()
	t, err := r.dial(ctx, s)
	if err != nil {
		return err
	}
	defer t.Close()
	return f(ctx, t)
}

func rank(r wire.TrainingRun) string {
	if r.LoRARank == nil {
		return "-"
	}
	return fmt.Sprint(*r.LoRARank)
}

func last(r wire.TrainingRun) string {
	newest := r.LastCheckpoint
	if c := r.LastSamplerCheckpoint; c != nil && (newest == nil || c.Time.After(newest.Time)) {
		newest = c
	}
	if newest == nil {
		return "-"
	}
	return newest.CheckpointID
}

// ago says how long ago something was.
func ago(t time.Time) string {
	d := time.Since(t)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s ago", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	}
	return t.Local().Format(time.DateOnly)
}
