package main

import (
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/load"
)

// manyStreams opens n streams and reads none of them until all answers are drawn. Each must have the tokens of a whole
// answer.
func (l *endpoint) manyStreams(n int) error {
	const seeds, tokens = 16, 48
	var want [seeds][]int32
	for i := range want {
		a, err := l.whole(i, tokens)
		if err != nil {
			return err
		}
		want[i] = a.ids
	}
	before, err := l.server.Resident()
	if err != nil {
		return err
	}
	bodies := make([]io.ReadCloser, n)
	var clients errgroup.Group
	for i := range n {
		clients.Go(func() (err error) {
			bodies[i], err = l.ask(i%seeds, tokens, true)
			return err
		})
	}
	if err := clients.Wait(); err != nil {
		return err
	}
	for _, name := range []string{`trinity_engine_queue_requests{work="sampling"}`, "trinity_engine_sampling_lanes"} {
		if err := l.server.AwaitMetric(name, 0); err != nil {
			return err
		}
	}
	after, err := l.server.Resident()
	if err != nil {
		return err
	}
	for i, body := range bodies {
		clients.Go(func() error {
			defer body.Close()
			a, err := read(body, time.Now(), true)
			if err == nil && !slices.Equal(a.ids, want[i%seeds]) {
				err = fmt.Errorf("stream %d has the tokens %v, want %v", i, a.ids, want[i%seeds])
			}
			return err
		})
	}
	if err := clients.Wait(); err != nil {
		return err
	}
	fmt.Printf("%d streams at a time, each complete and in order; the server grew by %d KiB each while nobody read\n",
		n, (after-before)/n)
	return nil
}

// together is the rate of n clients at a time, in tokens per second. Each asks for some answers one after the other.
func (l *endpoint) together(n, round, answers int, stream bool) (float64, error) {
	var clients errgroup.Group
	var sum atomic.Int64
	begun := time.Now()
	for i := range n {
		clients.Go(func() error {
			for j := range answers {
				ask := l.whole
				if stream {
					ask = l.stream
				}
				a, err := ask((round*answers+j)*n+i, answerTokens)
				if err != nil {
					return err
				}
				if a.tokens != answerTokens {
					return fmt.Errorf("an answer has %d tokens, want %d", a.tokens, answerTokens)
				}
				sum.Add(int64(a.tokens))
			}
			return nil
		})
	}
	err := clients.Wait()
	return float64(sum.Load()) / time.Since(begun).Seconds(), err
}

// middle is the median of rates.
func middle(rates []float64) float64 {
	var t load.Times
	for _, r := range rates {
		t.Add(time.Duration(r * 1e6))
	}
	return float64(t.At(.5)) / 1e6
}

// firstTokens measures the first token over HTTP and of an engine in this process in turn, so that other load on the
// machine meets both, with the same prompts.
func (l *endpoint) firstTokens(trips int) error {
	var over, own load.Times
	for i := range trips {
		a, err := l.stream(i, 1)
		if err != nil {
			return err
		}
		over.Add(a.first)
		first, err := l.engineFirst(i, a.prompt)
		if err != nil {
			return err
		}
		own.Add(first)
	}
	fmt.Printf("%s: first token over HTTP p50 %s, p90 %s; the engine's own p50 %s; difference of the p50 %s\n", l.model,
		load.Show(over.At(.5)), load.Show(over.At(.9)), load.Show(own.At(.5)), load.Show(over.At(.5)-own.At(.5)))
	return nil
}

// streamedAndWhole measures n clients at a time, whose answers are streams or whole, in turn. The ratio is the median
// of the ratios of neighbours, since the machine's speed changes meanwhile.
func (l *endpoint) streamedAndWhole(n, rounds, answers int) error {
	var rates [2][]float64
	var ratios []float64
	if _, err := l.together(n, 0, 1, true); err != nil { // warm
		return err
	}
	for round := range rounds {
		for i := range rates {
			kind := (round + i) % 2
			rate, err := l.together(n, 2*round+i+1, answers, kind == 0)
			if err != nil {
				return err
			}
			rates[kind] = append(rates[kind], rate)
		}
		ratios = append(ratios, rates[0][round]/rates[1][round])
	}
	fmt.Printf("%s: %d clients at a time, answers of %d tokens: streamed %.0f tokens/s, whole %.0f tokens/s, "+
		"median of %d ratios %.3f\n", l.model, n, answerTokens, middle(rates[0]), middle(rates[1]), rounds,
		middle(ratios))
	return nil
}

// engineFirst is the time to the first token of stream n without HTTP.
func (l *endpoint) engineFirst(n int, prompt []int32) (time.Duration, error) {
	ctx := l.ctx
	c, err := l.alone.SamplingClient(ctx, tinker.SamplingClientRequest{BaseModel: l.model})
	if err != nil {
		return 0, err
	}
	params, seed := tinker.DefaultSampling(), uint64(n)
	params.MaxTokens, params.Seed, params.NoStop = 1, &seed, true
	begun := time.Now()
	s, err := tinker.OpenStream(ctx, c, tinker.SampleRequest{Prompt: tinker.Text(prompt), NumSamples: 1,
		Params: params})
	if err != nil {
		return 0, err
	}
	if _, err := s.Next(ctx); err != nil {
		return 0, err
	}
	first := time.Since(begun)
	<-s.Result().Done()
	return first, nil
}
