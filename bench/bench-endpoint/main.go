// Command bench-endpoint measures OpenAI's interface of trinity serve: many streams at a time, the first token beside
// the engine's own, and streams beside whole answers.
//
// Needs: nothing
// Takes: five minutes
package main

import (
	"context"
	"errors"
	"flag"
	"path/filepath"
	"runtime"

	"github.com/seed-d9ad8ee0/trinity/bench/program"
	"github.com/seed-d9ad8ee0/trinity/engine"
)

func main() {
	many := flag.Int("many", 1000, "streams at a time")
	trips := flag.Int("trips", 300, "first tokens to measure")
	turns := flag.Int("turns", 15, "turns of streams and whole answers")
	program.Main("bench-endpoint", func(p program.Program) error {
		runtime.GOMAXPROCS(runtime.NumCPU() + spare)
		l, err := open(context.Background(), p)
		if err != nil {
			return err
		}
		defer l.close()
		return errors.Join(l.manyStreams(*many), l.firstTokens(*trips), l.streamedAndWhole(64, *turns, 4))
	})
}

// spare is the number of Go processors beyond those that compute, as in the server: an arriving request need not wait
// until the runtime preempts one.
const spare = 2

// open starts trinity serve with the shipped model, and opens an engine with it in this process.
func open(ctx context.Context, p program.Program) (*endpoint, error) {
	s := p.Server()
	if err := s.Start(); err != nil {
		return nil, err
	}
	l := &endpoint{ctx: ctx, server: s, url: s.URL + "/v1"}
	var err error
	if l.model, err = firstModel(l.url); err != nil {
		return nil, err
	}
	l.alone, err = engine.Open(engine.Options{Dir: filepath.Join(p.Home, "alone"),
		Models: map[string]engine.Model{l.model: {Dir: "examples/tiny/model"}}})
	return l, err
}
