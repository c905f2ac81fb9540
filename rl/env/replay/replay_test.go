package replay

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// board is a place: it adds what is played.
type board struct{ sum int }

// hall has boards, which may break.
type hall struct {
	ctx                 context.Context
	opened, freed, over []*board
	broken              int // plays that fail from now on
	noise               int // that a reset adds
	fixed               error
}

var (
	errLost    = errors.New("the board is lost")
	errMistake = errors.New("zero is no move")
)

func (h *hall) game() *Game[*board, int, int] {
	return &Game[*board, int, int]{
		From: "seed 3",
		Open: func() (*board, error) {
			h.opened = append(h.opened, &board{})
			return h.opened[len(h.opened)-1], nil
		},
		Reset: func(b *board) (int, error) { b.sum = 3 + h.noise; return b.sum, nil },
		Play: func(b *board, n int) (int, error) {
			if h.broken > 0 {
				h.broken--
				return 0, errLost
			}
			if n == 0 {
				return 0, errMistake
			}
			b.sum += n
			return b.sum, nil
		},
		Heard:    func(n int) string { return strings.Repeat("I", n) },
		Free:     func(b *board) { h.freed = append(h.freed, b) },
		End:      func(b *board) { h.over = append(h.over, b) },
		Context:  h.ctx,
		Pauses:   []time.Duration{0, time.Second, time.Minute},
		Lost:     func(err error) bool { return errors.Is(err, errLost) },
		Harmless: func(err error) bool { return errors.Is(err, errMistake) },
		Fixed:    h.fixed,
	}
}

func step(t *testing.T, e *Episode[*board, int, int], n, want int) {
	t.Helper()
	if got, err := e.Step(n); err != nil || got != want {
		t.Errorf("%d: %d, %v; want %d", n, got, err, want)
	}
}

func TestReplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hall{ctx: t.Context()}
		e, first, err := Begin(h.game())
		if err != nil || first != 3 {
			t.Fatal(first, err)
		}
		step(t, e, 1, 4)
		if _, err := e.Step(0); !errors.Is(err, errMistake) || len(h.opened) != 1 {
			t.Errorf("a mistake: %v, %d boards", err, len(h.opened))
		}
		began := time.Now()
		h.broken = 2 // the play, and its replay
		step(t, e, 2, 6)
		if took := time.Since(began); took != time.Minute+time.Second || len(h.opened) != 3 || len(h.over) != 2 {
			t.Errorf("it took %v and %d boards, of which %d are over", took, len(h.opened), len(h.over))
		}
		h.broken, h.noise = 1, 1
		_, err = e.Step(1)
		want := `played again from seed 3, action 0 of 2 is answered in another way, with "IIII"`
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a board that adds something else: %v", err)
		}
		h.fixed, h.noise = errors.New("no seeds"), 0
		e, _, _ = Begin(h.game())
		h.broken = 1
		if _, err := e.Step(1); !errors.Is(err, errLost) {
			t.Errorf("without replay: %v", err)
		}
		if _, err := e.Step(1); !errors.Is(err, h.fixed) {
			t.Errorf("and again: %v", err)
		}
	})
}

func TestForks(t *testing.T) {
	h := &hall{ctx: t.Context()}
	e, _, _ := Begin(h.game())
	step(t, e, 1, 4)
	f := e.Fork(h.game(), nil)
	g := f.Fork(h.game(), &board{sum: 4})
	step(t, f, 5, 9)
	step(t, e, 2, 6)
	step(t, g, 3, 7)
	if len(h.opened) != 2 {
		t.Errorf("%d boards, want one for the first fork and one for the replay", len(h.opened))
	}
	if at, has := f.At(); !has || at != h.opened[0] {
		t.Error("the first that plays on does not keep the board")
	}
	f.Leave()
	e.Abandon()
	if !slices.Equal(h.freed, h.opened[:1]) || !slices.Equal(h.over, h.opened[1:]) {
		t.Errorf("%v, %v", h.freed, h.over)
	}
}

// TestForgotten: the place of an episode that nobody has any more is given up.
func TestForgotten(t *testing.T) {
	h, over := &hall{ctx: t.Context()}, make(chan *board, 1)
	g := h.game()
	g.End = func(b *board) { over <- b }
	_, _, _ = Begin(g)
	for {
		runtime.GC()
		select {
		case <-over:
			return
		case <-t.Context().Done():
			t.Fatal("it is not given up")
		default:
		}
	}
}
