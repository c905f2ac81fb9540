package openai

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// marshalled is the event of a piece as package json writes it.
func marshalled(t testing.TB, a *answer, p *piece) string {
	t.Helper()
	c := object{"index": p.index, "logprobs": nil, "finish_reason": orNull(p.finish)}
	if a.chat != nil {
		c["delta"] = p.delta()
	} else {
		c["text"] = p.content
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
		p := &piece{choice: newChoice(r, m.Text, int(n)), finish: finish, part: part{content: content}}
		if r.chat != nil {
			p.reasoning = reasoning
			if flags&16 != 0 {
				p.calls = []call{{name: content, arguments: reasoning}}
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

// Few streams have an event for each token; many have the tokens of some time in one. The first token and the end never
// wait.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pacer
		result, resolve := tinker.NewFuture[tinker.SampleResponse]()
		s, _ := tinker.NewStream(result)
		var all []*paced
		waits := func(n int) time.Duration {
			for len(all) < n {
				all = append(all, p.begin())
			}
			one := all[0]
			one.sent = time.Now()
			one.wait(t.Context(), s)
			return time.Since(one.sent)
		}
		if one := waits(1); one > 2*time.Millisecond {
			t.Errorf("one stream waits %v", one)
		}
		few, many, most := waits(8), waits(80), waits(4000)
		if few > 12*time.Millisecond || many <= few || most != longestPace {
			t.Errorf("8 streams wait %v, 80 %v, 4000 %v", few, many, most)
		}
		all[0].sent = time.Now().Add(-30 * time.Millisecond)
		all[0].wait(t.Context(), s)
		all[1].sent = time.Now().Add(-20 * time.Millisecond)
		if all[1].wait(t.Context(), s); time.Since(time.Now().Truncate(longestPace)) != 0 {
			t.Errorf("streams send at %v, not together", time.Now())
		}
		late := time.Now()
		all[0].sent = late.Add(-longestPace)
		if all[0].wait(t.Context(), s); time.Since(late) != 0 {
			t.Errorf("a token that is drawn late waits %v", time.Since(late))
		}
		first, begun := p.begin(), time.Now()
		first.wait(t.Context(), s)
		resolve(tinker.SampleResponse{}, nil)
		all[0].sent = time.Now()
		all[0].wait(t.Context(), s)
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		all[1].sent = time.Now()
		all[1].wait(gone, s)
		if took := time.Since(begun); took != 0 {
			t.Errorf("the first token, the end or a client that is gone waits %v", took)
		}
		first.end()
		for _, one := range all {
			one.end()
		}
		if p.streams.Load() != 0 {
			t.Errorf("%d streams are left", p.streams.Load())
		}
	})
}
