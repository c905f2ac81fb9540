package foreign

import (
	"context"
	"fmt"
	"log/slog"
)

// Handler returns a handler that passes records on whose message has at most MaxText bytes and whose values MaxLine
// each, and of warnings and errors whose messages begin alike no more than [Rate] allows. to quotes what controls a
// terminal, as the handlers of log/slog do.
func Handler(to slog.Handler) slog.Handler { return handler{to, &Rate{}} }

type handler struct {
	to   slog.Handler
	rate *Rate
}

// Enabled implements slog.Handler.
func (h handler) Enabled(ctx context.Context, l slog.Level) bool { return h.to.Enabled(ctx, l) }

// Handle implements slog.Handler.
func (h handler) Handle(ctx context.Context, r slog.Record) error {
	more, ok := "", true
	if r.Level >= slog.LevelWarn {
		more, ok = h.rate.Allow(kindOf(r.Message))
	}
	if !ok {
		return nil
	}
	bounded := slog.NewRecord(r.Time, r.Level, Cut(r.Message, MaxText), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		bounded.AddAttrs(cut(a))
		return true
	})
	if more != "" {
		bounded.AddAttrs(slog.String("note", more))
	}
	return h.to.Handle(ctx, bounded)
}

// cut bounds an attribute.
func cut(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindGroup:
		var list []slog.Attr
		for _, in := range v.Group() {
			list = append(list, cut(in))
		}
		v = slog.GroupValue(list...)
	case slog.KindString, slog.KindAny:
		v = slog.StringValue(Cut(fmt.Sprint(v), maxLine))
	}
	return slog.Attr{Key: a.Key, Value: v}
}

// WithAttrs implements slog.Handler.
func (h handler) WithAttrs(list []slog.Attr) slog.Handler {
	bounded := make([]slog.Attr, len(list))
	for i, a := range list {
		bounded[i] = cut(a)
	}
	return handler{h.to.WithAttrs(bounded), h.rate}
}

// WithGroup implements slog.Handler.
func (h handler) WithGroup(name string) slog.Handler { return handler{h.to.WithGroup(name), h.rate} }
