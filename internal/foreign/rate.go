package foreign

import (
	"fmt"
	"maps"
	"sync"
	"time"
)

const (
	perPeriod = 50 // lines of a kind
	period    = time.Minute
	mostKinds = 4096 // beyond them all share one allowance
)

// Rate bounds how many lines of a kind are written: 50 in a minute. Its zero value is ready to use.
type Rate struct {
	mu    sync.Mutex
	kinds map[string]*allowance
}

// allowance counts the bytes of a kind that were written since a time.
type allowance struct {
	since   time.Time
	written int
	left    int // out
}

// Allow reports whether one more line of a kind may be written now. more is to be said with it: that lines were or will
// be left out; "" is nothing.
func (r *Rate) Allow(kind string) (more string, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.of(kind)
	if now := time.Now(); now.Sub(a.since) >= period {
		if a.left > 0 {
			more = fmt.Sprintf("%d lines like this were left out", a.left)
		}
		*a = allowance{since: now}
	}
	if a.written == perPeriod {
		a.left++
		return "", false
	}
	a.written++
	if a.written == perPeriod {
		more = fmt.Sprintf("more lines like this are left out for up to %v", period)
	}
	return more, true
}

// of is the allowance of a kind. The caller holds the lock.
func (r *Rate) of(kind string) *allowance {
	if a := r.kinds[kind]; a != nil {
		return a
	}
	if r.kinds == nil {
		r.kinds = map[string]*allowance{}
	}
	if len(r.kinds) >= mostKinds {
		now := time.Now()
		maps.DeleteFunc(r.kinds, func(_ string, a *allowance) bool { return now.Sub(a.since) >= period })
	}
	if len(r.kinds) >= mostKinds {
		kind = ""
	}
	if r.kinds[kind] == nil {
		r.kinds[kind] = &allowance{}
	}
	return r.kinds[kind]
}

// kindOf is the beginning of a message, before what differs: "http: TLS handshake error from ADDRESS".
func kindOf(message string) string { return message[:min(len(message), 24)] }

// Limit returns a function that hands texts on as lines, of which those that begin alike are one kind of a [Rate]. nil
// gives nil.
func Limit(log func(string)) func(string) {
	if log == nil {
		return nil
	}
	var r Rate
	return func(text string) {
		more, ok := r.Allow(kindOf(text))
		switch {
		case ok && more != "":
			log(Line(text) + " (" + more + ")")
		case ok:
			log(Line(text))
		}
	}
}
