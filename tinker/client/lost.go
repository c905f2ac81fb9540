package client

import (
	"errors"
	"net/http"
	"regexp"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// goneModel is what servers say of a request for a model that they do not hold: SkyRL as the result of a request that
// it accepted, TuFT of a run that it does not know.
var goneModel = regexp.MustCompile(`(?i)\bmodel \S+ (is )?not loaded\b|\bunknown model\b|\bmodel not found\b`)

// lost makes a failed request for a model tinker.ErrLost if it failed because the server no longer has the model, or
// the request itself, so that nobody knows what the model has done.
func (c *Client) lost(model, kind string, err error) error {
	// which lacks the state, not the model
	if model == "" || err == nil || errors.Is(err, tinker.ErrLost) || kind == "LoadWeights" {
		return err
	}
	var status *StatusError
	gone := errors.Is(err, errLost) || errors.As(err, &status) &&
		(status.Status == http.StatusNotFound || goneModel.MatchString(status.Detail))
	var told *remote
	if !gone && errors.As(err, &told) {
		gone = goneModel.MatchString(told.text)
	}
	if !gone {
		return err
	}
	return serverf("client: model %s is gone from %s (%w): %w", model, c.base, tinker.ErrLost, err)
}

// intact refuses to go on with a model of a TuFT server behind a connection that broke: a server that was restarted
// has taken the model back to its last checkpoint of any kind, even one without the optimizer, and says nothing of it.
func (m *trainingClient) intact() error {
	if c := m.client; c.is(tuft) && c.breaks.Load() != m.breaks {
		return serverf("client: the connection to %s broke, and a restarted TuFT takes model %s back to its last "+
			"checkpoint, perhaps without its optimizer (%w)",
			c.base, m.id, tinker.ErrLost)
	}
	return nil
}

// full is what servers say that have no place for another adapter: SkyRL, and TuFT with its FSDP backend.
var full = regexp.MustCompile(`(?i)maximum number of lora adapters|lora slots for rank \d+ are in use`)

// noSession says that a request failed because the server does not know its session, which it has lost or ended.
func noSession(err error) bool {
	var status *StatusError
	return errors.As(err, &status) && status.Status == http.StatusNotFound &&
		strings.Contains(strings.ToLower(status.Detail), "session")
}
