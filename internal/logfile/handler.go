// Package logfile writes and follows log files in Trinity-RFT's format: one line per message,
//
//	LEVEL MM-DD HH:MM:SS [source] message key=value
//
// with the levels DEBUG, INFO, WARNING, ERROR and CRITICAL, in files that end with .log.
package logfile

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
)

// Critical is the level above [slog.LevelError].
const Critical = slog.Level(12)

// Level returns the level with a name, in any case, and whether there is one.
func Level(name string) (slog.Level, bool) {
	switch strings.ToUpper(name) {
	case "DEBUG":
		return slog.LevelDebug, true
	case "INFO":
		return slog.LevelInfo, true
	case "WARNING", "WARN":
		return slog.LevelWarn, true
	case "ERROR":
		return slog.LevelError, true
	case "CRITICAL", "FATAL":
		return Critical, true
	}
	return 0, false
}

func name(l slog.Level) string {
	switch {
	case l >= Critical:
		return "CRITICAL"
	case l >= slog.LevelError:
		return "ERROR"
	case l >= slog.LevelWarn:
		return "WARNING"
	case l >= slog.LevelInfo:
		return "INFO"
	}
	return "DEBUG"
}

// Handler is a [slog.Handler] that writes such lines.
type Handler struct {
	mu     *sync.Mutex
	out    io.Writer
	source string
	least  slog.Level
	attrs  string // of With, ready to be written
	group  string
}

// NewHandler returns a handler for messages of at least a level; source is the text in brackets.
func NewHandler(out io.Writer, source string, least slog.Level) *Handler {
	return &Handler{mu: new(sync.Mutex), out: out, source: source, least: least}
}

// Enabled implements slog.Handler.
func (h *Handler) Enabled(_ context.Context, l slog.Level) bool { return l >= h.least }

// Handle implements slog.Handler with one write per message. Every line of a longer message begins with the same head,
// and what others wrote is made fit for a log.
func (h *Handler) Handle(_ context.Context, r slog.Record) error {
	head := fmt.Sprintf("%s %s [%s] ", name(r.Level), r.Time.Format("01-02 15:04:05"), h.source)
	text := foreign.Plain(foreign.Cut(r.Message, foreign.MaxText)) + h.attrs
	r.Attrs(func(a slog.Attr) bool {
		text += h.attr(a)
		return true
	})
	text = head + strings.ReplaceAll(text, "\n", "\n"+head) + "\n"
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := io.WriteString(h.out, text)
	return err
}

func (h *Handler) attr(a slog.Attr) string {
	if a.Equal(slog.Attr{}) {
		return ""
	}
	value := foreign.Cut(fmt.Sprint(a.Value.Resolve()), foreign.MaxText)
	if strings.ContainsAny(value, " \t\n\"=") || foreign.Line(value) != value {
		value = fmt.Sprintf("%q", value)
	}
	return " " + h.group + a.Key + "=" + value
}

// WithAttrs implements slog.Handler.
func (h *Handler) WithAttrs(list []slog.Attr) slog.Handler {
	with := *h
	for _, a := range list {
		with.attrs += h.attr(a)
	}
	return &with
}

// WithGroup implements slog.Handler.
func (h *Handler) WithGroup(name string) slog.Handler {
	with := *h
	with.group += name + "."
	return &with
}
