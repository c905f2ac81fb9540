package client_test

import (
	"context"
	"fmt"
	"log"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/client"
)

// One step of supervised training on a server, and its weights saved to sample from.
func Example() {
	ctx := context.Background()
	c, err := client.Open(ctx, client.Options{BaseURL: "http://127.0.0.1:8000", APIKey: "tml-any",
		Paused: func(p client.Pause) { log.Print(p.State, p.Reason) }})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	m, err := c.CreateModel(ctx, tinker.CreateModelRequest{BaseModel: "Qwen/Qwen3-0.6B",
		LoRA: tinker.LoRA{Rank: 32, TrainAttn: true, TrainMLP: true, TrainUnembed: true}})
	if err != nil {
		log.Fatal(err)
	}
	text := []int32{9707, 11, 1879, 0}
	batch := tinker.ForwardRequest{LossFn: tinker.CrossEntropy,
		Data: []tinker.Datum{{ModelInput: tinker.Text(text[:3]), LossFnInputs: map[string]tinker.Tensor{
			tinker.TargetTokens: tinker.TokenInts(text[1:]), tinker.Weights: tinker.Floats([]float32{1, 1, 1})}}}}
	f, _, err := tinker.Submit(ctx, m, batch, true)
	if err != nil {
		log.Fatal(err)
	}
	// sent at once, before the result
	if _, err := m.OptimStep(ctx, tinker.OptimStepRequest{Adam: tinker.DefaultAdam()}); err != nil {
		log.Fatal(err)
	}
	out, err := f.Wait(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("loss", out.Metrics["loss:sum"])
	saved, err := m.SaveWeightsForSampler(ctx, tinker.SaveRequest{Name: "first"})
	if err != nil {
		log.Fatal(err)
	}
	at, err := saved.Wait(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(at.Path)
}
