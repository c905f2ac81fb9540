package tinker_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// model is the folder of the example model, which the engine trains in this process. A client of package tinker/client
// is a Service too: the functions below work on both.
const model = "../examples/tiny/model"

// open starts a service on the example model.
func open() (service *engine.Engine, remove func()) {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	seed := uint64(1)
	service, err = engine.Open(engine.Options{Dir: dir, Models: map[string]engine.Model{"tiny": {Dir: model}},
		Seed:  &seed,
		Order: "sequential"}) // so that the output below is the same on every processor
	if err != nil {
		log.Fatal(err)
	}
	return service, func() {
		service.Close()
		os.RemoveAll(dir)
	}
}

// next is training data: the targets are the tokens that follow.
func next(ids []int32) tinker.Datum {
	weights := make([]float32, len(ids)-1)
	for i := range weights {
		weights[i] = 1
	}
	return tinker.Datum{ModelInput: tinker.Text(ids[:len(ids)-1]), LossFnInputs: map[string]tinker.Tensor{
		tinker.TargetTokens: tinker.TokenInts(ids[1:]), tinker.Weights: tinker.Floats(weights)}}
}

// learn trains a LoRA on one text and returns the model's continuation of a prompt.
func learn(ctx context.Context, service tinker.Service, text, prompt string) (string, error) {
	tok, err := tokenizer.Load(model)
	if err != nil {
		return "", err
	}
	seed := int64(7)
	trained, err := service.CreateModel(ctx, tinker.CreateModelRequest{SessionID: "example", BaseModel: "tiny",
		LoRA: tinker.LoRA{Rank: 8, Seed: &seed, TrainAttn: true, TrainMLP: true}})
	if err != nil {
		return "", err
	}
	adam := tinker.DefaultAdam()
	adam.LearningRate = 0.004
	for step := range 60 {
		// A returned future is an accepted request: the optimizer step may be sent before the gradient is computed.
		gradient, err := trained.ForwardBackward(ctx,
			tinker.ForwardRequest{LossFn: tinker.CrossEntropy, Data: []tinker.Datum{next(tok.Encode(text, false))}})
		if err != nil {
			return "", err
		}
		if _, err := trained.OptimStep(ctx, tinker.OptimStepRequest{Adam: adam}); err != nil {
			return "", err
		}
		out, err := gradient.Wait(ctx)
		if err != nil {
			return "", err
		}
		if step%20 == 0 {
			fmt.Printf("step %d: loss %.1f\n", step, out.Metrics["loss:sum"])
		}
	}
	saving, err := trained.SaveWeightsForSampler(ctx, tinker.SaveRequest{Name: "last"})
	if err != nil {
		return "", err
	}
	saved, err := saving.Wait(ctx)
	if err != nil {
		return "", err
	}
	sampler, err := service.SamplingClient(ctx, tinker.SamplingClientRequest{ModelPath: saved.Path})
	if err != nil {
		return "", err
	}
	params := tinker.DefaultSampling()
	params.Temperature, params.MaxTokens = 0, len(tok.Encode(text, false))-len(tok.Encode(prompt, false))
	drawing, err := sampler.Sample(ctx, tinker.SampleRequest{Prompt: tinker.Text(tok.Encode(prompt, false)),
		NumSamples: 1, Params: params})
	if err != nil {
		return "", err
	}
	answer, err := drawing.Wait(ctx)
	if err != nil {
		return "", err
	}
	return tok.Decode(answer.Sequences[0].Tokens, false), nil
}

// A model learns a sentence by heart: gradients, optimizer steps, a checkpoint for sampling, and a sample.
func Example() {
	service, remove := open()
	defer remove()
	answer, err := learn(context.Background(), service, "Gina has 2 nuts and Paul brings 4 more.", "Gina has")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%q\n", answer)
	// Output:
	// step 0: loss 134.3
	// step 20: loss 24.6
	// step 40: loss 13.9
	// " 2 nuts and Paul brings 4 more."
}

// A custom loss is a function from log-probabilities to its derivative with respect to each of them.
func ExampleForwardBackwardCustom() {
	service, remove := open()
	defer remove()
	ctx := context.Background()
	seed := int64(7)
	trained, err := service.CreateModel(ctx, tinker.CreateModelRequest{SessionID: "example", BaseModel: "tiny",
		LoRA: tinker.LoRA{Rank: 8, Seed: &seed, TrainAttn: true}})
	if err != nil {
		log.Fatal(err)
	}
	half := func(logprobs [][]float32) (gradient [][]float32, err error) {
		return logprobs, nil // the derivative of ½ Σ logprob²
	}
	data := tinker.ForwardRequest{Data: []tinker.Datum{next([]int32{5, 3, 8, 1})}}
	f, requests, err := tinker.ForwardBackwardCustom(ctx, trained, data, nil, half)
	if err != nil {
		log.Fatal(err)
	}
	out, err := f.Wait(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d requests, %d log-probabilities\n", requests, len(out.LossFnOutputs[0][tinker.Logprobs].Float))
	// Output:
	// 2 requests, 3 log-probabilities
}

// Errors have a category: the request was wrong, or the server failed.
func ExampleCategoryOf() {
	service, remove := open()
	defer remove()
	_, err := service.CreateModel(context.Background(),
		tinker.CreateModelRequest{BaseModel: "gigantic", LoRA: tinker.LoRA{Rank: 8, TrainAttn: true}})
	fmt.Println(tinker.CategoryOf(err), err)
	// Output:
	// user engine: base model "gigantic" is not served; there are ["tiny"]: no such base model: not found
}

// Paths name checkpoints.
func ExampleParsePath() {
	p, err := tinker.ParsePath("tinker://s:train:0/weights/step_10")
	fmt.Println(p.ModelID, p.Kind, p.Name, err)
	_, err = tinker.ParsePath("step_10")
	fmt.Println(err)
	// Output:
	// s:train:0 weights step_10 <nil>
	// tinker: checkpoint path "step_10" is not tinker://<model id>/weights|sampler_weights/<name>
}
