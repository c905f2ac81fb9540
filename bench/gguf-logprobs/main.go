// Command gguf-logprobs compares a GGUF file's weights and log-probabilities, as the engine reads them, with those of
// transformers.
//
// Needs: a GGUF file as its argument, and Python and pip or PYTHON=python with torch, transformers and gguf
// Takes: ten minutes
//
// transformers makes a folder of the file, in bf16. Its tensors must have our bits, and the engine must give both the
// same log-probabilities, to the bit. On a text, ours must be as near to transformers' in float32 as transformers' in
// bf16 are. With -folder FOLDER, which transformers made, only the first comparison is made and Python is not asked.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/bench/internal/venv"
	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
	"github.com/seed-d9ad8ee0/trinity/hf/gguf/modeldir"
	"github.com/seed-d9ad8ee0/trinity/hf/safetensors"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

func main() {
	folder := flag.String("folder", "", "the folder that transformers made of the file, instead of asking Python")
	flag.Parse()
	if _, err := os.Stat(flag.Arg(0)); err != nil {
		fmt.Println("skipped: name a GGUF file: go run ./bench gguf-logprobs FILE.gguf")
		return
	}
	if err := run(context.Background(), flag.Arg(0), *folder); err != nil {
		fmt.Fprintln(os.Stderr, "gguf-logprobs:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, file, folder string) error {
	work, err := os.MkdirTemp("", "gguf-logprobs")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	ask := folder == ""
	if ask {
		folder = filepath.Join(work, "folder")
		python, err := venv.Python("bin/gguf-logprobs", "torch", "transformers==5.23.0", "gguf==0.19.0", "accelerate")
		if err != nil {
			return err
		}
		c := exec.CommandContext(ctx, python, "bench/gguf-logprobs/logprobs.py", file, work)
		c.Stdout, c.Stderr = os.Stderr, os.Stderr
		if err := c.Run(); err != nil {
			return fmt.Errorf("%s logprobs.py: %w", python, err)
		}
	}
	ours := filepath.Join(work, "ours")
	if err := write(file, ours); err != nil {
		return err
	}
	e, err := engine.Open(engine.Options{Dir: filepath.Join(work, "engine"),
		Models: map[string]engine.Model{"ours": {Dir: ours}, "theirs": {Dir: folder}}})
	if err != nil {
		return err
	}
	defer e.Close()
	err = same(ctx, e, ours, folder)
	if ask {
		err = errors.Join(err, near(ctx, e, filepath.Join(work, "logprobs.safetensors")))
	}
	return err
}

// write makes the model folder of a file.
func write(file, dir string) error {
	f, err := gguf.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	return modeldir.Write(f, dir)
}

// same compares tensors, and the log-probabilities of tokens without a meaning.
func same(ctx context.Context, e *engine.Engine, ours, theirs string) error {
	tensors, values, err := sameTensors(ours, theirs)
	if err != nil {
		return err
	}
	conf, err := engine.Describe(ours)
	if err != nil {
		return err
	}
	tokens := make([]int32, 128)
	for i := range tokens {
		tokens[i] = int32((i*i*7919 + 13*i + 1) % conf.Vocab)
	}
	a, err1 := logprobs(ctx, e, "ours", tokens)
	b, err2 := logprobs(ctx, e, "theirs", tokens)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	differ := 0
	for i := range a {
		if math.Float32bits(a[i]) != math.Float32bits(b[i]) {
			differ++
		}
	}
	fmt.Printf("%d tensors with %d values equal those of transformers' folder in bf16; %d of %d logprobs differ\n",
		tensors, values, differ, len(a))
	if differ > 0 {
		return fmt.Errorf("%d logprobs differ", differ)
	}
	return nil
}

// sameTensors compares the weights of two folders.
func sameTensors(ours, theirs string) (tensors, values int, err error) {
	f, err1 := safetensors.Open(filepath.Join(ours, "model.safetensors"))
	g, err2 := safetensors.Open(filepath.Join(theirs, "model.safetensors"))
	if err := errors.Join(err1, err2); err != nil {
		return 0, 0, err
	}
	defer f.Close()
	defer g.Close()
	for _, x := range f.Tensors() {
		y, err := g.Tensor(x.Name)
		if err != nil {
			return 0, 0, err
		}
		if y.DType != safetensors.BF16 || !slices.Equal(x.Shape, y.Shape) || !slices.Equal(x.Bits(), y.Bits()) {
			return 0, 0, fmt.Errorf("the tensor %s differs", x.Name)
		}
		tensors++
		values += x.Len()
	}
	if n := len(g.Tensors()); n != tensors {
		return 0, 0, fmt.Errorf("transformers' folder has %d tensors, and %d were compared", n, tensors)
	}
	return tensors, values, nil
}

// logprobs returns the log-probabilities of the tokens after the first.
func logprobs(ctx context.Context, e *engine.Engine, model string, tokens []int32) ([]float32, error) {
	c, err := e.SamplingClient(ctx, tinker.SamplingClientRequest{BaseModel: model})
	if err != nil {
		return nil, err
	}
	all, err := tinker.ComputeLogprobs(ctx, c, tinker.Text(tokens))
	if err != nil {
		return nil, err
	}
	return all[1:], nil
}

// near compares with transformers' log-probabilities of a text, which the file has in float32 and in bf16.
func near(ctx context.Context, e *engine.Engine, path string) error {
	f, err := safetensors.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	all := map[string][]float32{}
	for _, x := range f.Tensors() {
		if all[x.Name], err = x.Floats(); err != nil {
			return err
		}
	}
	var tokens []int32
	for _, id := range all["tokens"] {
		tokens = append(tokens, int32(id))
	}
	logp, err := logprobs(ctx, e, "ours", tokens)
	if err != nil {
		return err
	}
	ours, most := difference(logp, all["float32"])
	theirs, theirMost := difference(all["bf16"], all["float32"])
	fmt.Printf("%d tokens: |Δ logprob| to transformers in float32, mean and largest: ours %.4f and %.3f, transformers "+
		"in bf16 %.4f and %.3f; perplexity %.4f, float32 %.4f, bf16 %.4f\n", len(tokens), ours, most, theirs,
		theirMost, perplexity(logp), perplexity(all["float32"]), perplexity(all["bf16"]))
	if !(ours <= 1.25*theirs) {
		return fmt.Errorf("the mean difference is %v, transformers' in bf16 is %v", ours, theirs)
	}
	return nil
}

func difference(got, want []float32) (mean, most float64) {
	for i, w := range want {
		x := math.Abs(float64(got[i]) - float64(w))
		mean, most = mean+x/float64(len(want)), max(most, x)
	}
	return mean, most
}

func perplexity(logp []float32) float64 {
	sum := 0.0
	for _, v := range logp {
		sum += float64(v)
	}
	return math.Exp(-sum / float64(len(logp)))
}
