package jinja

import (
	"fmt"
	"math"
	"unicode/utf8"
)

// BudgetError is the error of a rendering that costs too much, inside an *Error. The budgets count work, never time:
// the same template with the same variables ends at the same place on every machine.
type BudgetError struct {
	Budget  string // "steps" or "bytes"
	Limit   int    // the budget
	Spender string // the kind of work that spent most of it
	Spent   int    // its share
}

// Error names the budget and what spent it.
func (e *BudgetError) Error() string {
	if e.Budget == "bytes" {
		return fmt.Sprintf("more than %d bytes of values made, %d of them by %s", e.Limit, e.Spent, e.Spender)
	}
	return fmt.Sprintf("more than %d steps: the template may not end; %d of them are %s", e.Limit, e.Spent, e.Spender)
}

// The cost of values in bytes, roughly as Go stores them.
const (
	slotBytes  = 16  // an element of a list
	pieceBytes = 48  // a string cut out of another, as an element of a list
	entryBytes = 96  // a key of a dict with its value
	scopeBytes = 384 // the variables of a loop's body or of a macro
)

// textPerStep is how many bytes of text one step looks at or copies.
const textPerStep = 32

// textSteps is the steps that going through n bytes of text takes.
func textSteps(n int) int { return n / textPerStep }

// spent is the cost of one kind of work.
type spent struct{ steps, bytes int }

// spend charges work of a kind to both budgets. Bytes are never given back, so
// the budget bounds what a rendering can hold at any time.
func (r *run) spend(kind string, steps, bytes int) error {
	if steps|bytes < 0 || r.steps > math.MaxInt-steps || r.bytes > math.MaxInt-bytes {
		steps, bytes = r.opts.MaxSteps+1, r.opts.MaxBytes+1
	}
	r.steps += steps
	r.bytes += bytes
	s := r.spenders[kind]
	if s == nil {
		s = &spent{}
		r.spenders[kind] = s
	}
	s.steps += steps
	s.bytes += bytes
	if r.steps > r.opts.MaxSteps {
		return r.exhausted("steps", r.opts.MaxSteps, func(s *spent) int { return s.steps })
	}
	if r.bytes > r.opts.MaxBytes {
		return r.exhausted("bytes", r.opts.MaxBytes, func(s *spent) int { return s.bytes })
	}
	return nil
}

func (r *run) exhausted(budget string, limit int, of func(*spent) int) error {
	e := &BudgetError{Budget: budget, Limit: limit}
	total := 0
	for kind, s := range r.spenders {
		n := of(s)
		total += n
		if n > e.Spent || n == e.Spent && kind < e.Spender {
			e.Spender, e.Spent = kind, n
		}
	}
	if rest := r.steps - total; budget == "steps" && rest > e.Spent {
		e.Spender, e.Spent = "expressions", rest
	}
	return e
}

// step charges one step of evaluating expressions.
func (r *run) step() error {
	r.steps++
	if r.steps > r.opts.MaxSteps {
		return r.exhausted("steps", r.opts.MaxSteps, func(s *spent) int { return s.steps })
	}
	return nil
}

// scanned charges going through n bytes of text.
func (r *run) scanned(kind string, n int) error {
	if n < textPerStep {
		return nil
	}
	return r.spend(kind, textSteps(n), 0)
}

// hashed charges looking a key up in a dict.
func (r *run) hashed(key Value) error {
	s, _ := key.(string)
	return r.scanned("keys", len(s))
}

// made charges a value that a function returned, the values in it aside.
func (r *run) made(kind string, v Value) error {
	switch v := v.(type) {
	case string:
		return r.spend(kind, textSteps(len(v)), len(v))
	case List:
		return r.spend(kind, len(v)/4, slotBytes*len(v))
	case Tuple:
		return r.spend(kind, len(v)/4, slotBytes*len(v))
	case *generator:
		return r.spend(kind, len(v.rest)/4, slotBytes*len(v.rest))
	}
	return nil
}

// taken charges the arguments of a function, which it may go through.
func (r *run) taken(kind string, a args) error {
	steps := len(a.named)
	for _, v := range a.pos {
		switch v := v.(type) {
		case string:
			steps += textSteps(len(v))
		case List:
			steps += len(v) / 4
		case Tuple:
			steps += len(v) / 4
		case *generator:
			steps += len(v.rest) / 4
		}
	}
	if steps == 0 {
		return nil
	}
	return r.spend(kind, steps, 0)
}

// keep charges the scopes that a macro holds on to. All others last as long as
// the body they belong to.
func (r *run) keep(s *scope) error {
	for ; s != nil && !s.kept; s = s.parent {
		s.kept = true
		if err := r.spend("scopes of macros", 1, scopeBytes); err != nil {
			return err
		}
	}
	return nil
}

// characters makes a list of the characters of a text.
func (r *run) characters(s string) ([]Value, error) {
	if err := r.spend("characters of a text", len(s)/4, 2*slotBytes*utf8.RuneCountInString(s)); err != nil {
		return nil, err
	}
	out := make([]Value, 0, utf8.RuneCountInString(s))
	for len(s) > 0 {
		_, n := utf8.DecodeRuneInString(s)
		out = append(out, s[:n])
		s = s[n:]
	}
	return out, nil
}

// maxEvals bounds how deep expressions are evaluated inside each other, macros
// included, so that no template exhausts the stack.
const maxEvals = 50_000
