package connect

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/bound"
)

// Ask asks a server of trinity at url about a model, or about its only one if name is "".
func Ask(ctx context.Context, url, key, name string) (Target, error) {
	t := Target{URL: strings.TrimRight(url, "/"), Key: key, Model: name}
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := t.call(ctx, http.MethodGet, "/v1/models", nil, &list); err != nil {
		return t, err
	}
	var names []string
	for _, m := range list.Data {
		names = append(names, m.ID)
	}
	if name == "" && len(names) == 1 {
		t.Model = names[0]
	}
	if t.Model == "" {
		return t, fmt.Errorf("start: %s has %d models; name one with --model: %s", t.URL, len(names),
			strings.Join(names, ", "))
	}
	if !slices.Contains(names, t.Model) {
		return t, fmt.Errorf("start: %s has no model %q; it has %s", t.URL, t.Model, strings.Join(names, ", "))
	}
	return t, t.describe(ctx)
}

// describe finds out what the model can.
func (t *Target) describe(ctx context.Context) error {
	var is struct {
		Capabilities []string `json:"capabilities"`
		Info         struct {
			Context int `json:"trinity.context_length"`
		} `json:"model_info"`
	}
	if err := t.call(ctx, http.MethodPost, "/api/show", object{"model": t.Model}, &is); err != nil {
		return err
	}
	if is.Info.Context < 1 {
		return fmt.Errorf("start: %s is no server of trinity: it does not say how long the context of %s is", t.URL,
			t.Model)
	}
	t.Context, t.Tools = is.Info.Context, slices.Contains(is.Capabilities, "tools")
	return nil
}

// Limits of a call.
const (
	longestCall = 30 * time.Second
	mostAnswer  = 8 << 20 // bytes
)

func (t *Target) call(ctx context.Context, method, path string, body, into any) error {
	ctx, cancel := context.WithTimeout(ctx, longestCall)
	defer cancel()
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, t.URL+path, bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("start: --url: %w; write it as http://127.0.0.1:8000", err)
	}
	req.Header.Set("Authorization", "Bearer "+t.Key)
	resp, data, err := bound.Of(mostAnswer).Do(http.DefaultClient, req)
	switch {
	case resp == nil:
		return fmt.Errorf("start: no server answers: %w; start one with trinity serve, or name it with --url", err)
	case err != nil:
		return fmt.Errorf("start: %s%s: %w", t.URL, path, err)
	case resp.StatusCode == http.StatusUnauthorized:
		return fmt.Errorf("start: %s needs a key of its own; set %s", t.URL, keyVariable)
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("start: %s%s: %s: %s", t.URL, path, resp.Status, data)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("start: %s%s: %w; is it a server of trinity?", t.URL, path, err)
	}
	return nil
}
