package proxy

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/web"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint"
)

// handler answers programs over HTTP: OpenAI's interface below the URLs of rollouts, and requests about rollouts.
type handler struct {
	name    string // of the model
	text    *endpoint.Text
	now     func() time.Time
	log     func(string) // nil: errors are not logged
	calls   *rollouts
	bodies  *web.Bodies
	closing context.Context // ends when no more work is handed out
	close   context.CancelFunc
}

func newHandler(name string, text *endpoint.Text, now func() time.Time, log func(string)) *handler {
	d := &handler{name: name, text: text, now: now, log: log, calls: newRollouts(now),
		bodies: web.NewBodies(web.BodyOptions{Weigh: endpoint.WeighBody})}
	d.closing, d.close = context.WithCancel(context.Background())
	return d
}

// The types of errors that clients know.
const (
	invalidRequest = "invalid_request_error"
	serverError    = "server_error"
)

// problem is an error that the client hears of, in OpenAI's form.
func problem(status int, code, format string, args ...any) error {
	return &endpoint.Error{Status: status, Type: invalidRequest, Code: code, Message: fmt.Sprintf(format, args...)}
}

func bad(format string, args ...any) error {
	return problem(http.StatusBadRequest, "", format, args...)
}

// fail sends an error in OpenAI's form. What the model's service cannot do is 502: the proxy is not at fault.
func (d *handler) fail(w http.ResponseWriter, err error) {
	e := *endpoint.ErrorOf(err)
	var own *endpoint.Error
	switch {
	case errors.As(err, &own):
	case e.Status == http.StatusInternalServerError:
		e.Status, e.Code = http.StatusBadGateway, "bad_gateway"
	case e.Status == http.StatusGatewayTimeout:
		e.Code = "gateway_timeout"
	}
	if d.log != nil && e.Status >= 500 {
		d.log(e.Message)
	}
	e.Write(w)
}

// post serves a handler of package endpoint.
func (d *handler) post(h endpoint.Answerer) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := d.bodies.ReadWeighed(r, endpoint.MaxBody)
		if err == nil {
			err = h(r.Context(), w, "", body)
		}
		if err != nil {
			d.fail(w, err)
		}
	}
}

// session is the header that names the rollout of a call on the plain routes.
const session = "X-Session-ID"

// inSession serves the calls that name a rollout in their header, and leaves the others to plain.
func (d *handler) inSession(path string, plain http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if id := r.Header.Get(session); id != "" {
			d.model(w, r, id, path)
			return
		}
		plain(w, r)
	}
}

func health(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }

// models lists the model.
func (d *handler) models(w http.ResponseWriter, r *http.Request) {
	if endpoint.ForAnthropic(r) {
		d.sendModels(w, r, endpoint.New(&rolloutModels{handler: d}, d.now))
		return
	}
	reply(w, http.StatusOK, map[string]any{"object": "list",
		"data": []any{map[string]any{"id": d.name, "object": "model", "created": d.now().Unix(),
			"owned_by": "trinity"}}})
}

// reply sends JSON.
func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v) // an error means that the client is gone
}

// most bytes of the body of a request about rollouts.
const most = 4 << 20

// read reads a body, which is one JSON value.
func (d *handler) read(r *http.Request, v any) error {
	body, err := d.bodies.ReadWeighed(r, most)
	if err != nil {
		return err
	}
	return unmarshal(body, v)
}

// readIfAny reads a body that may be empty.
func (d *handler) readIfAny(r *http.Request, v any) error {
	body, err := d.bodies.ReadWeighed(r, most)
	if err != nil || len(bytes.TrimSpace(body)) == 0 {
		return err
	}
	return unmarshal(body, v)
}

func unmarshal(body []byte, v any) error {
	if err := json.Unmarshal(body, v); err != nil {
		return bad("the body is not the JSON that is expected: %v", err)
	}
	return nil
}

// random is a name of n random bytes.
func random(n int) string {
	b := make([]byte, n)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
