package studio

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/seed-d9ad8ee0/trinity/studio/source"
)

// Notice is the JSON body of a webhook. Chat programs show the field Text.
type Notice struct {
	Event  string `json:"event"` // ended, stalled or inexact
	Run    string `json:"run"`
	Name   string `json:"name"`
	Path   string `json:"path"`
	State  string `json:"state"`
	Reason string `json:"reason"`
	Text   string `json:"text"`
}

// notices compares two looks at a run: what became true since. Of a run that was seen for the first time nothing is
// new.
func notices(e *entry, before, now summary, stalled, inexact string) []Notice {
	var list []Notice
	add := func(event, reason string) {
		name := e.line().Name
		list = append(list, Notice{Event: event, Run: e.id, Name: name, Path: e.run.Path(),
			State:  string(now.look.State),
			Reason: reason, Text: fmt.Sprintf("trinity: %s %s: %s", name, event, reason)})
	}
	if before.at.IsZero() {
		return nil
	}
	if before.look.State == source.Running && now.look.State != source.Running {
		add("ended", now.look.Why)
	}
	if stalled != "" && before.stalled == "" {
		add("stalled", stalled)
	}
	if inexact != "" && before.inexact == "" {
		add("inexact", inexact)
	}
	return list
}

// webhookTime is how long the receiver has for its answer.
const webhookTime = 10 * time.Second

// tell sends a notice; a receiver that does not take it is not asked again.
func (s *shelf) tell(ctx context.Context, n Notice) {
	data, err := json.Marshal(n)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), webhookTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.opts.Webhook, bytes.NewReader(data))
	if err == nil {
		req.Header.Set("Content-Type", "application/json")
		var res *http.Response
		if res, err = http.DefaultClient.Do(req); err == nil {
			res.Body.Close()
			if res.StatusCode >= 300 {
				err = fmt.Errorf("it answered %s", res.Status)
			}
		}
	}
	if err != nil {
		s.opts.Log.Warn("the webhook was not told", "event", n.Event, "run", n.Run, "error", err)
	}
}
