package client

import (
	"errors"
	"net/http"
	"regexp"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// goneModel matches the errors of a request to a model that the server does not have: SkyRL's in the result of an
// accepted request, TuFT's for an unknown run.
var goneModel = regexp.MustCompile(`(?i)\bmodel \S+ (is )?not loaded\b|\bunknown model\b|\bmodel not found\b`)

// lost turns the error of a request to a model into tinker.ErrLost if the server no longer has the model, or no longer
// knows the request, so that the model's state is unknown.
func (c *Client) lost(model, kind string, err error) error {
	// it misses the state, not the model
	if model == "" || err == nil || errors.Is(err, tinker.ErrLost) || kind == "LoadWeights" {
		return err
	}
	var status *StatusError
	gone := errors.Is(err, errLost) || errors.As(err, &status) &&
		(status.Status == http.StatusNotFound || goneModel.MatchString(status.Detail))
	var told *remoteError
	if !gone && errors.As(err, &told) {
		gone = goneModel.MatchString(told.text)
	}
	if !gone {
		return err
	}
	return serverf("client: model %s is gone from %s (%w): %w", model, c.base, tinker.ErrLost, err)
}

// intact refuses to continue with a model of a TuFT server after a broken connection: a restarted server silently
// returns the model to its last checkpoint of any kind, even one without the optimizer.
func (m *trainingClient) intact() error {
	if c := m.client; c.is(tuft) && c.breaks.Load() != m.breaks {
		return serverf("client: the connection to %s broke, and a restarted TuFT returns model %s to its last "+
			"checkpoint, perhaps without its optimizer (%w)", c.base, m.id, tinker.ErrLost)
	}
	return nil
}

// full matches the errors of servers that have no room for another adapter: SkyRL, and TuFT with its FSDP backend.
var full = regexp.MustCompile(`(?i)maximum number of lora adapters|lora slots for rank \d+ are in use`)

// noSession reports whether a request failed because the server has lost or ended its session.
func noSession(err error) bool {
	var status *StatusError
	return errors.As(err, &status) && status.Status == http.StatusNotFound &&
		strings.Contains(strings.ToLower(status.Detail), "session")
}
