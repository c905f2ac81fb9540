package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/seed-d9ad8ee0/trinity/bench/program"
)

// killed runs a command, kills it when it says each of some patterns in turn, and at last lets it end by itself. Its
// arguments are the patterns, "--" and the command. On a busy machine a kill comes late: a later process may then be
// past its pattern, and ends well.
func killed(ts *testscript.TestScript, _ bool, args []string) {
	end := slices.Index(args, "--")
	if end < 1 {
		ts.Fatalf("killed PATTERN... -- COMMAND...")
	}
	for i, pattern := range args[:end] {
		p, err := program.Start(command(ts, args[end+1:]))
		ts.Check(err)
		_, unsaid := p.Await(regexp.MustCompile(pattern))
		p.Kill()
		if err := p.Wait(); unsaid != nil && (i == 0 || err != nil) {
			ts.Check(unsaid)
		}
	}
	p, err := program.Start(command(ts, args[end+1:]))
	ts.Check(err)
	if err := p.Wait(); err != nil {
		ts.Fatalf("the last run: %v\n%s", err, p.Said())
	}
}

// interrupted runs a command and sends Ctrl-C when it says a pattern; it must end with 0. Its arguments are a file for
// what the command says, the pattern, "--" and the command.
func interrupted(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 4 || args[2] != "--" {
		ts.Fatalf("interrupted FILE PATTERN -- COMMAND...")
	}
	p, err := program.Start(command(ts, args[3:]))
	ts.Check(err)
	_, err = p.Await(regexp.MustCompile(args[1]))
	ts.Check(err)
	p.Signal(os.Interrupt)
	if err := p.Wait(); err != nil {
		ts.Fatalf("after Ctrl-C: %v, and it said:\n%s", err, p.Said())
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(p.Said()), 0o644))
}

// serving starts a server on a free port with its data in a folder, and sets $URL. The script's end kills it.
func serving(ts *testscript.TestScript, _ bool, args []string) {
	p, err := program.Start(command(ts, []string{"trinity", "serve", "--addr", "127.0.0.1:0", "--data", args[0]}))
	ts.Check(err)
	ts.Defer(func() {
		p.Kill()
		p.Wait() // it was killed
	})
	greeting, err := p.Await(regexp.MustCompile(program.Greeting))
	ts.Check(err)
	ts.Setenv("URL", greeting[1])
}

func command(ts *testscript.TestScript, args []string) *exec.Cmd {
	path, err := exec.LookPath(args[0])
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if _, serr := os.Stat(filepath.Join(dir, args[0])); serr == nil {
			path, err = filepath.Join(dir, args[0]), nil
			break
		}
	}
	ts.Check(err)
	cmd := exec.Command(path, args[1:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = append(os.Environ(), "HOME="+ts.Getenv("HOME"), "XDG_CACHE_HOME="+ts.Getenv("XDG_CACHE_HOME"))
	return cmd
}

// samemetrics compares the metrics of two jobs except times: they must have the same steps and the same bits.
func samemetrics(ts *testscript.TestScript, _ bool, args []string) {
	a, err := program.Metrics(filepath.Join(ts.MkAbs(args[0]), "metrics.jsonl"))
	ts.Check(err)
	b, err := program.Metrics(filepath.Join(ts.MkAbs(args[1]), "metrics.jsonl"))
	ts.Check(err)
	if d := program.DifferentMetrics(a, b); d != "" {
		ts.Fatalf("%s: %s", args[1], d)
	}
}
