package engine_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

const tinyModel = "../examples/tiny/model"

// The log-probability of a token is the same number however it is computed: while it is sampled, in a later forward
// pass, beside other sequences.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	seed := uint64(1)
	e, err := engine.Open(engine.Options{Dir: dir, Models: map[string]engine.Model{"tiny": {Dir: tinyModel}},
		Seed: &seed})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	ctx := context.Background()
	c, err := e.SamplingClient(ctx, tinker.SamplingClientRequest{BaseModel: "tiny"})
	if err != nil {
		log.Fatal(err)
	}
	prompt := []int32{5, 3, 8, 1}
	params := tinker.DefaultSampling()
	params.MaxTokens, params.StopTokens = 6, []int32{767}
	f, err := c.Sample(ctx, tinker.SampleRequest{Prompt: tinker.Text(prompt), NumSamples: 4, Params: params})
	if err != nil {
		log.Fatal(err)
	}
	samples, err := f.Wait(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for i, s := range samples.Sequences {
		again, err := tinker.ComputeLogprobs(ctx, c, tinker.Text(append(prompt[:4:4], s.Tokens...)))
		if err != nil {
			log.Fatal(err)
		}
		same := 0
		for j, logprob := range s.Logprobs {
			if again[len(prompt)+j] == logprob {
				same++
			}
		}
		fmt.Printf("sample %d: %d of %d log-probabilities are the same\n", i, same, len(s.Tokens))
	}
	// Output:
	// sample 0: 6 of 6 log-probabilities are the same
	// sample 1: 6 of 6 log-probabilities are the same
	// sample 2: 6 of 6 log-probabilities are the same
	// sample 3: 6 of 6 log-probabilities are the same
}

// Describe reads a model folder without loading the weights.
func ExampleDescribe() {
	d, err := engine.Describe(tinyModel)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: %d layers of width %d, %d parameters in %s, a context of %d tokens\n", d.Family, d.Layers, d.Width,
		d.Parameters, d.DType, d.Context)
	m := d.Memory(0, 64, 256, 32)
	fmt.Printf("64 samples of 256 tokens: weights %.1f MB, keys and values %.1f MB\n", float64(m.Weights)/1e6,
		float64(m.Cache)/1e6)
	fmt.Printf("a LoRA of rank 32 has %d parameters\n", d.AdapterParameters(32))
	// Output:
	// Qwen3ForCausalLM: 4 layers of width 128, 886144 parameters in bfloat16, a context of 512 tokens
	// 64 samples of 256 tokens: weights 1.8 MB, keys and values 33.6 MB
	// a LoRA of rank 32 has 339968 parameters
}

// ReadAdapter reads what Python's peft or a run of this program has saved.
func ExampleReadAdapter() {
	a, err := engine.ReadAdapter("internal/model/testdata/peft/llama32-qv")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(a.Rank, a.Alpha, a.Modules)
	// Output:
	// 4 8 [q_proj v_proj]
}
