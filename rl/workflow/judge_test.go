package workflow

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// says is a judge that always answers the same.
type says struct {
	text  string
	asked *[]chat.Message
}

func (s says) Ask(_ context.Context, messages []chat.Message, _ float64, _ uint64) (string, error) {
	if s.asked != nil {
		*s.asked = messages
	}
	return s.text, nil
}

func rowOf(t *testing.T, text string) dataset.Row {
	t.Helper()
	var r dataset.Row
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// play runs a workflow by its name on the answers that a model gives in turn, and returns rewards and experiences.
func play(t *testing.T, name string, r Rollout, task Task,
	answers ...string) (rewards []float64, list []*experience.Experience) {
	t.Helper()
	r.Sampler, r.Renderer, r.Params = scripted{answers: answers}, bytewise{}, tinker.DefaultSampling()
	r, err := WithDefaults(name, r, Own{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := New(name, Own{})
	if err != nil {
		t.Fatal(err)
	}
	task.Repeat = len(answers)
	if list, err = w.Run(context.Background(), &r, task); err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if err := e.Validate(); err != nil {
			t.Error(err)
		}
		rewards = append(rewards, *e.Reward)
	}
	return rewards, list
}

func TestMathEval(t *testing.T) {
	task := Task{Row: rowOf(t, `{"question": "6·6?"}`), Truth: "36"}
	rewards, list := play(t, "math_eval_workflow", Rollout{}, task, `it is \boxed{36}`, "42")
	if fmt.Sprint(rewards) != "[0 0]" || list[0].Metrics["accuracy"] != 1 || list[1].Metrics["accuracy"] != 0 {
		t.Errorf("rewards %v, metrics %v %v", rewards, list[0].Metrics, list[1].Metrics)
	}
	if !strings.Contains(list[0].PromptText, "user:6·6?\n") {
		t.Errorf("the prompt is %q", list[0].PromptText)
	}
	r := Rollout{Sampler: scripted{}, Renderer: bytewise{}}
	if _, err := (MathEval{}).Run(context.Background(), &r, Task{Row: rowOf(t, `{"q": ""}`)}); err == nil ||
		!strings.Contains(err.Error(), "has only [q]") {
		t.Errorf("without the column: %v", err)
	}
}

func TestToolCall(t *testing.T) {
	task := Task{Row: rowOf(t, `{"raw_system": "Help.", "tools": "[{\"name\": \"add\"}]",
		"conversations": [{"from": "human", "value": "2+3?"}, {"from": "function_call", "value": "{}"}, {"from": `+
		`"observation", "value": "busy"}],
		"answer": "[{\"name\": \"add\", \"arguments\": {\"a\": 2, \"b\": 3}}, {\"name\": \"end\", \"arguments\": `+
		`{}}]"}`)}
	const think, right = "<think>easy</think>",
		`[{"arguments": {}, "name": "end"}, {"name": "add", "arguments": {"b": 3, "a": 2}}]`
	answers := map[string]float64{
		think + "<tool_call>" + right + "</tool_call>":                               1,
		think + "<tool_call>[]</tool_call> no: <tool_call>" + right + "</tool_call>": 1,
		think + "<tool_call>[]</tool_call>":                                          0,
		"<tool_call>" + right + "</tool_call>":                                       0,
		"<tool_call>" + right + "</tool_call>" + think:                               0,
		think + think + "<tool_call>" + right + "</tool_call>":                       0,
		think + "<tool_call>" + right:                                                0,
		think + `<tool_call>{"name": "add"}</tool_call>`:                             0,
		think + "<tool_call>not JSON</tool_call>":                                    0,
	}
	for answer, want := range answers {
		rewards, list := play(t, "tool_call_workflow", Rollout{}, task, answer)
		if rewards[0] != want {
			t.Errorf("%s is rewarded with %g, want %g", answer, rewards[0], want)
		}
		if p := list[0].PromptText; !strings.Contains(p, "system:Help.\n") ||
			!strings.Contains(p, "{\"name\":\"add\"}\n</tools>") ||
			!strings.HasSuffix(
				p, "user:2+3?\nassistant:<tool_call>{}</tool_call>\nuser:<tool_response>\nbusy\n</tool_response>\n") {
			t.Errorf("the prompt is %q", p)
		}
	}
}

// Nothing to call is right when the answer is empty.
func TestNoToolCall(t *testing.T) {
	task := Task{Row: rowOf(t, `{"tools": [], "conversations": [{"from": "user", "value": "Hello"}], "answer": []}`)}
	if rewards, _ := play(t, "tool_call_workflow", Rollout{}, task,
		"<think></think><tool_call>[]</tool_call>"); rewards[0] != 1 {
		t.Errorf("rewarded with %g", rewards[0])
	}
}

// unread runs a workflow whose judge gives a verdict that cannot be read: the rollout fails.
func unread(t *testing.T, name, verdict string, task Task, answers ...string) {
	t.Helper()
	r, err := WithDefaults(name, Rollout{Judges: []Judge{says{text: verdict}}, Sampler: scripted{answers: answers},
		Renderer: bytewise{}, Params: tinker.DefaultSampling()}, Own{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := New(name, Own{})
	if err != nil {
		t.Fatal(err)
	}
	task.Repeat = len(answers)
	if _, err = w.Run(context.Background(), &r, task); err == nil ||
		!strings.Contains(err.Error(), "verdict cannot be read") {
		t.Errorf("%s, %q: %v", name, verdict, err)
	}
}

func TestRuler(t *testing.T) {
	task := Task{Prompt: "2+3?", Truth: "5"}
	for verdict, want := range map[string]string{
		"first is better [0.9, 0.25]":   "[0.9 0.25]",
		"[1] and so [7, -1]":            "[1 0]",
		"[0.9, 0.25]. See [1].":         "[0.9 0.25]",
		"{\"scores\": [0.9, 0.25]} [x]": "[0.9 0.25]",
		"[0.5]":                         "",
		"[a, b]":                        "",
		"neither deserves anything at":  "",
	} {
		var asked []chat.Message
		if want == "" {
			unread(t, "math_ruler_workflow", verdict, task, "<think></think><answer>5</answer>", "six")
			continue
		}
		rewards, list := play(t, "math_ruler_workflow", Rollout{Judges: []Judge{says{verdict, &asked}}}, task,
			"<think></think><answer>5</answer>", "six")
		if fmt.Sprint(rewards) != want {
			t.Errorf("%q rewards %v, want %s", verdict, rewards, want)
		}
		if list[0].Metrics["gold_reward"] != 1.1 || list[1].Metrics["gold_reward"] != -0.1 {
			t.Errorf("gold rewards %v %v", list[0].Metrics, list[1].Metrics)
		}
		if text := asked[0].Content; !strings.Contains(text, "Solution 2:\nsix\n") || !strings.Contains(text, "2+3?") {
			t.Errorf("the judge is asked %q", text)
		}
	}
	if _, err := (Ruler{}).Run(context.Background(), &Rollout{}, task); err == nil ||
		!strings.Contains(err.Error(), "explorer.auxiliary_models") {
		t.Errorf("without a judge: %v", err)
	}
}

// Over many tasks about one in five trains the judge, in a group of its own.
func TestTrainableRuler(t *testing.T) {
	trained := 0
	for seed := range uint64(200) {
		// The scripted model says the same as answer and as judgement.
		rewards, list := play(t, "math_trainable_ruler_workflow", Rollout{}, Task{ID: "3", Prompt: "2+3?", Truth: "5",
			Seed: seed}, "<answer>5</answer> [0.9, 0.1]", "none")
		if len(list) == 2 {
			if fmt.Sprint(rewards) != "[0.9 0.1]" {
				t.Fatalf("seed %d: rewards %v", seed, rewards)
			}
			continue
		}
		trained++
		if len(list) != 4 || list[1].EID.Task != "3" || list[2].EID.Task != "3-ruler" {
			t.Fatalf("seed %d: %d experiences, of task %s", seed, len(list), list[2].EID.Task)
		}
		near := 1 - ((0.9-(0.9+0.1)/1.2)+(0.1-0))/2 // the gold rewards are 0.9 and −0.1
		if rewards[0] != 0.9 || rewards[1] != -0.1 || rewards[2]-near > 1e-12 || near-rewards[2] > 1e-12 ||
			rewards[3] != 0 {
			t.Fatalf("seed %d: rewards %v, want 0.9, -0.1, %g, 0", seed, rewards, near)
		}
	}
	if trained < 20 || trained > 60 {
		t.Errorf("%d of 200 tasks train the judge, want about 40", trained)
	}
}

func TestRubric(t *testing.T) {
	task := Task{Prompt: "Write.", Row: rowOf(t, `{"rubric": [{"description": "is short", "weight": 0.7}, `+
		`{"description": "rhymes", "weight": 0.3}]}`)}
	for verdict, want := range map[string]float64{
		"good.\n```json\n{\"rating\": 8}\n```": 0.8,
		`so {"rating": 10}`:                    1,
		// text beside a valid verdict does not spoil it
		`{"rating": 8}, for {x} is good`:                                   0.8,
		`I give {"rating": 8, "why": {"a": "}"}} for the set {1, 2}.`:      0.8,
		"```json\n{\"rating\": 8}\n```\nas\n```json\n{\"points\": 2}\n```": 0.8,
		"```json\n{\"rating\": 8}\n```\nas\n```python\n{1: 2}\n```":        0.8,
		`{"verdict": {"rating": 8}}`:                                       0.8,
		`{"rating": 99} or {"rating": 8}`:                                  0.8,
		"{\"rating\": 3}\n```json\n{\"rating\": 8}\n```":                   0.8, // a draft before the verdict
		"```json\n{\"rating\": 11}\n```":                                   0,
		`{"rating": "8"}`:                                                  0,
		`{"rating": 8`:                                                     0,
		"eight":                                                            0,
		"":                                                                 0,
	} {
		if want == 0 {
			unread(t, "rubric_judge_workflow", verdict, task, "Hush.")
			continue
		}
		var asked []chat.Message
		rewards, list := play(t, "rubric_judge_workflow", Rollout{Judges: []Judge{says{verdict, &asked}}}, task,
			"Hush.")
		if d := rewards[0] - want; d > 1e-12 || d < -1e-12 || (list[0].Metrics["judge_success"] == 1) != (want > 0) {
			t.Errorf("%q rewards %g, want %g; metrics %v", verdict, rewards[0], want, list[0].Metrics)
		}
		if !strings.Contains(asked[0].Content, "- (0.7) is short\n- (0.3) rhymes\n") {
			t.Errorf("the judge is asked %q", asked[0].Content)
		}
	}
}

// crowd is a judge that answers when all of a task's answers are before it: the rating is in the question.
type crowd struct{ asked *sync.WaitGroup }

func (c crowd) Ask(_ context.Context, m []chat.Message, _ float64, _ uint64) (string, error) {
	c.asked.Done()
	c.asked.Wait()
	_, text, _ := strings.Cut(m[0].Content, "rate me ")
	return fmt.Sprintf(`{"rating": %c}`, text[0]), nil
}

// The judge is asked about all answers of a task at once, and each answer gets its own rating.
func TestRubricAsksAtOnce(t *testing.T) {
	task := Task{Prompt: "Write.", Row: rowOf(t, `{"rubric": [{"description": "is short", "weight": 1}]}`)}
	judge := crowd{new(sync.WaitGroup)}
	judge.asked.Add(3)
	rewards, _ := play(t, "rubric_judge_workflow", Rollout{Judges: []Judge{judge}}, task,
		"rate me 1", "rate me 5", "rate me 9")
	if got := fmt.Sprintf("%.1f", rewards); got != "[0.1 0.5 0.9]" {
		t.Errorf("rewards %s", got)
	}
}

func TestRubricOverAService(t *testing.T) {
	var reached string
	r := Rollout{Args: map[string]any{"judge_model_name": "wise", "judge_api_key_env": "KEY"},
		OpenAI: func(model, urlEnv, keyEnv string) (Judge, error) {
			reached = model + " " + urlEnv + " " + keyEnv
			return says{text: `{"rating": 5}`}, nil
		}}
	task := Task{Row: rowOf(t, `{"rubric": [{"description": "is short", "weight": 1}]}`)}
	if rewards, _ := play(t, "rubric_judge_openai_workflow", r, task, "Hush."); rewards[0] != 0.5 ||
		reached != "wise OPENAI_BASE_URL KEY" {
		t.Errorf("reward %g from %s", rewards[0], reached)
	}
	for want, args := range map[string]map[string]any{"needs workflow_args.judge_model_name": nil,
		"workflow_args.temperature is not an argument": {"temperature": 1}} {
		if _, err := WithDefaults("rubric_judge_openai_workflow", Rollout{Args: args, OpenAI: r.OpenAI},
			Own{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", args, err, want)
		}
	}
}
