package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/disk/disktest"
)

// two are two tasksets, chosen by a selector; the first names reward and workflow by the row.
func two(t testing.TB, selector string) []string {
	t.Helper()
	dir := t.TempDir()
	for name, n := range map[string]int{"a": 5, "b": 7} {
		var text strings.Builder
		for i := range n {
			fmt.Fprintf(&text, `{"question": "%s: %d and %d apples?", "answer": "#### %d", "weak": %g, "strong": %g,`+
				` "how": "math_workflow"}`+"\n", name, i, i, 2*i, float64(i)/10, 0.5+float64(i)/20)
		}
		if err := os.WriteFile(filepath.Join(dir, name+".jsonl"), []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	set := func(name, format string) string {
		return fmt.Sprintf("{name: %s, path: %s, default_workflow_type: math_boxed_workflow, format: {prompt_key: "+
			"question, response_key: answer%s}, data_selector: {selector_type: %s, feature_keys: [weak, strong]}}",
			name, filepath.Join(dir, name+".jsonl"), format, selector)
	}
	return and(tiny, "buffer.explorer_input.taskset=null", "buffer.total_steps=4", "trainer.total_steps=4",
		"explorer.over_rollout.ratio=0",
		"buffer.explorer_input.tasksets=["+set("a", ", workflow_key: how")+", "+set("b", "")+"]",
		"data_processor.experience_pipeline.operators=[{name: pass_rate_calculator}]")
}

// The tasks of two sets come in upstream's order, each with its own workflow, and explorer_meta.json says where the
// sets stand.
func TestTasksets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	runs(t, load(t, dir, two(t, "shuffle")...), options())
	var got []string
	for step := 1; step <= 4; step++ {
		data, err := os.ReadFile(filepath.Join(dir, "trinity-tiny", "gsm8k", "rollouts",
			fmt.Sprintf("step_%06d.jsonl", step)))
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
			var r struct {
				Index   int    `json:"task_index"`
				Set     int    `json:"taskset_id"`
				Prompt  string `json:"prompt"`
				Metrics map[string]float64
			}
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatal(err)
			}
			if i%2 == 0 { // two samples of a task
				got = append(got, fmt.Sprintf("%d.%d", r.Set, r.Index))
			}
			if boxed := strings.Contains(r.Prompt, "boxed"); boxed != (r.Set == 1) {
				t.Errorf("row %d of set %d is asked with the box: %v", r.Index, r.Set, boxed)
			}
			if want := []string{"a: ", "b: "}[r.Set]; !strings.Contains(r.Prompt, want) {
				t.Errorf("a row of set %d has prompt %q", r.Set, r.Prompt)
			}
		}
	}
	if want := "1.3 0.4 1.2 0.2 1.6 1.4 0.3 0.1"; strings.Join(got, " ") != want {
		t.Errorf("rows %v, want %s", got, want)
	}
	meta, err := os.ReadFile(filepath.Join(dir, "trinity-tiny", "gsm8k", "explorer_meta.json"))
	if err != nil || !strings.Contains(strings.Join(strings.Fields(string(meta)), ""),
		`"latest_iteration":4,"taskset_states":[{"current_index":4},{"current_index":4}]`) {
		t.Errorf("explorer_meta.json is %s, %v", meta, err)
	}
}

// An adaptive selector chooses as in an unbroken run after a kill anywhere, also when the service has lost its models.
func TestAdaptiveSelectorSurvivesKills(t *testing.T) {
	t.Parallel()
	cfg := and(two(t, "difficulty_based"), "synchronizer.sync_offset=1", "trainer.save_interval=3")
	for _, service := range []string{"durable", "fleeting"} {
		o := options()
		if service == "fleeting" {
			o.Fleeting = forgets
		}
		survivesKills(t, o, 6, jobWith(cfg...))
	}
}

// A kill right behind a commit of the trainer: the selectors learn again from the state before, so weights that those
// steps sampled with must still be there.
func TestAdaptiveSelectorKeepsWeights(t *testing.T) {
	t.Parallel()
	unraced(t, "TestAdaptiveSelectorSurvivesKills")
	for _, every := range []string{"3", "10"} {
		cfg := and(two(t, "difficulty_based"), "synchronizer.sync_offset=1", "trainer.save_interval="+every)
		o, count := options(), &killBehind{Crash: &disktest.Crash{FS: disk.OS()}}
		o.FS = count
		want := runs(t, load(t, t.TempDir(), cfg...), o)
		for at := 1; at <= count.seen; at++ {
			dir := t.TempDir()
			o.FS, o.Out = &killBehind{Crash: &disktest.Crash{FS: disk.OS()}, at: at}, io.Discard
			if _, err := Run(context.Background(), load(t, dir, cfg...), o); err != nil &&
				!errors.Is(err, disktest.ErrCrash) {
				t.Fatal(err)
			}
			o.FS = nil
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			sum, err := Run(ctx, load(t, dir, cfg...), o)
			cancel()
			if err != nil {
				t.Fatalf("saves every %s steps, killed after commit %d: %v", every, at, err)
			}
			same(t, fmt.Sprintf("saves every %s steps, killed after commit %d", every, at), timeless(sum.Lines), want)
		}
	}
}

// killBehind crashes after the at-th time that the trainer's state is put in place.
type killBehind struct {
	*disktest.Crash
	at, seen int
}

func (k *killBehind) Rename(from, to string) error {
	err := k.Crash.Rename(from, to)
	if filepath.Base(to) == "trainer_meta.json" {
		if k.seen++; k.seen == k.at {
			k.Now()
		}
	}
	return err
}

func TestAdaptiveSelectorNeedsRates(t *testing.T) {
	t.Parallel()
	_, err := Run(context.Background(),
		load(t, t.TempDir(), and(two(t, "difficulty_based"), "data_processor.experience_pipeline.operators=[]")...),
		options())
	if err == nil || !strings.Contains(err.Error(), "put it into data_processor.experience_pipeline.operators") {
		t.Errorf("error %v", err)
	}
}
