// Command gen writes what the tiny example is made of: the word problems of
// GSM8K's shape that the run trains and is judged on, the solved problems that
// its base model was trained on, an expert's solutions beside wrong guesses, and
// that model's tokenizer and configuration.
//
//	go run ./examples/tiny/gen data                        # examples/tiny/data
//	go run ./examples/tiny/gen expert                      # examples/tiny/expert
//	go run ./examples/tiny/gen model                       # examples/tiny/model, all but the weights
//	go run ./examples/tiny/gen qwen35-model                # examples/tiny/qwen35, all but the weights
//	go run ./examples/tiny/gen moe-model                   # examples/tiny/moe, all but the weights
//	go run ./examples/tiny/gen pretrain -out DIR           # about 30 MB, not kept in the repository
//	go run ./examples/tiny/gen guess-model                 # examples/tiny/guess/model, all but the weights
//	go run ./examples/tiny/gen guess-demos                 # examples/tiny/guess/demos, not kept in the repository
//	go run ./examples/tiny/gen games-model                 # examples/tiny/games/model, all but the weights
//	go run ./examples/tiny/gen games-demos                 # examples/tiny/games/demos, not kept in the repository
//	go run ./examples/tiny/gen llama-model                 # examples/llama/model, all but the weights
//	go run ./examples/tiny/gen llama-pretrain              # examples/llama/pretrain, not kept in the repository
//	go run ./examples/tiny/gen llama-gain -from DIR        # examples/llama/model/model.safetensors, rescaled from DIR
//
// Everything derives from a seed: the same command writes the same bytes.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := run(os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

const usage = "gen: usage: gen data|expert|model|qwen35-model|moe-model|pretrain|guess-model|guess-demos|games-model|" +
	"games-demos|llama-model|llama-pretrain|llama-gain [-from DIR] [-out DIR] [-seed N] [-rows N]"

// options are one invocation's flags. rows is for the commands that write training rows, where 0 is their own number;
// from is for llama-gain.
type options struct {
	out  string
	seed uint64
	rows int
	from string
}

// run performs one subcommand.
func run(args []string, stderr io.Writer) error {
	if len(args) == 0 {
		return errors.New(usage)
	}
	write, out, ok := command(args[0])
	if !ok {
		return fmt.Errorf("gen: unknown command %q\n%s", args[0], usage)
	}
	var o options
	fs := flag.NewFlagSet("gen "+args[0], flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.StringVar(&o.out, "out", out, "the `folder` to write into")
	fs.Uint64Var(&o.seed, "seed", 1, "the seed everything derives from")
	fs.IntVar(&o.rows, "rows", 0, "how many rows of train.jsonl to write; 0 is the command's own number")
	fs.StringVar(&o.from, "from", "", "the `folder` whose model.safetensors llama-gain raises")
	if err := fs.Parse(args[1:]); err != nil {
		return fmt.Errorf("gen: %w", err)
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("gen: unexpected argument %q\n%s", fs.Arg(0), usage)
	}
	if err := os.MkdirAll(o.out, 0o777); err != nil {
		return fmt.Errorf("gen: %w", err)
	}
	return write(o)
}

// command returns what a subcommand does and the folder it writes by default.
func command(name string) (write func(options) error, out string, ok bool) {
	switch name {
	case "data":
		return writeData, "examples/tiny/data", true
	case "expert":
		return writeExpert, "examples/tiny/expert", true
	case "model":
		return writeModel, "examples/tiny/model", true
	case "qwen35-model":
		return solverOf(deltaNet()), "examples/tiny/qwen35", true
	case "moe-model":
		return solverOf(mixture()), "examples/tiny/moe", true
	case "pretrain":
		return writePretrain, "examples/tiny/pretrain", true
	case "guess-model":
		return modelOf(guessing, shape{layers: 3, inner: 256, context: 2048}), "examples/tiny/guess/model", true
	case "guess-demos":
		return demosOf(guessing), "examples/tiny/guess/demos", true
	case "games-model":
		return modelOf(playing, shape{layers: 3, inner: 256, context: 2048}), "examples/tiny/games/model", true
	case "games-demos":
		return demosOf(playing), "examples/tiny/games/demos", true
	case "llama-model":
		return writeLlama, "examples/llama/model", true
	case "llama-pretrain":
		return writeLlamaPretrain, "examples/llama/pretrain", true
	case "llama-gain":
		return writeGained, "examples/llama/model", true
	}
	return nil, "", false
}
