package run

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/run/budget"
)

func TestEstimate(t *testing.T) {
	t.Parallel()
	cfg := load(t, t.TempDir())
	b, err := reckon(t.Context(), cfg, options())
	if err != nil {
		t.Fatal(err)
	}
	answer := int64(*cfg.Model.MaxResponseTokens)
	samples := cfg.Buffer.BatchSize * cfg.Algorithm.RepeatTimes
	if b.Rows != 2000 || b.Steps != 50 || b.Samples != samples || b.Looked != 64 {
		t.Errorf("rows, steps, samples, looked = %d, %d, %d, %d, want 2000, 50, %d, %d", b.Rows, b.Steps, b.Samples,
			b.Looked, samples, 64)
	}
	if b.Prompt < 20 || b.Prompt > b.Longest || b.Longest > 120 {
		t.Errorf("a prompt has %d tokens, the longest %d", b.Prompt, b.Longest)
	}
	if b.Tried < 128 || b.Sampled <= 0 || b.Sampled > b.MaxSampled || b.Trained > b.MaxTrained {
		t.Errorf("tried, sampled, trained = %d, %d, %d", b.Tried, b.Sampled, b.Trained)
	}
	if want := int64(samples) * answer; b.MaxSampled != want {
		t.Errorf("MaxSampled = %d, want %d", b.MaxSampled, want)
	}
	if want := int64(samples) * (answer + int64(*cfg.Model.MaxPromptTokens)); b.MaxTrained != want {
		t.Errorf("MaxTrained = %d, want %d", b.MaxTrained, want)
	}
	if b.Rates.Sampled <= 0 || b.Rates.Trained <= 0 || b.StepTime() <= 0 {
		t.Errorf("rates %+v give %v a step", b.Rates, b.StepTime())
	}
	for _, word := range []string{"model    886144 parameters", "data     2000 rows",
		"plan     50 steps of 128 samples: about", "time     about"} {
		if !strings.Contains(b.String(), word) {
			t.Errorf("the budget does not say %q:\n%s", word, b)
		}
	}
}

// An estimate never asks the server, where a model made only for the question would cost money.
func TestEstimateAsksNoServer(t *testing.T) {
	t.Parallel()
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.WriteHeader(http.StatusInternalServerError)
	}))
	defer server.Close()
	o := options()
	o.LookupEnv = withKey
	remote := "model.tinker.base_url=" + server.URL
	if b, err := reckon(t.Context(), load(t, t.TempDir(), remote), o); err != nil || b.Samples != 128 ||
		b.Rates != (budget.Rates{}) {
		t.Errorf("with the tokenizer in a folder: %+v, %v", b, err)
	}
	_, err := reckon(t.Context(), load(t, t.TempDir(), remote, "model.model_path=nobody/nothing"), o)
	if err == nil || !strings.Contains(err.Error(), "an estimate asks no server") {
		t.Errorf("without a tokenizer: %v", err)
	}
	if asked != 0 {
		t.Errorf("the server was asked %d times", asked)
	}
}

// reckon inspects a configuration without stages and reckons its budget.
func reckon(ctx context.Context, cfg *config.Config, o Options) (*budget.Budget, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute) // the pilot's own patience would end on a busy machine
	defer cancel()
	in, err := Inspect(ctx, cfg, o)
	if err != nil {
		return nil, err
	}
	b, err := in.Estimate(ctx)
	return b, errors.Join(err, in.Close())
}
