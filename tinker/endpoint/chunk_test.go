package endpoint

import (
	"encoding/json"
	"errors"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/param"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/speech"
)

// marshalled is the event of a piece as package json writes it.
func marshalled(t testing.TB, a *answer, p *piece) string {
	t.Helper()
	c := param.Object{"index": p.index, "logprobs": nil, "finish_reason": param.OrNull(p.finish)}
	if a.chat != nil {
		c["delta"] = p.delta()
	} else {
		c["text"] = p.Content
	}
	if a.logprobs {
		c["logprobs"] = a.details(p, nil, nil)
	}
	if a.tokenIDs {
		c["token_ids"] = p.ids()
	}
	raw, err := json.Marshal(a.chunk(c))
	if err != nil {
		t.Fatal(err)
	}
	return "data: " + string(raw) + "\n\n"
}

// FuzzChunks: an event that is put together by hand has the bytes that package json gives it.
func FuzzChunks(f *testing.F) {
	f.Add("Hello", "", "", "tiny", int8(0), byte(0))
	f.Add("a \"b\" \\ <c> & \u2028 \x00 \x7f é \xff 😀", "Hm.\n", "stop", "m<\"", int8(3), byte(0xff))
	f.Add("", "Hm", "length", "tinker://x/y", int8(1), byte(0x55))
	m := newTiny(f)
	f.Fuzz(func(t *testing.T, content, reasoning, finish, model string, n int8, flags byte) {
		r := &request{model: model, unique: "u", usage: flags&1 != 0, tokenIDs: flags&2 != 0, logprobs: flags&4 != 0}
		if flags&8 != 0 {
			r.chat = &conversation{}
		}
		a := &answer{request: r, model: &m.Model, id: "cmpl-" + model, created: 1e9}
		a.tail = a.chunkTail()
		p := &piece{choice: newChoice(r, m.Text, int(n)), finish: finish, Part: speech.Part{Content: content}}
		if r.chat != nil {
			p.Reasoning = reasoning
			if flags&16 != 0 {
				p.Calls = []speech.Call{{Name: content, Arguments: reasoning}}
			}
		}
		for i := range int32(n & 3) {
			p.drawn = append(p.drawn, tinker.Drawn{Token: i * 100, Logprob: -float32(i) / 3,
				Top: []tinker.TokenLogprob{{Token: 5, Logprob: -1}}})
		}
		got, err := a.appendChunk(nil, p)
		if want := marshalled(t, a, p); err != nil || string(got) != want {
			t.Errorf("%v\n%s, want\n%s", err, got, want)
		}
	})
}

// Few streams have an event for each token; many have the tokens of some time in one, and send together. The end never
// waits, nor does a token that is drawn late.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pacer
		result, resolve := tinker.NewFuture[tinker.SampleResponse]()
		s, add := tinker.NewStream(result)
		var all []*paced
		var drawing sync.WaitGroup
		drawing.Go(func() {
			for {
				select {
				case <-result.Done():
					return
				case <-time.After(100 * time.Microsecond):
					add(tinker.Drawn{})
				}
			}
		})
		waits := func(n int) time.Duration {
			for len(all) < n {
				all = append(all, p.begin())
			}
			return all[0].waits(t, s)
		}
		few, some, many, most := waits(1), waits(8), waits(80), waits(4000)
		if one := 7 * time.Millisecond; few > one || some > 8*one || many <= some || most > longestPace+one {
			t.Errorf("one stream waits %v, 8 streams %v, 80 %v, 4000 %v", few, some, many, most)
		}
		all[1].waits(t, s)
		if after := time.Since(time.Now().Truncate(longestPace)); after > time.Millisecond {
			t.Errorf("an event leaves %v after those of the others", after)
		}
		all[0].sent = time.Now().Add(-longestPace)
		late := time.Now()
		if _, err := all[0].next(t.Context(), s); err != nil || time.Since(late) > time.Millisecond {
			t.Errorf("%v: a token that is drawn late waits %v", err, time.Since(late))
		}
		resolve(tinker.SampleResponse{}, nil)
		if took := all[0].waits(t, s); took != 0 {
			t.Errorf("the end waits %v", took)
		}
		drawing.Wait()
		for _, one := range all {
			one.end()
		}
		if p.streams.Load() != 0 {
			t.Errorf("%d streams are left", p.streams.Load())
		}
	})
}

// The tokens that several samples draw in one step leave in that step, also those that come while the first is sent.
func TestPaceOfSeveralSamples(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		result, _ := tinker.NewFuture[tinker.SampleResponse]()
		s, add := tinker.NewStream(result)
		one := new(pacer).begin()
		add(tinker.Drawn{Sample: 0})
		if _, err := s.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		add(tinker.Drawn{Sample: 1})
		if took := one.waits(t, s); took > 2*eventShare {
			t.Errorf("a token waits %v for the next step", took)
		}
	})
}

// waits is the time from an event to the next one.
func (p *paced) waits(t *testing.T, s *tinker.Stream) time.Duration {
	t.Helper()
	p.sent = time.Now()
	if _, err := p.next(t.Context(), s); err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return time.Since(p.sent)
}
