package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
)

// TestMain runs the test's binary as a program of the protocol if it is started as one.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 1 && os.Args[1] == "-serve":
		if err := serve(os.Stdin, os.Stdout, ""); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	case len(os.Args) > 1 && strings.HasSuffix(os.Args[1], "_peer.py"):
		replay(os.Args[1])
		return
	}
	flag.Parse()
	os.Exit(m.Run())
}

// replay is a peer whose answers depend on its script's name.
func replay(script string) {
	if strings.HasSuffix(script, "vllm_peer.py") {
		fmt.Fprintln(os.Stderr, "No module named 'vllm'")
		os.Exit(1)
	}
	to := json.NewEncoder(os.Stdout)
	to.Encode(answer{Version: "replay 1"})
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r workRequest
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			panic(err)
		}
		a := answer{Seconds: float64(r.Threads) * 100, Check: 1}
		switch late := strings.HasSuffix(script, "late_peer.py"); {
		case late && r.DType == "bf16":
			time.Sleep(time.Minute)
		case late:
			a.Check = 2
		case r.DType == "f32":
			a = answer{Error: "no float32 here"}
		}
		to.Encode(a)
	}
}

func TestChoose(t *testing.T) {
	for _, x := range []struct {
		names string
		want  string // the first and the last row, and how many
	}{
		{"train-1b,decode-0.6b-64", "decode-0.6b-64 train-1b 2"},
		{"decode-3b-*", "decode-3b-1 decode-3b-64 3"},
		{"*", "train-tiny decode-3b-64 44"},
		{"common", "train-9m decode-3b-64 17"},
		{"common,train4-3b", "train-9m decode-3b-64 18"},
	} {
		got, err := choose(rows(), x.names)
		if err != nil {
			t.Fatal(err)
		}
		if s := fmt.Sprintf("%s %s %d", got[0].name, got[len(got)-1].name, len(got)); s != x.want {
			t.Errorf("%q chooses %s, want %s", x.names, s, x.want)
		}
	}
	if _, err := choose(rows(), "train-7b"); err == nil || !strings.Contains(err.Error(), "train-0.6b") {
		t.Errorf("an unknown row gives %v", err)
	}
}

// TestFolder: the random folders are complete models of the size in their names.
func TestFolder(t *testing.T) {
	for i, want := range []float64{0.9, 9.4, 134.5, 596, 1236, 3213} {
		s := shapes()[i]
		n := 0
		for _, x := range s.tensors() {
			n += x.bytes() / 2
		}
		if got := float64(n) / 1e6; math.Abs(got-want) > 0.05*want {
			t.Errorf("%s has %.1f million parameters, want %v", s.name, got, want)
		}
	}
	dir, err := shapes()[0].folder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c, err := engine.Describe(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Parameters; got != 98304+4*(32768+16384+147456)+4*(2*128+2*32)+128 {
		t.Errorf("%d parameters", got)
	}
	if again, err := shapes()[0].folder(strings.TrimSuffix(dir, "/tiny")); err != nil || again != dir {
		t.Errorf("the folder that is there: %s, %v", again, err)
	}
}

// TestServe: trinity's side computes each kind of work. The loss of random weights is about that of a guess, and one
// thread gives the bits of two.
func TestServe(t *testing.T) {
	dir, err := shapes()[0].folder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	us, err := start(t.Context(), "", os.Environ(), os.Args[0], "-serve")
	if err != nil {
		t.Fatal(err)
	}
	defer us.stop()
	list, err := choose(rows(), "train4-tiny,prefill-tiny,decode-tiny-8")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		var checks []float64
		for _, threads := range []int{1, 2} {
			job := workRequest{Work: r.kind, Model: dir, IDs: r.ids(), Sequences: r.sequences, Steps: r.steps, Rank: 4,
				setting: setting{DType: "bf16", Threads: threads}}
			a, err := us.do(job, time.Minute)
			if err != nil || a.Seconds <= 0 {
				t.Fatalf("%s: %+v, %v", r.name, a, err)
			}
			checks = append(checks, a.Check)
		}
		if checks[0] != checks[1] {
			t.Errorf("%s: %v with one thread and two", r.name, checks)
		}
		if guess := math.Log(768); r.kind != decode && math.Abs(math.Abs(checks[0])-guess) > 1 {
			t.Errorf("%s: %v, a guess is %v", r.name, checks[0], guess)
		}
	}
	if _, err := us.do(workRequest{Work: "dance", Model: dir, setting: setting{Threads: 1}}, time.Minute); err == nil ||
		!strings.Contains(err.Error(), "dance") {
		t.Errorf("unknown work gives %v", err)
	}
}

// TestAll runs the whole comparison with scripted peers.
func TestAll(t *testing.T) {
	list, err := choose(rows(), "prefill-tiny,train-tiny")
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	c := contest{options: options{Models: t.TempDir(), Scripts: "bench/peers", Python: os.Args[0], Least: 3, Repeat: 5},
		threads: 2, most: time.Minute,
		log: func(format string, args ...any) { fmt.Fprintf(&log, format+"\n", args...) }}
	results, err := c.all(context.Background(), list, peers())
	if err != nil {
		t.Fatal(err)
	}
	text := c.report(results, usage{}, used())
	for _, want := range []string{
		// 512 tokens in 100 seconds
		"| examples/tiny | train 1 × 512 tokens | PyTorch, bf16, 1 thread | ", " | 5.12 (5.12–5.12) | ",
		"they do not agree: 6.", "PyTorch: replay 1.",
		"| examples/tiny | prefill 512 tokens | vLLM | | | – | | peers: ", "No module named 'vllm'",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if !strings.Contains(log.String(), "no float32 here") {
		t.Errorf("the setting that failed is not in the log:\n%s", log.String())
	}
}

func TestOthers(t *testing.T) {
	d, err := busy("cpu  100 20 30 4000 500 6 7 8 0 0")
	if err != nil || d != 1710*time.Millisecond {
		t.Errorf("%v, %v", d, err)
	}
	if _, err := busy("intr 1 2 3"); err == nil {
		t.Error("a line without the processor's times is accepted")
	}
	before := usage{all: time.Minute, ours: time.Second, at: time.Unix(0, 0)}
	after := usage{all: time.Minute + 20*time.Second, ours: 16 * time.Second, at: time.Unix(10, 0)}
	if got := after.others(before); got != 0.5 {
		t.Errorf("others kept %v processors busy, want 0.5", got)
	}
}

// TestLateProgram: a setting that takes too long is given up, and the next one gets an answer of its own.
func TestLateProgram(t *testing.T) {
	p, err := start(t.Context(), "", os.Environ(), os.Args[0], "late_peer.py")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { p.stop() }()
	if _, err := p.do(workRequest{setting: setting{DType: "bf16", Threads: 1}}, 200*time.Millisecond); err == nil ||
		!strings.Contains(err.Error(), "has not answered within") {
		t.Errorf("a late answer: %v", err)
	}
	a, err := p.do(workRequest{setting: setting{DType: "f32", Threads: 1}}, time.Minute)
	if err != nil || a.Check != 2 {
		t.Errorf("the next answer: %+v, %v", a, err)
	}
}

// TestSettings: every row is tried in bf16 and float32, float32 first on a processor without units for bf16.
func TestSettings(t *testing.T) {
	for _, r := range rows() {
		for _, p := range peers() {
			if !p.can(r, true) {
				continue
			}
			for _, units := range []bool{true, false} {
				list := contest{threads: 2, bf16: units}.settings(p, r)
				types := map[string]bool{}
				for _, s := range list {
					types[s.DType] = true
				}
				if !types["bf16"] || !types["f32"] || (list[0].DType == "bf16") != units {
					t.Errorf("%s with %s: %v", r.name, p.name, list)
				}
			}
		}
	}
}

// TestGiven: a model's own folder gives its rows; with a GGUF file llama.cpp is tried with that file too.
func TestGiven(t *testing.T) {
	s, err := given(t.Context(), "../../examples/tiny/model", t.TempDir())
	if err != nil || s.vocab != 768 || s.dim != 128 || s.gguf != "" {
		t.Fatalf("%+v, %v", s, err)
	}
	if list := s.rows(); len(list) != 6 || list[0].name != "train-model" {
		t.Errorf("rows %v", rowNames(list))
	}
	s.gguf = "model.gguf"
	list := files(s.rows()[2], 2)
	if list[len(list)-1].DType != "file" {
		t.Errorf("llama.cpp is tried with %v", list)
	}
}

func TestMissing(t *testing.T) {
	c := contest{options: options{Venvs: t.TempDir()}, log: func(string, ...any) {}}
	got := c.pair(t.Context(), rows()[:1], "", nil, peers()[0])
	if len(got) != 1 || got[0].missing != "not installed: "+peers()[0].install {
		t.Errorf("%+v", got)
	}
}

// TestLate: rows that begin after the time limit are named in the table but not measured.
func TestLate(t *testing.T) {
	c := contest{options: options{Python: os.Args[0]}, end: time.Now().Add(-time.Second)}
	got := c.pair(t.Context(), rows()[:2], "", nil, peers()[0])
	if len(got) != 2 || got[1].missing != noTime {
		t.Errorf("%+v", got)
	}
}

func TestAnother(t *testing.T) {
	c := contest{options: options{Least: 5, Repeat: 9, Time: 10 * time.Second}}
	for _, x := range []struct {
		n    int
		took time.Duration
		want bool
	}{{8, 9 * time.Second, true}, {9, time.Second, false}, {5, 11 * time.Second, false}, {4, time.Minute, true},
		{3, 2 * time.Minute, false}, {2, 2 * time.Minute, true}} {
		if got := c.another(x.n, x.took); got != x.want {
			t.Errorf("another(%d, %v) = %v", x.n, x.took, got)
		}
	}
}

// TestTail: of a line that was overwritten, the last visible text.
func TestTail(t *testing.T) {
	var n tail
	fmt.Fprint(&n, "first\nload 1%\rload 50%\rload 100%\nsecond\nthird\n")
	if got := n.String(); got != "load 100% | second | third" {
		t.Errorf("%q", got)
	}
}

func TestFlags(t *testing.T) {
	if o, err := parse([]string{"-quick", "-rows", "train-1b"}, io.Discard); err != nil || o.Repeat != 2 ||
		o.Rows != "train-1b" {
		t.Errorf("%+v, %v", o, err)
	}
	if _, err := parse([]string{"now"}, io.Discard); err == nil {
		t.Error("an extra argument is accepted")
	}
	if _, err := choosePeers("mlx"); err == nil {
		t.Error("an unknown peer is accepted")
	}
}

func TestFigures(t *testing.T) {
	r := rowResult{row: row{kind: prefill, sequences: 1, tokens: 512}, peer: "SkyRL", ours: []float64{2, 9, 1},
		theirs: []float64{1, 3, 2, 4}, check: [2]float64{11, 11.1}}
	if got := fmt.Sprintf("%v %s %s %s%s", r.ratio(), digits(r.rate(r.ours)), digits(123456), digits(0.95),
		r.note()); got != "1.25 256 123000 0.95" {
		t.Errorf("%q", got)
	}
	// at 3.25 and 1.75 seconds, at 5.5 and 1.5
	if got := r.noise(r.theirs) + " " + r.noise(r.ours); got != "158–293 93.1–341" {
		t.Errorf("%q", got)
	}
	r.check[1] = 12
	if !strings.Contains(r.note(), "agree") {
		t.Errorf("%q", r.note())
	}
	r.check[1], r.ours = 11, []float64{3}
	if r.note() != " (behind)" {
		t.Errorf("%q", r.note())
	}
}

// The tokenizer of random weights has a text for each id, and encodes as that of examples/tiny.
func TestWiden(t *testing.T) {
	const shipped = "../../examples/tiny/model"
	s, dir := shape{vocab: 2000}, t.TempDir()
	if err := s.writeTokenizer(dir); err != nil {
		t.Fatal(err)
	}
	wide, err := tokenizer.Load(filepath.Join(dir, "tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := tokenizer.Load(filepath.Join(shipped, "tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"What is 12 + 30?", "w1500 stays several tokens"} {
		got, want := wide.Encode(text, false), plain.Encode(text, false)
		if !slices.Equal(got, want) {
			t.Errorf("%q is %v, want %v", text, got, want)
		}
	}
	for id := range int32(2000) {
		if wide.Decode([]int32{id}, false) == "" {
			t.Errorf("token %d has no text", id)
		}
	}
	if got := wide.Decode([]int32{1999}, false); got != "w1999" {
		t.Errorf("the last token is %q", got)
	}
}
