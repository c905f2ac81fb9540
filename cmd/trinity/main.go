// Command trinity trains language models with reinforcement learning, from one binary.
//
//	trinity train --model MODEL --data FILE --reward REWARD
//	trinity run --config examples/tiny/gsm8k.yaml [key=value ...]
//	trinity validate --config FILE
//	trinity schema
//	trinity serve [--addr 127.0.0.1:8000] [--models DIR]... [--data DIR]
//	trinity worker --join URL --creds FILE
//	trinity gem [key=value ...]
//	trinity convert -c JOB [-o FOLDER] [--gguf TYPE]
//	trinity ps; trinity checkpoint list|info|export|delete|set-ttl
//	trinity debug -c FILE -m workflow|inference_model
//	trinity log -c FILE|-d DIR
//	trinity bench [--base-url URL]; trinity bench fleet --simulate N
//	trinity fleet JOB; trinity fleet drain|remove JOB WORKER
//	trinity plot RUN [RUN ...] --output reward.svg
//	trinity doctor [MODEL]
//	trinity chat MODEL|CHECKPOINT
//	trinity start claude|codex|opencode|aider --model MODEL|CHECKPOINT
//	trinity studio [DIR ...]; trinity view --config FILE
//	trinity perf run -c FILE
//
// Exit codes: 0 done (or stopped by Ctrl-C and saved), 1 failed, 2 wrong usage.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"github.com/seed-d9ad8ee0/trinity/cmd/trinity/internal/cmdline"
	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
	"github.com/seed-d9ad8ee0/trinity/rl/tool"
)

// commands is the command line: one field and one file per subcommand.
type commands struct {
	Train      trainCmd      `cmd:"" help:"Make a small model for one job, from a file of examples."`
	Run        runCmd        `cmd:"" help:"Run a configuration: train, or evaluate."`
	Validate   validateCmd   `cmd:"" help:"Check a configuration, print it as it will be used, and estimate its cost."`
	Schema     schemaCmd     `cmd:"" help:"Print the JSON Schema of a configuration, for editors."`
	Serve      serveCmd      `cmd:"" help:"Serve the Tinker API to any Tinker client."`
	Worker     workerCmd     `cmd:"" help:"Compute for a run or a server on another machine."`
	PS         psCmd         `cmd:"" name:"ps" help:"List the training runs of a Tinker server."`
	Checkpoint checkpointCmd `cmd:"" help:"List, export and delete the checkpoints of a Tinker server."`
	Debug      debugCmd      `cmd:"" help:"Try one task of a configuration, or serve its model."`
	Log        logCmd        `cmd:"" help:"Follow and search the log files of a job."`
	Bench      loadsCmd      `cmd:"" help:"Put a Tinker server, or the head of a fleet, under load and measure it."`
	Fleet      fleetCmd      `cmd:"" help:"List, drain and remove the workers of a run or a server."`
	Plot       plotCmd       `cmd:"" help:"Draw the rewards of several runs in one picture."`
	Convert    convertCmd    `cmd:"" help:"Merge an adapter into full weights: a Hugging Face folder or a GGUF file."`
	Doctor     doctorCmd     `cmd:"" help:"Describe a model's needs and speed on this machine, or the machine."`
	Chat       chatCmd       `cmd:"" help:"Talk to a model, a job's newest checkpoint or an adapter."`
	Start      startCmd      `cmd:"" help:"Start Claude Code, Codex, opencode or aider on a model here."`
	Studio     studioCmd     `cmd:"" help:"Show runs in a browser, down to the token."`
	View       viewCmd       `cmd:"" help:"Show a table of experiences in a browser."`
	Perf       perfCmd       `cmd:"" help:"Measure the exploring of a configuration."`
	Gem        gemCmd        `cmd:"" help:"Train a model on an environment: gem [key=value ...]."`
	Completion completionCmd `cmd:"" help:"Print the shell code that enables completion."`
	Version    versionCmd    `cmd:"" help:"Print the version."`
}

// surroundings connects a command to its process.
type surroundings struct {
	ctx      context.Context
	stop     <-chan struct{} // closed at the first Ctrl-C
	out, err io.Writer
	terminal bool
	env      func(string) (string, bool)
	cacheDir string       // for files that the program carries; "" if there is none
	packed   *sync.Once   // says that they could not be unpacked; may be nil
	brief    *atomic.Bool // set by a command that has nothing to finish; may be nil
}

func main() {
	if code, is := tool.Stage(os.Args); is { // this process is part of a sandbox
		os.Exit(code)
	}
	os.Exit(realMain(os.Args[1:], os.Stdout, os.Stderr))
}

// usageError is an error that exits with 2.
type usageError struct{ error }

func realMain(args []string, out, errOut io.Writer) int {
	exited := -1
	parser, err := kong.New(&commands{}, kong.Name("trinity"),
		kong.Description("Reinforcement fine-tuning of language models."), kong.Vars{"debugHelp": debugHelp},
		kong.Writers(out, errOut),
		kong.Exit(func(code int) { exited = code }), kong.UsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}))
	if err != nil {
		fmt.Fprintln(errOut, "trinity:", err)
		return 1
	}
	if asked, err := cmdline.Complete(parser); asked || err != nil { // a shell asks for completions
		return exitCode(errOut, err)
	}
	if len(args) == 0 {
		parser.Stdout = errOut
	}
	command, err := parser.Parse(cmdline.WordsLast(parser.Model.Node, cmdline.Spoken(args)))
	if len(args) == 0 {
		return 2
	}
	if exited >= 0 { // help was printed
		return exited
	}
	if err != nil {
		fmt.Fprintln(errOut, "trinity:", err)
		fmt.Fprintln(errOut, "Try trinity --help.")
		return 2
	}
	s, cleanup := surround(out, errOut)
	defer cleanup()
	return exitCode(errOut, command.Run(s))
}

// exitCode prints an error and returns the exit code.
func exitCode(errOut io.Writer, err error) int {
	var usage usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &usage):
		fmt.Fprintln(errOut, foreign.Plain(err.Error()))
		return 2
	}
	fmt.Fprintln(errOut, "trinity:", foreign.Plain(foreign.Cut(err.Error(), longestError)))
	if config.CommandLine(err) {
		return 2
	}
	return 1
}

// longestError is the most of an error that is printed, in bytes: it may list all that is wrong with a configuration.
const longestError = 256 << 10

// nothingToSave says that the first Ctrl-C ends the command.
func (s *surroundings) nothingToSave() {
	if s.brief != nil {
		s.brief.Store(true)
	}
}

// untilStop returns a context that ends at the first Ctrl-C, for commands with nothing to save.
func (s *surroundings) untilStop() (context.Context, context.CancelFunc) {
	s.nothingToSave()
	ctx, cancel := context.WithCancelCause(s.ctx)
	go func() {
		select {
		case <-s.stop:
			cancel(errors.New("stopped by Ctrl-C"))
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// surround watches for Ctrl-C: the first asks the command to finish its step and save, the second ends it.
func surround(out, errOut io.Writer) (s *surroundings, cleanup func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	stop := make(chan struct{})
	s = &surroundings{ctx: ctx, stop: stop, out: out, err: errOut, env: os.LookupEnv, packed: new(sync.Once),
		brief: new(atomic.Bool)}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		if _, ok := <-signals; !ok {
			return
		}
		if !s.brief.Load() {
			fmt.Fprintln(errOut, "\nfinishing the current step and saving; press Ctrl-C again to stop at once")
		}
		close(stop)
		if _, ok := <-signals; ok {
			cancel(errors.New("stopped by a second Ctrl-C; committed steps are safe, and the same command resumes"))
		}
	}()
	if f, ok := out.(*os.File); ok {
		s.terminal = term.IsTerminal(int(f.Fd()))
	}
	if dir, err := os.UserCacheDir(); err == nil {
		s.cacheDir = dir
	}
	return s, func() {
		signal.Stop(signals)
		close(signals)
		cancel(nil)
	}
}
