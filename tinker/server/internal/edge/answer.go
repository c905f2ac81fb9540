package edge

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// Fail writes an error and returns its status.
func (s *Edge) Fail(w http.ResponseWriter, r *http.Request, err error) int {
	code := CodeOf(err)
	var se *StatusError
	if errors.As(err, &se) && se.After > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(se.After.Seconds())))
	}
	told := err
	if code == http.StatusInsufficientStorage && se == nil {
		told = Unwritable(err)
	}
	text := tinker.BriefText(told.Error())
	if code >= 500 && code != http.StatusServiceUnavailable { // 503 asks for a retry and may be frequent
		s.life.Log.Error("request failed", "path", r.URL.Path, "status", code, "error", tinker.BriefText(err.Error()))
	}
	Reply(w, code, wire.Detail{Detail: s.Hide(text)})
	return code
}

// CodeOf maps errors to HTTP statuses. It never returns 409: the SDK would repeat the request for five minutes.
func CodeOf(err error) int {
	var se *StatusError
	switch {
	case errors.As(err, &se):
		return se.Status
	case errors.Is(err, tinker.ErrUnusable):
		return http.StatusBadRequest
	case errors.Is(err, tinker.ErrNotFound):
		return http.StatusNotFound
	case errors.Is(err, tinker.ErrClosed), errors.Is(err, tinker.ErrBusy), errors.Is(err, context.Canceled):
		return http.StatusServiceUnavailable
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return http.StatusInsufficientStorage
	case errors.Is(err, wire.ErrMalformed), tinker.CategoryOf(err) == tinker.User:
		return http.StatusBadRequest
	}
	return http.StatusInternalServerError
}

// Reply writes JSON with its length: the SDK treats a 400 without a length as a network error.
func Reply(w http.ResponseWriter, code int, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		code, raw = http.StatusInternalServerError, []byte(`{"detail":"the answer cannot be encoded as JSON"}`)
	}
	Write(w, code, wire.JSON, raw)
}

func Write(w http.ResponseWriter, code int, kind string, raw []byte) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(raw)))
	w.WriteHeader(code)
	w.Write(raw)
}

// Unwritable is the error of a failed write as clients see it: the reason without the path.
func Unwritable(err error) error {
	var reason syscall.Errno
	if errors.As(err, &reason) {
		err = reason
	} else {
		err = errors.New("writing failed")
	}
	return fmt.Errorf("the server's data folder cannot be written (%w); accepted requests are safe, and the server "+
		"continues when there is space", err)
}

// AsUser makes a not-found error a User error.
func AsUser(err error) error {
	if tinker.CategoryOf(err) == tinker.User {
		return err
	}
	return tinker.Userf("%w", err)
}

// hider replaces the folders of this machine in texts for clients, the longest first.
func hider(private map[string]string) *strings.Replacer {
	folders := slices.SortedFunc(maps.Keys(private),
		func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	var pairs []string
	for _, f := range folders {
		if f != "" {
			pairs = append(pairs, f, private[f])
		}
	}
	return strings.NewReplacer(pairs...)
}

// Hide returns a text without the folders of this machine. The log has the original text.
func (s *Edge) Hide(text string) string { return s.hider.Replace(text) }
