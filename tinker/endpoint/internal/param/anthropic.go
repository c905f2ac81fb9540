package param

import (
	"fmt"
	"net/http"
)

// overloaded is the status with which Anthropic's servers ask for a retry.
const overloaded = 529

// anthropicKinds are the types of errors in Anthropic's interface by their status.
var anthropicKinds = map[int]string{
	http.StatusUnauthorized:          "authentication_error",
	http.StatusForbidden:             "permission_error",
	http.StatusNotFound:              "not_found_error",
	http.StatusRequestEntityTooLarge: "request_too_large",
	http.StatusTooManyRequests:       "rate_limit_error",
	http.StatusGatewayTimeout:        "timeout_error",
	overloaded:                       "overloaded_error",
}

// anthropicStatus is the status of an error in Anthropic's interface.
func (e *Error) anthropicStatus() int {
	if e.Status == http.StatusServiceUnavailable {
		return overloaded
	}
	return e.Status
}

// Anthropic is the error as JSON in Anthropic's form.
func (e *Error) Anthropic() Object {
	status := e.anthropicStatus()
	kind := anthropicKinds[status]
	switch {
	case kind != "":
	case status >= 500:
		kind = "api_error"
	default:
		kind = InvalidRequest
	}
	return Object{"type": "error", "error": Object{"type": kind, "message": e.anthropicText()}}
}

// anthropicText is the message. That of a request beyond the context has Anthropic's words, which clients read in order
// to shorten it.
func (e *Error) anthropicText() string {
	l := e.length
	switch {
	case l == nil:
		return e.Message
	case l.prompt >= l.limit:
		return fmt.Sprintf("prompt is too long: %d tokens > %d maximum", l.prompt, l.limit-1)
	}
	return fmt.Sprintf("input length and `max_tokens` exceed context limit: %d + %d > %d, decrease input length or "+
		"`max_tokens` and try again", l.prompt, l.answer, l.limit)
}
