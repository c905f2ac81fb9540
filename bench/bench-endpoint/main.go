// Command bench-endpoint measures OpenAI's interface of trinity serve: many streams at a time, the first token beside
// the engine's own, streams beside whole answers, and all of it beside llama.cpp's server and vLLM.
//
// -model names GGUF files. With -python, a Python with xllamacpp, llama.cpp's server is measured with them. With -vllm,
// a Python with vllm, and -folder, the same models as folders, vLLM is. go run ./bench/peers -make 0.6b makes random
// weights of a real shape; trinity convert makes a GGUF file of them.
//
// Needs: nothing; for other servers: Python with xllamacpp or vllm, and a model
// Takes: five minutes without other servers
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/bench/program"
	"github.com/seed-d9ad8ee0/trinity/engine"
)

// parts are what the program measures.
var parts = []string{"many", "first", "streams", "peers"}

func main() {
	b := &bench{ctx: context.Background()}
	binary := flag.String("trinity", "", "the program; empty builds bin/trinity")
	only := flag.String("only", strings.Join(parts, ","), "the parts to measure, separated by commas")
	flag.IntVar(&b.many, "many", 1000, "streams at a time of the part many")
	flag.IntVar(&b.trips, "trips", 300, "first tokens to measure")
	flag.IntVar(&b.turns, "turns", 15, "turns of streams and whole answers")
	flag.IntVar(&b.rounds, "rounds", 5, "rounds of streams beside another server")
	flag.StringVar(&b.python, "python", "", "Python with xllamacpp, to be measured beside")
	flag.StringVar(&b.vllm, "vllm", "", "Python with vllm, to be measured beside")
	models := flag.String("model", "", "GGUF files that all serve in turn, separated by commas")
	folders := flag.String("folder", "", "the same models as folders, for vLLM")
	flag.Parse()
	err := errors.New("give no arguments")
	if flag.NArg() == 0 {
		b.only = strings.Split(*only, ",")
		err = b.run(*binary, strings.Split(*models, ","), strings.Split(*folders, ","))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-endpoint:", err)
		os.Exit(1)
	}
}

// bench is one measurement of all parts.
type bench struct {
	ctx                        context.Context
	trinity                    program.Program
	only                       []string
	many, trips, turns, rounds int
	python, vllm               string
}

func (b *bench) does(part string) bool { return slices.Contains(b.only, part) }

// spare is the number of Go processors beyond those that compute, as in the server: an arriving request need not wait
// until the runtime preempts one.
const spare = 2

func (b *bench) run(binary string, models, folders []string) (err error) {
	for _, part := range b.only {
		if !slices.Contains(parts, part) {
			return fmt.Errorf("there is no part %q; choose from %q", part, parts)
		}
	}
	var remove func() error
	if b.trinity, remove, err = program.New(binary); err != nil {
		return err
	}
	defer remove()
	runtime.GOMAXPROCS(runtime.NumCPU() + spare)
	if err := b.shipped(); err != nil {
		return err
	}
	for i, model := range models {
		if model == "" || !b.does("peers") {
			continue
		}
		folder := ""
		if i < len(folders) {
			folder = folders[i]
		}
		if err := b.beside(model, folder); err != nil {
			return fmt.Errorf("%s: %w", model, err)
		}
	}
	return nil
}

// shipped measures the model that the program carries.
func (b *bench) shipped() error {
	if !b.does("many") && !b.does("first") && !b.does("streams") {
		return nil
	}
	ours, err := b.startOurs("", "examples/tiny/model")
	if err != nil {
		return err
	}
	defer ours.stop()
	if b.does("many") {
		err = ours.manyStreams(b.many)
	}
	if b.does("first") && err == nil {
		err = ours.firstTokens(b.trips)
	}
	if b.does("streams") && err == nil {
		err = ours.streamedAndWhole(64, b.turns, 4)
	}
	return err
}

// beside measures a model of the user's: the first token beside the engine's own, then all beside each of the other
// servers, one at a time.
func (b *bench) beside(model, folder string) error {
	ours, err := b.startOurs(model, model)
	if err != nil {
		return err
	}
	defer ours.stop()
	trips := max(10, b.trips/10)
	if err := ours.firstTokens(trips); err != nil {
		return err
	}
	if b.python != "" {
		peer, err := startPeer("llama.cpp's server", model, b.python, "bench/peers/llama_server.py", "--model", model)
		if err != nil {
			return err
		}
		peer.more = `,"ignore_eos":true,"top_k":0,"top_p":1,"min_p":0,"stream_options":{"include_usage":true}`
		err = ours.besidePeer(peer, trips, b.rounds)
		peer.stop()
		if err != nil {
			return err
		}
	}
	if b.vllm == "" || folder == "" {
		return nil
	}
	peer, err := startPeer("vLLM", folder, b.vllm, "bench/peers/vllm_server.py", "--model", folder,
		"--dtype", "bfloat16", "--max-model-len", "2048", "--gpu-memory-utilization", "0.3") // of main memory
	if err != nil {
		return err
	}
	defer peer.stop()
	peer.more = ours.more
	return ours.besidePeer(peer, trips, b.rounds)
}

// startOurs starts trinity serve with a model, "" for the shipped one, and opens an engine with it in this process.
// path is the model's folder or file.
func (b *bench) startOurs(model, path string) (*endpoint, error) {
	var flags []string
	if model != "" {
		whole, err := filepath.Abs(model)
		if err != nil {
			return nil, err
		}
		flags = []string{"--models", whole}
	}
	s := b.trinity.Server(flags...)
	if err := s.Start(); err != nil {
		return nil, err
	}
	l := &endpoint{name: "trinity", url: s.URL + "/v1", ctx: b.ctx, server: s, stop: s.Close,
		more: `,"ignore_eos":true,"return_token_ids":true,"stream_options":{"include_usage":true}`}
	name, err := firstModel(l.url)
	if err != nil {
		return nil, err
	}
	l.model = name
	l.alone, err = engine.Open(engine.Options{Dir: filepath.Join(b.trinity.Home, "alone"),
		Models: map[string]engine.Model{l.model: {Dir: path}}})
	if err != nil {
		return nil, err
	}
	l.stop = func() {
		s.Close()
		l.alone.Close() // nothing is saved
	}
	return l, nil
}
