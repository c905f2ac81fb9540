package param

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/web"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Error is an error as OpenAI's clients read it.
type Error struct {
	Status  int           // of HTTP
	Type    string        // such as invalid_request_error
	Code    string        // such as model_not_found; "" is null
	Param   string        // the parameter that is wrong; "" is null
	Message string        // what is wrong, and the remedy
	After   time.Duration // Retry-After; 0 is none

	length *overlong // of a request beyond the context; else nil
}

// overlong are the lengths of a request beyond the context of its model, in tokens.
type overlong struct{ limit, prompt, answer int }

func (e *Error) Error() string { return e.Message }

// The types of errors that clients know.
const (
	InvalidRequest = "invalid_request_error"
	serverError    = "server_error"
)

// Invalid is an error of one parameter.
func Invalid(param, format string, args ...any) error {
	return &Error{Status: http.StatusBadRequest, Type: InvalidRequest, Param: param,
		Message: fmt.Sprintf(format, args...)}
}

// TooLong is the error of a request beyond the context of the model, in OpenAI's words, which clients search for.
func TooLong(limit, prompt, answer int) error {
	return &Error{Status: http.StatusBadRequest, Type: InvalidRequest, Code: "context_length_exceeded",
		Param: "messages", Message: fmt.Sprintf("This model's maximum context length is %d tokens. However, you "+
			"requested %d tokens (%d in the prompt, %d in the completion). Please reduce the length of the prompt or "+
			"of the completion.", limit, prompt+answer, prompt, answer), length: &overlong{limit, prompt, answer}}
}

// TooMany is the error of a text of which not all was encoded.
func TooMany(limit, least int) error {
	return &Error{Status: http.StatusBadRequest, Type: InvalidRequest, Code: "context_length_exceeded",
		Param: "messages", Message: fmt.Sprintf("This model's maximum context length is %d tokens. However, you "+
			"requested more than %d tokens. Please reduce the length of the prompt.", limit, least-1),
		length: &overlong{limit, least, 1}}
}

// retryAfter is the wait that a client is asked for when the server is busy.
const retryAfter = time.Second

// ErrorOf returns err in OpenAI's form.
func ErrorOf(err error) *Error {
	var e *Error
	var p *web.Problem
	text := ""
	if err != nil {
		text = tinker.BriefText(err.Error())
	}
	switch {
	case errors.As(err, &e):
		return e
	case errors.As(err, &p):
		e = &Error{Status: p.Status, Type: InvalidRequest, Message: text, After: p.After}
		if e.Status >= 500 {
			e.Type = serverError
		}
		return e
	case errors.Is(err, tinker.ErrNotFound):
		return &Error{Status: http.StatusNotFound, Type: InvalidRequest, Code: "model_not_found", Param: "model",
			Message: text}
	case errors.Is(err, tinker.ErrBusy):
		return &Error{Status: http.StatusTooManyRequests, Type: "rate_limit_error", Code: "rate_limit_exceeded",
			Message: text, After: retryAfter}
	case errors.Is(err, tinker.ErrClosed), errors.Is(err, tinker.ErrUnusable), errors.Is(err, context.Canceled):
		return &Error{Status: http.StatusServiceUnavailable, Type: serverError, Code: "unavailable", Message: text,
			After: retryAfter}
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Status: http.StatusGatewayTimeout, Type: "timeout_error", Code: "timeout", Message: text}
	case tinker.CategoryOf(err) == tinker.User:
		return &Error{Status: http.StatusBadRequest, Type: InvalidRequest, Message: text}
	}
	return &Error{Status: http.StatusInternalServerError, Type: serverError, Message: text}
}

// Body is the error as JSON.
func (e *Error) Body() Object {
	return Object{"error": Object{"message": e.Message, "type": e.Type, "param": OrNull(e.Param),
		"code": OrNull(e.Code)}}
}

func OrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// Write sends the error as the answer and returns its status.
func (e *Error) Write(w http.ResponseWriter) int { return e.write(w, e.Status, e.Body()) }

// WriteAnthropic is Write in Anthropic's form.
func (e *Error) WriteAnthropic(w http.ResponseWriter) int {
	return e.write(w, e.anthropicStatus(), e.Anthropic())
}

// WriteOllama is Write in Ollama's form.
func (e *Error) WriteOllama(w http.ResponseWriter) int { return e.write(w, e.Status, e.Ollama()) }

// Ollama is the error in Ollama's form.
func (e *Error) Ollama() Object { return Object{"error": e.Message} }

func (e *Error) write(w http.ResponseWriter, status int, body Object) int {
	if e.After > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(e.After.Seconds())))
	}
	Reply(w, status, body)
	return status
}

// Object is a JSON object.
type Object = map[string]any

// Reply sends JSON.
func Reply(w http.ResponseWriter, status int, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		status = http.StatusInternalServerError
		raw = []byte(`{"error":{"message":"the answer cannot be encoded as JSON","type":"server_error"}}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(raw)))
	w.WriteHeader(status)
	w.Write(raw) // an error means that the client is gone
}
