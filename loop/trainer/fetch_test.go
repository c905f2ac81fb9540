package trainer

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// crowded takes a prompt when a number of them are on their way.
type crowded struct {
	tinker.SamplingClient
	here *sync.WaitGroup // it counts down from that number
}

func (c crowded) Sample(_ context.Context, r tinker.SampleRequest) (*tinker.Future[tinker.SampleResponse], error) {
	c.here.Done()
	c.here.Wait()
	tokens := r.Prompt.Chunks[0].Tokens
	if tokens[0] == 0 {
		return nil, errors.New("no token 0")
	}
	f, resolve := tinker.NewFuture[tinker.SampleResponse]()
	resolve(tinker.SampleResponse{PromptLogprobs: []float32{float32(tokens[0])}}, nil)
	return f, nil
}

// Prompts do not wait for each other's way to the server, and each experience gets what was said of its own.
func TestPromptsTravelTogether(t *testing.T) {
	var batch []*experience.Experience
	for i := range 8 {
		turn := experience.Turn{Prompt: []int32{int32(i + 1)}, Response: []int32{2}, Logprobs: []float32{-1}}
		batch = append(batch, turn.Experience(experience.EID{Batch: "1", Task: strconv.Itoa(i)}))
	}
	model := crowded{here: new(sync.WaitGroup)}
	model.here.Add(len(batch))
	answer, err := askPrompts(t.Context(), model, "logprobs", batch, tinker.SampleRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range batch {
		got, err := answer(i)
		if err != nil || len(got) != 1 || got[0].PromptLogprobs[0] != float32(i+1) {
			t.Errorf("experience %d got %v, %v", i, got, err)
		}
	}
	batch[3].Tokens[0] = 0
	model.here.Add(len(batch))
	if _, err := askPrompts(t.Context(), model, "logprobs", batch, tinker.SampleRequest{}); err == nil ||
		!strings.Contains(err.Error(), "1/3/0/0/: no token 0") {
		t.Errorf("the error is %v", err)
	}
}
