package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/load"
)

var (
	endpointFull   = flag.Bool("endpoint.full", false, "measure OpenAI's interface, not only check it")
	endpointOnly   = flag.String("endpoint.only", "", "measure only this: first (token), streams or peers")
	endpointTrips  = flag.Int("endpoint.trips", 300, "first tokens to measure")
	endpointPython = flag.String("endpoint.python", "", "Python with xllamacpp, to be measured beside")
	endpointModel  = flag.String("endpoint.model", "", "GGUF files that all serve in turn, separated by commas")
	endpointVLLM   = flag.String("endpoint.vllm", "", "Python with vllm, to be measured beside")
	endpointFolder = flag.String("endpoint.folder", "", "the same models as folders, for vLLM")
	endpointRounds = flag.Int("endpoint.rounds", 5, "rounds of streams beside another server")
)

// endpointLoad puts one server of OpenAI's interface under load.
type endpointLoad struct {
	t     *testing.T
	name  string
	url   string // with /v1
	model string
	more  string // further parameters, with a comma before them

	stop   func()  // ends the server, of another's
	prompt []int32 // of a stream that was read alone, if more asks for token ids
}

// answerTokens is the length of an answer under load.
const answerTokens = 128

// request sends a completion. With stream, first is the time to its first text.
func (l *endpointLoad) request(n, most int, stream bool) (first time.Duration, tokens int) {
	body := fmt.Sprintf(`{"model":%q,"prompt":"Question %d: what is the sum of 12 and 30? Answer:","max_tokens":%d,`+
		`"temperature":1,"seed":%d,"stream":%v%s}`, l.model, n, most, n, stream, l.more)
	begun := time.Now()
	resp, err := http.Post(l.url+"/completions", "application/json", strings.NewReader(body))
	if err != nil {
		l.t.Error(err)
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		raw, err := io.ReadAll(resp.Body)
		l.t.Errorf("%s: %s %s %v", l.name, resp.Status, raw, err)
		return
	}
	if !stream {
		var whole struct {
			Usage struct {
				Completion int `json:"completion_tokens"`
			}
		}
		if err := json.NewDecoder(resp.Body).Decode(&whole); err != nil {
			l.t.Error(err)
		}
		return 0, whole.Usage.Completion
	}
	first, tokens, prompt := l.read(resp.Body, begun)
	if most == 1 {
		l.prompt = prompt
	}
	return first, tokens
}

// endpointEvent is what is read of an event.
type endpointEvent struct {
	Choices []struct {
		Text string
		IDs  []int32 `json:"token_ids"`
	}
	Prompt []int32 `json:"prompt_token_ids"`
	Usage  struct {
		Completion int `json:"completion_tokens"`
	}
}

// read reads a stream that was asked for at begun. It decodes the events up to the first text and the one with the
// usage, since it takes its time from the same processors.
func (l *endpointLoad) read(body io.Reader, begun time.Time) (first time.Duration, tokens int, prompt []int32) {
	done, usage := false, []byte(`"completion_tokens"`)
	for lines := bufio.NewScanner(body); lines.Scan(); {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if done = done || string(data) == "[DONE]"; !ok || done || first > 0 && !bytes.Contains(data, usage) {
			continue
		}
		var e endpointEvent
		if err := json.Unmarshal(data, &e); err != nil {
			l.t.Errorf("%s: %v: %s", l.name, err, data)
		}
		if e.Prompt != nil {
			prompt = e.Prompt
		}
		for _, c := range e.Choices {
			if first == 0 && (c.Text != "" || len(c.IDs) > 0) {
				first = time.Since(begun)
			}
		}
		tokens = max(tokens, e.Usage.Completion)
	}
	if !done {
		l.t.Errorf("%s: a stream has no end", l.name)
	}
	return first, tokens, prompt
}

// together is the rate of n clients at a time, in tokens per second. Each asks for some answers one after the other.
func (l *endpointLoad) together(n, round, answers int, stream bool) float64 {
	var clients sync.WaitGroup
	var sum atomic.Int64
	begun := time.Now()
	for i := range n {
		clients.Go(func() {
			for j := range answers {
				_, tokens := l.request((round*answers+j)*n+i, answerTokens, stream)
				if sum.Add(int64(tokens)); l.more != "" && tokens != answerTokens {
					l.t.Errorf("%s: an answer has %d tokens, want %d", l.name, tokens, answerTokens)
				}
			}
		})
	}
	clients.Wait()
	return float64(sum.Load()) / time.Since(begun).Seconds()
}

// middle is the median of rates.
func middle(rates []float64) float64 {
	var t load.Times
	for _, r := range rates {
		t.Add(time.Duration(r * 1e6))
	}
	return float64(t.At(.5)) / 1e6
}

// TestEndpoint measures trinity serve's OpenAI interface: the first token beside the engine's own in this process, and
// streams beside whole answers. Without -endpoint.full it only checks that all answers are complete.
func TestEndpoint(t *testing.T) {
	trips, rounds, streams, answers := 10, 1, 16, 1
	if *endpointFull {
		trips, rounds, streams, answers = *endpointTrips, 15, 64, 4
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	spareProcessors(0) // as in the server
	if *endpointOnly != "peers" {
		ours, alone := startOurs(t, "")
		if *endpointOnly != "streams" {
			ours.firstTokens(alone, trips)
		}
		if *endpointOnly != "first" {
			ours.streamedAndWhole(streams, rounds, answers)
		}
	}
	if *endpointModel == "" {
		return
	}
	folders := strings.Split(*endpointFolder, ",")
	for i, model := range strings.Split(*endpointModel, ",") {
		folder := ""
		if i < len(folders) {
			folder = folders[i]
		}
		t.Run(filepath.Base(model), func(t *testing.T) { endpointBeside(t, model, folder, trips) })
	}
}

// endpointBeside measures a model of the user's: the first token beside the engine's own, then all beside each of the
// other servers, one at a time.
func endpointBeside(t *testing.T, model, folder string, trips int) {
	peers := filepath.Join("..", "..", "bench", "peers")
	ours, alone := startOurs(t, model)
	ours.firstTokens(alone, max(10, trips/10))
	if *endpointPython != "" {
		peer := startPeer(t, "llama.cpp's server", model, *endpointPython,
			filepath.Join(peers, "llama_server.py"), "--model", model)
		if peer != nil {
			peer.more = `,"ignore_eos":true,"top_k":0,"top_p":1,"min_p":0,"stream_options":{"include_usage":true}`
			ours.beside(peer, max(10, trips/10))
			peer.stop()
		}
	}
	if *endpointVLLM != "" && folder != "" {
		peer := startPeer(t, "vLLM", folder, *endpointVLLM, filepath.Join(peers, "vllm_server.py"), "--model", folder,
			"--dtype", "bfloat16", "--max-model-len", "2048", "--gpu-memory-utilization", "0.3") // of main memory
		if peer != nil {
			peer.more = ours.more
			ours.beside(peer, max(10, trips/10))
			peer.stop()
		}
	}
}

// startOurs starts trinity serve with a model, "" for the shipped one, and opens an engine with it in this process.
func startOurs(t *testing.T, model string) (*endpointLoad, *engine.Engine) {
	t.Helper()
	var flags, folders []string
	if model != "" {
		flags, folders = []string{"--models", model}, []string{model}
	}
	p := newProcess(t, t.TempDir(), flags...)
	p.start()
	ours := &endpointLoad{t: t, name: "trinity", url: p.url + "/v1", model: firstModel(t, p.url),
		more: `,"ignore_eos":true,"return_token_ids":true,"stream_options":{"include_usage":true}`}
	alone, err := openAlone(&surroundings{ctx: t.Context(), out: io.Discard, err: io.Discard, cacheDir: t.TempDir(),
		env: func(string) (string, bool) { return "", false }}, ours.model, folders)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { alone.Close() })
	return ours, alone
}

// beside measures two servers in turn: the time to the first of a stream's tokens, and the rate of several streams.
func (l *endpointLoad) beside(peer *endpointLoad, trips int) {
	both := []*endpointLoad{l, peer}
	first := map[*endpointLoad]*load.Times{l: {}, peer: {}}
	for i := range trips + 1 {
		for _, x := range both {
			if d, _ := x.request(1000+i, 1, true); i > 0 { // the first warms up
				first[x].Add(d)
			}
		}
	}
	l.t.Logf("%s: first token p50 %s, %s %s: %.2f times as long there", l.model, show(first[l].At(.5)), peer.name,
		show(first[peer].At(.5)), float64(first[peer].At(.5))/float64(first[l].At(.5)))
	for _, n := range []int{1, 8} {
		rates := map[*endpointLoad][]float64{}
		for round := range *endpointRounds {
			for _, x := range both {
				rates[x] = append(rates[x], x.together(n, 100*n+round, 1, true))
			}
		}
		l.t.Logf("%s: %d streams at a time: %.1f tokens/s, %s %.1f: %.2f times as fast", l.model, n, middle(rates[l]),
			peer.name, middle(rates[peer]), middle(rates[l])/middle(rates[peer]))
	}
}

// firstTokens measures the first token over HTTP and of an engine in this process in turn, so that other load on the
// machine meets both, with the same prompts.
func (l *endpointLoad) firstTokens(alone *engine.Engine, trips int) {
	var over, own load.Times
	for i := range trips {
		first, _ := l.request(i, 1, true)
		over.Add(first)
		own.Add(engineFirst(l.t, alone, l.model, i, l.prompt))
	}
	l.t.Logf("%s: first token over HTTP p50 %s, p90 %s; the engine's own p50 %s; difference of the p50 %s", l.model,
		show(over.At(.5)), show(over.At(.9)), show(own.At(.5)), show(over.At(.5)-own.At(.5)))
}

// streamedAndWhole measures n clients at a time, whose answers are streams or whole, in turn. The ratio is the median
// of those of neighbours, since the machine's speed changes meanwhile.
func (l *endpointLoad) streamedAndWhole(n, rounds, answers int) {
	var rates [2][]float64
	var ratios []float64
	l.together(n, 0, 1, true) // warm
	for round := range rounds {
		for i := range rates {
			kind := (round + i) % 2
			rates[kind] = append(rates[kind], l.together(n, 2*round+i+1, answers, kind == 0))
		}
		ratios = append(ratios, rates[0][round]/rates[1][round])
	}
	l.t.Logf("%s: %d clients at a time, answers of %d tokens: streamed %.0f tokens/s, whole %.0f tokens/s, "+
		"median of %d ratios %.3f", l.model, n, answerTokens, middle(rates[0]), middle(rates[1]), rounds,
		middle(ratios))
}

// engineFirst is the time to the first token of stream n without HTTP.
func engineFirst(t *testing.T, e *engine.Engine, model string, n int, prompt []int32) time.Duration {
	t.Helper()
	c, err := e.SamplingClient(t.Context(), tinker.SamplingClientRequest{BaseModel: model})
	if err != nil {
		t.Fatal(err)
	}
	params, seed := tinker.DefaultSampling(), uint64(n)
	params.MaxTokens, params.Seed, params.NoStop = 1, &seed, true
	begun := time.Now()
	s, err := tinker.OpenStream(t.Context(), c, tinker.SampleRequest{Prompt: tinker.Text(prompt), NumSamples: 1,
		Params: params})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	first := time.Since(begun)
	<-s.Result().Done()
	return first
}

// firstModel is the first base model of a server.
func firstModel(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url + "/v1/models")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var list struct{ Data []struct{ ID string } }
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil || len(list.Data) == 0 {
		t.Fatalf("%v: %+v", err, list)
	}
	return list.Data[0].ID
}

// startPeer starts another server of OpenAI's interface, which takes --port; nil if it does not start, which is an
// error of the test.
func startPeer(t *testing.T, name, model string, command ...string) *endpointLoad {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, command[0], append(command[1:], "--port", port)...)
	said := &lockedBuffer{}
	cmd.Stdout, cmd.Stderr = said, said
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) } // it has processes of its own to end
	cmd.WaitDelay = 30 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() { cmd.Wait(); close(exited) }()
	stop := func() { cancel(); <-exited }
	t.Cleanup(stop)
	url := "http://127.0.0.1:" + port + "/v1"
	for end := time.Now().Add(10 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		resp, err := http.Get(url + "/models")
		if err == nil {
			resp.Body.Close()
		}
		if err == nil && resp.StatusCode == http.StatusOK {
			return &endpointLoad{t: t, name: name, url: url, model: model, stop: stop}
		}
		select {
		case <-exited:
		default:
			if time.Now().Before(end) {
				continue
			}
		}
		text := said.String()
		t.Errorf("%s did not start: %v\n%s", name, err, text[max(0, len(text)-2000):])
		return nil
	}
}
