package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/client"
)

// Every command about a server's runs and checkpoints, as table and as JSON, and its message for missing ones and for
// those of another tenant.
func TestCheckpointCommands(t *testing.T) {
	t.Parallel()
	p := newRunning(t, t.TempDir())
	c, err := client.Open(t.Context(), client.Options{BaseURL: p.URL, APIKey: "tml-test"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	m, err := c.CreateModel(t.Context(), tinker.CreateModelRequest{BaseModel: "tiny", LoRA: tinker.LoRA{Rank: 4,
		TrainAttn: true}})
	if err != nil {
		t.Fatal(err)
	}
	save := func(f *tinker.Future[tinker.SaveOutput], err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		out, err := f.Wait(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return out.Path
	}
	state := save(m.SaveState(t.Context(), tinker.SaveRequest{Name: "mid"}))
	sampler := save(m.SaveWeightsForSampler(t.Context(), tinker.SaveRequest{Name: "end"}))
	info, err := m.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	const ok, failed, usage = 0, 1, 2
	key := "tml-test"
	run := func(code int, want string, args ...string) string {
		t.Helper()
		cmd := p.Command(args...)
		cmd.Env = append(cmd.Env, "TINKER_BASE_URL="+p.URL, "TINKER_API_KEY="+key)
		out, _ := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != code || !strings.Contains(string(out), want) {
			t.Errorf("trinity %s: exit code %d, want %d and %q in:\n%s", strings.Join(args, " "),
				cmd.ProcessState.ExitCode(), code, want, out)
		}
		return string(out)
	}
	asJSON := func(args ...string) (v any) {
		t.Helper()
		if out := run(ok, "", append(args, "-f", "json")...); json.Unmarshal([]byte(out), &v) != nil {
			t.Errorf("trinity %s -f json prints %s", strings.Join(args, " "), out)
		}
		return v
	}
	run(ok, info.ModelID, "ps")
	if v, _ := asJSON("ps").(map[string]any); len(v["training_runs"].([]any)) != 1 {
		t.Errorf("ps: %v", v)
	}
	run(ok, state, "checkpoint", "list")
	run(ok, sampler, "checkpoint", "list", "--run", info.ModelID)
	if v, _ := asJSON("checkpoint", "list").([]any); len(v) != 2 {
		t.Errorf("checkpoint list: %v", v)
	}
	run(ok, "tiny        4", "checkpoint", "info", sampler)
	if v, _ := asJSON("checkpoint", "info", state).(map[string]any); v["lora_rank"] != 4.0 {
		t.Errorf("checkpoint info: %v", v)
	}
	run(ok, "in end", "checkpoint", "export", sampler)
	for _, name := range []string{"adapter_config.json", "adapter_model.safetensors", "checkpoint_complete"} {
		if _, err := os.Stat(filepath.Join(p.Home, "end", name)); err != nil {
			t.Error(err)
		}
	}
	run(usage, "already exists", "checkpoint", "export", sampler)
	run(ok, "", "checkpoint", "set-ttl", state, "--ttl", "2h")
	if v, _ := asJSON("checkpoint", "list").([]any); !strings.Contains(string(mustJSON(t, v)), `"expires_at":"2`) {
		t.Errorf("after set-ttl: %v", v)
	}
	run(ok, "", "checkpoint", "set-ttl", state, "--keep")
	run(usage, "must be at least 1s", "checkpoint", "set-ttl", state, "--ttl", "1ms")

	missing := "tinker://" + info.ModelID + "/weights/nosuch"
	run(failed, "not found", "checkpoint", "info", missing)
	run(failed, "not found", "checkpoint", "export", missing)
	run(failed, "not found", "checkpoint", "set-ttl", missing, "--keep")
	run(failed, "0 of 1 deleted", "checkpoint", "delete", "--yes", missing)
	run(failed, "not found", "checkpoint", "list", "--run", "nosuch")
	run(usage, "is not tinker://", "checkpoint", "export", "nonsense")
	key = "tml-somebody-else"
	run(failed, "not found", "checkpoint", "info", state)
	run(failed, "not found", "checkpoint", "list", "--run", info.ModelID)
	run(failed, "0 of 1 deleted", "checkpoint", "delete", "--yes", state)
	if out := run(ok, "", "ps"); strings.Contains(out, info.ModelID) {
		t.Errorf("ps shows another's run:\n%s", out)
	}
	key = "sk-1"
	run(failed, "does not begin with tml-", "ps")
	key = "tml-test"
	run(usage, "confirm with --yes", "checkpoint", "delete", state)
	run(ok, "2 of 2 deleted", "checkpoint", "delete", "--yes", state, sampler)
	if v, _ := asJSON("checkpoint", "list").([]any); len(v) != 0 {
		t.Errorf("after delete: %v", v)
	}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
