package run

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/run/internal/job"
)

// judged is a short run whose answers a judge compares.
var judged = append([]string{"buffer.explorer_input.taskset.default_workflow_type=math_ruler_workflow", "name=judged"},
	small...)

// A model of this engine judges, itself or another one, and says the same each time. One that was never taught to judge
// gives no scores: its tasks fail and are not rewarded with 0.
func TestJudge(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"examples/tiny/model", "examples/tiny/guess/model"} {
		args := append(judged, "explorer.auxiliary_models=[{model_path: "+path+", max_response_tokens: 8}]")
		said := func() []string {
			var out bytes.Buffer
			o := options()
			o.Out = &out
			_, err := Run(t.Context(), load(t, t.TempDir(), args...), o)
			if err == nil || !strings.Contains(err.Error(), "all 2 tasks failed") {
				t.Errorf("%s: %v", path, err)
			}
			lines := slices.DeleteFunc(strings.Split(out.String(), "\n"), func(line string) bool {
				return !strings.Contains(line, "judge: the verdict cannot be read, so the answers have no reward")
			})
			slices.Sort(lines)
			return lines
		}
		if first, again := said(), said(); len(first) != 2 || !slices.Equal(first, again) {
			t.Errorf("%s: it said\n%s\nand then\n%s", path, strings.Join(first, "\n"), strings.Join(again, "\n"))
		}
	}
}

func TestJudgeIsMissing(t *testing.T) {
	t.Parallel()
	_, err := Run(t.Context(), load(t, t.TempDir(), append(judged, "explorer.auxiliary_models=[{model_path: "+
		"no/such/folder}]")...), options())
	if err == nil || !strings.Contains(err.Error(),
		"judge: modelname: model \"no/such/folder\" is not a folder or GGUF file here") {
		t.Errorf("a judge that is not there: %v", err)
	}
}

func TestOpenAIJudge(t *testing.T) {
	t.Parallel()
	var got map[string]any
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path != "/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer secret" ||
			json.Unmarshal(body, &got) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		io.WriteString(w, `{"choices": [{"message": {"role": "assistant", "content": "fine"}}]}`)
	}))
	defer server.Close()
	env := map[string]string{"URL": server.URL + "/v1/", "KEY": "secret"}
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	j, err := job.ReachJudge(lookup, "wise", "URL", "KEY")
	if err != nil {
		t.Fatal(err)
	}
	text, err := j.Ask(context.Background(), []chat.Message{{Role: "user", Content: "Well?"}}, 0.5, 1<<33)
	if err != nil || text != "fine" {
		t.Errorf("Ask = %q, %v", text, err)
	}
	want := `{"messages":[{"content":"Well?","role":"user"}],"model":"wise","seed":1,"temperature":0.5}`
	if raw, _ := json.Marshal(got); string(raw) != want {
		t.Errorf("the service got %s, want %s", raw, want)
	}
	env["KEY"] = "wrong"
	if j, err = job.ReachJudge(lookup, "wise", "URL", "KEY"); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Ask(context.Background(), nil, 0, 0); err == nil ||
		!strings.Contains(err.Error(), "400 Bad Request") {
		t.Errorf("a refusal gives %v", err)
	}
	if _, err := job.ReachJudge(lookup, "wise", "NOWHERE", "KEY"); err == nil ||
		!strings.Contains(err.Error(), "NOWHERE, which is not set") {
		t.Errorf("without an address: %v", err)
	}
}
