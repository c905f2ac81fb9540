// Command peers compares the speed of trinity's engine with that of other programs on the same work: the same
// weights, tokens and batches, alternating in one run.
//
// Needs: Python and pip, or -python with the packages
// Takes: half an hour, or hours with -rows "*"
//
// Every program, including trinity, is a process of its own that reads one JSON line per piece of work and answers
// with the seconds it took (program.go; the peers' side is peer.py, ours is serve.go on package engine/measure). For
// each row of work (row.go) and each peer, every setting of the peer (bf16 and float32, threads, compiler) is tried and
// the fastest is kept. Then trinity and the peer alternate (compare.go). The table (table.go) has the medians, their
// ratios, and the ratios we aim for.
//
// The weights are random (folder.go), since speed does not depend on their values. Each answer includes a number, a
// mean loss or a log-probability, which shows that the programs compute the same.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// options are the values of the flags.
type options struct {
	Rows, Peers  string
	Venvs        string
	Python       string
	Models       string
	Model        string
	Make         string
	Path         string
	Scripts      string
	Out          string
	Least        int
	Repeat       int
	Time         time.Duration
	Within       time.Duration
	Compile      bool
	Quick, Serve bool
	List         bool
}

func parse(args []string, errs io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("peers", flag.ContinueOnError)
	f.SetOutput(errs)
	f.StringVar(&o.Rows, "rows", "common",
		"rows, separated by commas, such as train-0.6b,decode-*; common is half an hour of them, * is every row")
	f.StringVar(&o.Peers, "peers", "",
		"peers to compare with, separated by commas; default all, but llama.cpp and SkyRL with small models only")
	f.StringVar(&o.Venvs, "venvs", "bin/peers", "folder of the peers' Python environments")
	f.StringVar(&o.Python, "python", "", "a Python that has the peers' packages, instead of the environments")
	f.StringVar(&o.Models, "models", "bin/peers/models",
		"folder of the random weights, which are made if they are missing")
	f.StringVar(&o.Model, "model", "",
		"a model to measure instead of random weights: a Hugging Face folder or a GGUF file")
	f.StringVar(&o.Make, "make", "",
		"only make the folder of the random weights of a shape, such as 0.6b, and print its path")
	f.StringVar(&o.Path, "path", "",
		"trinity's kernels, such as avx2, which PyTorch is then held to as well; default the best")
	f.StringVar(&o.Scripts, "scripts", "bench/peers", "folder of the peers' scripts")
	f.StringVar(&o.Out, "out", "",
		"file for the table, the measured programs and the machine; default standard output only")
	f.IntVar(&o.Least, "least", 5, "minimum repetitions of a row; three if those take minutes")
	f.IntVar(&o.Repeat, "repeat", 9, "maximum repetitions of a row")
	f.DurationVar(&o.Time, "time", 5*time.Second, "time for the repetitions of a row with a peer, after the minimum")
	f.DurationVar(&o.Within, "within", time.Hour,
		"time for the whole run: rows that have not begun by then are left out")
	f.BoolVar(&o.Quick, "quick", false, "two repetitions only")
	f.BoolVar(&o.Compile, "compile", false, "also try the peers' compilers: minutes for each model")
	f.BoolVar(&o.Serve, "serve", false, "run trinity's side: answer requests on standard input")
	f.BoolVar(&o.List, "list", false, "print the rows")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("peers: unexpected argument %q", f.Arg(0))
	}
	if o.Quick {
		o.Least, o.Repeat = 2, 2
	}
	return o, nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	o, err := parse(os.Args[1:], os.Stderr)
	if err == nil {
		err = run(ctx, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	if o.Serve {
		return serve(os.Stdin, os.Stdout, o.Path)
	}
	if o.Make != "" {
		return makeFolder(o.Make, o.Models)
	}
	list, err := o.rows(ctx)
	if err != nil {
		return err
	}
	if o.List {
		fmt.Println(strings.Join(rowNames(list), "\n"))
		return nil
	}
	beside, err := choosePeers(o.Peers)
	if err != nil {
		return err
	}
	log := func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
	before := used()
	c := contest{options: o, threads: runtime.GOMAXPROCS(0), bf16: o.Path != "avx2" && bf16Units(),
		most: 5 * time.Minute, settle: 300 * time.Millisecond,
		end: before.at.Add(o.Within), log: log}
	results, err := c.all(ctx, list, beside)
	if len(results) == 0 {
		return err
	}
	text := c.report(results, before, used())
	fmt.Print(text)
	if o.Out != "" {
		err = errors.Join(err, os.WriteFile(o.Out, []byte(text), 0o644))
	}
	return err
}

// rows are the chosen ones: of the given model all, unless some are named.
func (o options) rows(ctx context.Context) ([]row, error) {
	if o.Model == "" {
		return choose(rows(), o.Rows)
	}
	s, err := given(ctx, o.Model, o.Models)
	if err != nil {
		return nil, err
	}
	if o.Rows == "common" {
		return s.rows(), nil
	}
	return choose(s.rows(), o.Rows)
}

// environment is the peers' environment.
func (o options) environment() []string {
	env := os.Environ()
	if o.Path == "avx2" {
		env = append(env, "ATEN_CPU_CAPABILITY=avx2", "ONEDNN_MAX_CPU_ISA=AVX2", "MKL_ENABLE_INSTRUCTIONS=AVX2")
	}
	return env
}

func choosePeers(names string) ([]peer, error) {
	list := peers()
	if names == "" {
		return list, nil
	}
	var out []peer
	var all []string
	for _, p := range list {
		all = append(all, p.name)
	}
	for _, name := range strings.Split(names, ",") {
		i := slices.IndexFunc(list, func(p peer) bool { return strings.EqualFold(p.name, name) })
		if i < 0 {
			return nil, fmt.Errorf("peers: peer %q is unknown; use %s", name, strings.Join(all, ", "))
		}
		out = append(out, list[i])
	}
	return out, nil
}

// all measures the rows with the peers; slow peers come last, since time may run out. After an error it also returns
// the results so far.
func (c contest) all(ctx context.Context, list []row, beside []peer) (results []rowResult, err error) {
	for _, slow := range []bool{false, true} {
		if err == nil {
			var some []rowResult
			some, err = c.models(ctx, list, slices.DeleteFunc(slices.Clone(beside),
				func(p peer) bool { return p.slow != slow }))
			results = append(results, some...)
		}
	}
	names := rowNames(list)
	slices.SortStableFunc(results, func(a, b rowResult) int {
		return slices.Index(names, a.row.name) - slices.Index(names, b.row.name)
	})
	return results, err
}

// models measures the rows model by model. Trinity keeps a model while the peers run one after another, so that the
// model is in memory at most twice.
func (c contest) models(ctx context.Context, list []row, beside []peer) ([]rowResult, error) {
	var results []rowResult
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n].shape == list[0].shape {
			n++
		}
		measured := func(r row) bool {
			return slices.ContainsFunc(beside, func(p peer) bool { return p.can(r, c.Peers != "") })
		}
		if slices.ContainsFunc(list[:n], measured) {
			some, err := c.model(ctx, list[:n], beside)
			if results = append(results, some...); err != nil {
				return results, err
			}
		}
		list = list[n:]
	}
	return results, nil
}

// model measures the rows of one model.
func (c contest) model(ctx context.Context, list []row, beside []peer) ([]rowResult, error) {
	c.log("%s: weights", list[0].shape.title())
	folder, err := list[0].shape.folder(c.Models)
	if err != nil {
		return nil, err
	}
	if folder, err = filepath.Abs(folder); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	us, err := start(ctx, "", os.Environ(), self, "-serve", "-path", c.Path)
	if err != nil {
		return nil, err
	}
	defer us.stop()
	c.log("%s", us.Version)
	var results []rowResult
	for _, p := range beside {
		some := slices.DeleteFunc(slices.Clone(list), func(r row) bool { return !p.can(r, c.Peers != "") })
		results = append(results, c.pair(ctx, some, folder, us, p)...)
		if ctx.Err() != nil {
			return results, ctx.Err()
		}
	}
	return results, nil
}

// noTime is the reason for a missing row.
const noTime = "not measured: there was no time left"

// late reports whether the time is over.
func (c contest) late() bool { return !c.end.IsZero() && time.Now().After(c.end) }

// pair measures rows of one model with one peer.
func (c contest) pair(ctx context.Context, list []row, folder string, us *program, p peer) []rowResult {
	var results []rowResult
	missing := func(rows []row, why string) []rowResult {
		for _, r := range rows {
			results = append(results, rowResult{row: r, peer: p.name, missing: why})
		}
		return results
	}
	if len(list) == 0 {
		return nil
	}
	if c.late() {
		return missing(list, noTime)
	}
	python := p.python(c.Venvs, c.Python)
	if python == "" {
		return missing(list, "not installed: "+p.install)
	}
	them, err := start(ctx, "", c.environment(), python, filepath.Join(c.Scripts, p.script))
	if err != nil {
		return missing(list, err.Error())
	}
	defer func() { them.stop() }()
	best := map[string]setting{}
	for i, r := range list {
		if c.late() {
			return missing(list[i:], noTime)
		}
		c.log("%s beside %s", r.name, p.name)
		one := c.measure(ctx, r, folder, us, them, p, best)
		results = append(results, one)
		if one.missing != "" {
			c.log("  %s", one.missing)
			them.stop()
			if them, err = start(ctx, "", c.environment(), python, filepath.Join(c.Scripts, p.script)); err != nil {
				return missing(list[i+1:], err.Error())
			}
			continue
		}
		c.log("  trinity %s, %s %s tokens/s: %s times as fast", digits(one.rate(one.ours)), p.name,
			digits(one.rate(one.theirs)), digits(one.ratio()))
	}
	return results
}

// report returns the table, the programs' versions and the machine.
func (c contest) report(results []rowResult, before, after usage) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d threads, %s; %s in all.\n", machine(), c.threads, after.at.UTC().Format("2 January 2006"),
		after.at.Sub(before.at).Round(time.Second))
	if after.ok && before.ok {
		fmt.Fprintf(&b, "Other work on the machine used %.2f processors meanwhile.\n", after.others(before))
	}
	versions := map[string]bool{}
	for _, r := range results {
		if r.version != "" && !versions[r.version] {
			versions[r.version] = true
			fmt.Fprintf(&b, "%s: %s.\n", r.peer, r.version)
		}
	}
	fmt.Fprintln(&b)
	writeTable(&b, results)
	return b.String()
}

// machine returns the processor's name.
func machine() string {
	out, err := exec.Command("grep", "-m1", "model name", "/proc/cpuinfo").Output()
	if _, name, ok := strings.Cut(string(out), ":"); err == nil && ok {
		return strings.TrimSpace(name)
	}
	return runtime.GOARCH
}
