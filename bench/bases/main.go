// Command bases compares the perplexity of a model's base dtypes, bf16, int8 and int4, on the answers of problems.
//
// Needs: a model folder or GGUF file and a JSON Lines file with the columns question and answer as its arguments
// Takes: minutes
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
	"github.com/seed-d9ad8ee0/trinity/hf/gguf/modeldir"
	"github.com/seed-d9ad8ee0/trinity/hf/modelname"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

func main() {
	rows := flag.Int("rows", 60, "problems to read")
	flag.Parse()
	if flag.NArg() != 2 {
		fmt.Println("skipped: name a model and its problems: go run ./bench bases MODEL test.jsonl")
		return
	}
	if err := run(context.Background(), flag.Arg(0), flag.Arg(1), *rows); err != nil {
		fmt.Fprintln(os.Stderr, "bases:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dir, data string, rows int) error {
	work, err := os.MkdirTemp("", "bases")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if modelname.IsModelFile(filepath.Base(dir)) {
		f, err := gguf.Open(dir)
		if err != nil {
			return err
		}
		defer f.Close()
		if dir = filepath.Join(work, "model"); os.Mkdir(dir, 0o755) != nil || modeldir.Write(f, dir) != nil {
			return fmt.Errorf("%s cannot be written as a folder", flag.Arg(0))
		}
	}
	texts, err := read(data, dir, rows)
	if err != nil {
		return err
	}
	var exact []float32
	for _, base := range []string{engine.BaseBF16, engine.BaseInt8, engine.BaseInt4} {
		logp, err := logprobs(ctx, engine.Options{Dir: filepath.Join(work, base), BaseDtype: base,
			Models: map[string]engine.Model{"m": {Dir: dir}}}, texts)
		if err != nil {
			return err
		}
		if exact == nil {
			exact = logp
		}
		sum, distance := 0.0, 0.0
		for i, v := range logp {
			sum, distance = sum+float64(v), distance+math.Abs(float64(v)-float64(exact[i]))
		}
		n := float64(len(logp))
		fmt.Printf("%s: perplexity %.4f on %d tokens of answers; |Δ logprob| to bf16 %.4f on average\n", base,
			math.Exp(-sum/n), len(logp), distance/n)
	}
	return nil
}

// text is a problem with its answer, whose tokens begin at Answer.
type text struct {
	tokens []int32
	answer int
}

func read(data, dir string, rows int) ([]text, error) {
	tok, err := tokenizer.Load(dir)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(data)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []text
	for lines := bufio.NewScanner(f); len(all) < rows && lines.Scan(); {
		var row struct{ Question, Answer string }
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			return nil, fmt.Errorf("%s: %w", data, err)
		}
		prompt := tok.Encode("Question: "+row.Question+"\nAnswer:", true)
		all = append(all, text{append(prompt, tok.Encode(" "+row.Answer, false)...), len(prompt)})
	}
	return all, nil
}

// logprobs returns those of all answers' tokens.
func logprobs(ctx context.Context, o engine.Options, texts []text) ([]float32, error) {
	e, err := engine.Open(o)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	c, err := e.SamplingClient(ctx, tinker.SamplingClientRequest{BaseModel: "m"})
	if err != nil {
		return nil, err
	}
	var all []float32
	for _, t := range texts {
		logp, err := tinker.ComputeLogprobs(ctx, c, tinker.Text(t.tokens))
		if err != nil {
			return nil, err
		}
		all = append(all, logp[t.answer:]...)
	}
	return all, nil
}
