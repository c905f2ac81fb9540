package endpoint

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
// events of all streams leave together, between two steps. The first token of a stream never waits, nor does its end.
type pacer struct {
	streams atomic.Int64 // that are being sent
}

const (
	// eventShare is the time of one processor for which one event is sent. With it 64 streams of the shipped model have
	// about 95 % of the rate of whole answers (bench/bench-endpoint).
	eventShare = 6 * time.Millisecond
	// longestPace is the longest interval. A token waits at most twice the interval.
	longestPace = 200 * time.Millisecond
)

// interval is the time between two events of one stream.
func (p *pacer) interval() time.Duration {
	n := time.Duration(p.streams.Load())
	return min(n*eventShare/time.Duration(runtime.NumCPU()), longestPace)
}

// paced is the pace of one stream. end must be called.
type paced struct {
	pacer *pacer
	sent  time.Time // the last event
}

func (p *pacer) begin() *paced {
	p.streams.Add(1)
	return &paced{pacer: p}
}

func (p *paced) end() { p.pacer.streams.Add(-1) }

// next waits for the tokens of the stream's next event. It leaves with the first token after the next multiple of the
// interval, as in all streams, or an interval later.
func (p *paced) next(ctx context.Context, s *tinker.Stream) ([]tinker.Drawn, error) {
	every := p.pacer.interval()
	from := p.sent.Truncate(every).Add(every)
	return s.NextFrom(ctx, from, from.Add(every))
}
