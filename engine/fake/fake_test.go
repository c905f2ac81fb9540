package fake_test

import (
	"context"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/engine/fake"
	"github.com/seed-d9ad8ee0/trinity/engine/journal"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/tinkertest"
)

var _ journal.Machine = (*fake.Service)(nil)

const model = "../../examples/tiny/model"

func open(t *testing.T, dir string, phrases ...string) *fake.Service {
	t.Helper()
	s, err := fake.Open(engine.Options{Dir: filepath.Join(dir, "checkpoints"),
		Models: map[string]engine.Model{"tiny": {Dir: model}}}, phrases...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestContract(t *testing.T) {
	tinkertest.Run(t, func(t *testing.T) tinker.Service { return open(t, t.TempDir()) })
}

// A journal goes around the fake as around the engine.
func TestContractBelowAJournal(t *testing.T) {
	tinkertest.Run(t, func(t *testing.T) tinker.Service {
		dir := t.TempDir()
		j, err := journal.Open(context.Background(), filepath.Join(dir, "journal"), open(t, dir), journal.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return j
	})
}

// A model with phrases keeps the contract, and says them.
func TestPhrases(t *testing.T) {
	said := func(t *testing.T) *fake.Service { return open(t, t.TempDir(), `<yes>`, `<no>`) }
	tinkertest.Run(t, func(t *testing.T) tinker.Service { return said(t) })
	s := said(t)
	defer s.Close()
	c, err := s.SamplingClient(t.Context(), tinker.SamplingClientRequest{BaseModel: "tiny"})
	if err != nil {
		t.Fatal(err)
	}
	req := tinker.SampleRequest{Prompt: tinker.Text([]int32{1, 2, 3}), NumSamples: 64, Params: tinker.DefaultSampling()}
	req.Params.MaxTokens = 24
	out, err := tinker.Sample(t.Context(), c, req)
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := tokenizer.Load(model)
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, q := range out.Sequences {
		for _, text := range regexp.MustCompile(`<yes>|<no>`).FindAllString(tokens.Decode(q.Tokens, true), -1) {
			count[text]++
		}
	}
	if count["<yes>"] < 8 || count["<no>"] < 8 {
		t.Errorf("64 samples have these phrases: %v", count)
	}
}
