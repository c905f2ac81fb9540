package envtest

import (
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/rng"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
)

// scraps are parts of broken answers.
var scraps = []string{
	"", " ", "\n", `\boxed{`, `\boxed{}`, "}", "{", `\boxed`, `\fbox{3}`, "0", "-1", "1", "2 3", "1 1 1", "0 0 0 0",
	"99999999999999999999", "00", "1.5",
	"up", "UP", "A B", "AA", "reveal 0 0", "flag 0 0", "reveal 99 99", "a", "Zebra", "é", "\xff\xfe", "\x00", "٣",
	"\u00a0", "\x1c", ",",
	`\boxed{1}`, `\boxed{left}`, `\boxed{A C}`, `\boxed{1 1 a}`, `\boxed{\boxed{2}}`, "<PREV_PAGE>",
	`\boxed{<PREV_PAGE>}`,
}

// fuzz plays answers that are no moves, or nearly moves.
func (s Suite) fuzz(t *testing.T) {
	first := s.make(t)
	for episode := range 20 * s.Seeds {
		if episode%20 == 0 {
			s.reset(t, first, uint64(episode/20))
		}
		e := first.Fork()
		draw := rng.New(1).Stream("fuzz", episode)
		for range s.MaxTurns {
			a := broken(e, &draw)
			tr := s.step(t, e, a)
			if !(tr.Reward >= s.Low && tr.Reward <= s.High+1e-9) {
				t.Fatalf("action %q: the reward is %v, want it in [%v,%v]", a, tr.Reward, s.Low, s.High)
			}
			if tr.Done() {
				break
			}
		}
	}
}

// broken draws an answer: scraps, or a move with a byte changed or something put in.
func broken(e env.Env, draw env.Draws) string {
	if draw.IntN(4) == 0 {
		a := ""
		for range draw.IntN(6) {
			a += scraps[draw.IntN(len(scraps))]
		}
		return a
	}
	a := []byte(e.SampleAction(draw))
	at := draw.IntN(len(a))
	switch draw.IntN(4) {
	case 0:
		a[at] = byte(draw.IntN(256))
	case 1:
		return string(a[:at]) + scraps[draw.IntN(len(scraps))] + string(a[at:])
	case 2:
		return `\boxed{` + string(a[min(at, len(a)-1):])
	}
	return string(a)
}
