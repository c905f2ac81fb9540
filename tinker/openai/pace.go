package openai

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// pacer bounds how many events all streams together send in a second. Each costs some 30 µs of a processor on both
// sides (encoding, system calls, waking the reader), and interrupts the threads that compute a step together, so that
// all of them wait. Up to the bound every token has an event of its own, which leaves when it is drawn. Beyond it, as
// many streams of a small model reach it, an event has the tokens that were drawn since the stream's last one, and the
// events of all streams leave together. The first token of a stream never waits, nor does its end.
type pacer struct {
	streams atomic.Int64 // that are being sent
}

const (
	// eventShare is the time of one processor for which one event is sent. Twice as long gains 64 streams of the
	// shipped model another hundredth of their rate: the rest of their cost is how answers begin and end.
	eventShare = 3 * time.Millisecond
	// longestPace is the most that a token waits.
	longestPace = 100 * time.Millisecond
)

// interval is the time between two events of one stream.
func (p *pacer) interval() time.Duration {
	n := time.Duration(p.streams.Load())
	return min(n*eventShare/time.Duration(runtime.NumCPU()), longestPace)
}

// paced is the pace of one stream. end must be called.
type paced struct {
	pacer *pacer
	timer *time.Timer // nil before the first wait
	sent  time.Time   // the last event; zero before the first
}

func (p *pacer) begin() *paced {
	p.streams.Add(1)
	return &paced{pacer: p}
}

func (p *paced) end() {
	p.pacer.streams.Add(-1)
	if p.timer != nil {
		p.timer.Stop()
	}
}

// wait waits until the stream's next event may be sent. It returns early when all tokens are drawn or ctx ends.
func (p *paced) wait(ctx context.Context, s *tinker.Stream) {
	every := p.pacer.interval()
	left := min(time.Until(p.sent.Truncate(every).Add(every)), every) // to the next multiple of every, as all streams
	if left <= 0 {
		return
	}
	if p.timer == nil {
		p.timer = time.NewTimer(left)
	} else {
		p.timer.Reset(left)
	}
	select {
	case <-p.timer.C:
	case <-s.Result().Done():
	case <-ctx.Done():
	}
}
