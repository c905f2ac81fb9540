package openenv

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/rl/env/envtest"
	"github.com/seed-d9ad8ee0/trinity/rl/env/openenv/openenvtest"
)

// game is the template of the game.
const game = "show=text&suffix=Enter+your+next+guess.&fill=message&random=%5Cboxed{3}|%5Cboxed{9}|%5Cboxed{12}"

// The game passes the suite of all environments: over a server that keeps one session for many episodes, one with few
// sessions, and one whose sessions can be used only once.
func TestSuite(t *testing.T) {
	for name, o := range map[string]openenvtest.Options{
		"plain": {}, "two sessions": {Max: 2}, "stateful": {Stateful: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := openenvtest.Start(t, o)
			s, _ := sourceFor(t)
			envtest.Run(t, envtest.Suite{Make: func() (env.Env, error) { return try(s, server.ID(game)) }, Seeds: 3,
				Low: -0.1, High: 1})
		})
	}
}

// Rewards are summed, and the record has seed, actions and messages.
func TestEpisode(t *testing.T) {
	server := openenvtest.Start(t, openenvtest.Options{})
	s, heard := sourceFor(t)
	e := makeEnv(t, s, server.ID(game))
	o, err := e.Reset(1)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(o.Text, "You are playing Guess The Number.\n") || o.Suffix != "Enter your next guess." {
		t.Errorf("the task is %+v", o)
	}
	var sum float64
	for i, c := range []struct {
		action, text string
		reward       float64
		over         bool
	}{
		{`\boxed{5}`, "At turn 1, you guessed 5, and the target number is higher than 5.", 0, false},
		{`\boxed{6}`, "Congratulations!", 1, true},
	} {
		step, err := e.Step(c.action)
		if err != nil {
			t.Fatal(err)
		}
		if step.Text != c.text || step.Reward != c.reward || step.Terminated != c.over || step.Truncated {
			t.Errorf("step %d: %+v", i+1, step)
		}
		sum += step.Reward
	}
	if len(heard.episodes) != 1 {
		t.Fatalf("%d episodes are recorded", len(heard.episodes))
	}
	x := heard.episodes[0]
	data, _ := json.Marshal(x)
	want := `"seed":1,"actions":["\\boxed{5}","\\boxed{6}"],"messages":[` +
		`{"sent":"{\"type\":\"reset\",\"data\":{\"seed\":1}}"},{"received":`
	if !strings.Contains(string(data), want) || len(x.Messages) != 6 || x.Return != sum || x.Turns != 2 ||
		x.End != "terminated" {
		t.Errorf("the record is %s", data)
	}
}

// Without a template the rules of verifiers hold.
func TestRules(t *testing.T) {
	server := openenvtest.Start(t, openenvtest.Options{})
	s, _ := sourceFor(t)
	for _, c := range []struct{ id, answer, sent, told string }{
		{"", `{"message":"\\boxed{5}"}`, `{"message":"\\boxed{5}"}`, ""},
		{"", "```json\n{\"message\": \"x\"}\n```", `{"message":"x"}`, ""},
		{"", "```\n\\boxed{5}\n```", `{"message":"\\boxed{5}"}`, ""},
		{"", `I say \boxed{5} & <b>`, `{"message":"I say \\boxed{5} & <b>"}`, ""},
		{"", `{"message":"a"} and more`, `{"message":"{\"message\":\"a\"} and more"}`, ""},
		{"", `{"msg":"a"}`, `{"msg":"a"}`, "The action is not valid: message: Field required; msg: Extra inputs"},
		{"", `{"message":7}`, `{"message":7}`, "The action is not valid: message: Input should be a valid string."},
		{"fill=message&extract=guess:\\s*(\\d%2B)", "guess: 1 no guess: 12", `{"message":"12"}`, ""},
		{"fill=message&extract=guess:\\s*\\d%2B", "guess: 1 no guess: 12", `{"message":"guess: 12"}`, ""},
		{"extract=guess", "nothing", "", "The answer has nothing of the form guess."},
		{"fill=message", `{"message":"a"}`, `{"message":"{\"message\":\"a\"}"}`, ""},
	} {
		e := makeEnv(t, s, server.ID("invalid_reward=-0.5&"+c.id))
		o, err := e.Reset(1)
		if err != nil {
			t.Fatal(err)
		}
		if want := `{"observation": {"text":"You are playing`; c.id == "" && !strings.HasPrefix(o.Text, want) {
			t.Errorf("the task is %.100q, want %q…", o.Text, want)
		}
		step, err := e.Step(c.answer)
		if err != nil {
			t.Fatal(err)
		}
		messages := e.(*Env).record.Messages
		sent := ""
		if len(messages) == 4 {
			sent = messages[2].Sent
		}
		if want := `{"type":"step","data":` + c.sent + `}`; sent != want && (c.sent != "" || sent != "") {
			t.Errorf("%q sends %s, want %s", c.answer, sent, want)
		}
		if c.told != "" && (!strings.Contains(step.Text, c.told) || step.Reward != -0.5 || step.Done()) {
			t.Errorf("%q gets %+v, want %q", c.answer, step, c.told)
		}
		if c.told == "" && step.Reward == -0.5 {
			t.Errorf("%q gets %+v", c.answer, step)
		}
	}
}

// An empty answer ends the episode, and so does the limit of turns.
func TestEnds(t *testing.T) {
	server := openenvtest.Start(t, openenvtest.Options{})
	s, heard := sourceFor(t)
	e := makeEnv(t, s, server.ID("max_turns=2&extract=guess"))
	for _, c := range []struct {
		answers   []string
		truncated bool
		end       string
	}{{[]string{" \n"}, false, "stopped"}, {[]string{"a", "b"}, true, "truncated"}} {
		if _, err := e.Reset(1); err != nil {
			t.Fatal(err)
		}
		var last env.Transition
		for _, a := range c.answers {
			var err error
			if last, err = e.Step(a); err != nil {
				t.Fatal(err)
			}
		}
		if !last.Done() || last.Truncated != c.truncated || last.Reward != 0 {
			t.Errorf("%q: %+v", c.answers, last)
		}
		if n := len(heard.episodes); n == 0 || heard.episodes[n-1].End != c.end {
			t.Errorf("%q: %d episodes are recorded, the last not as %s", c.answers, n, c.end)
		}
	}
}

// Forks share a session until one of them plays on: a group of 8 episodes uses one session after the other where there
// is only one.
func TestGroup(t *testing.T) {
	for _, most := range []int{1, 3, 100} {
		server := openenvtest.Start(t, openenvtest.Options{Max: most})
		s, heard := sourceFor(t)
		first := makeEnv(t, s, server.ID(game))
		if _, err := first.Reset(5); err != nil {
			t.Fatal(err)
		}
		if _, err := first.Step(`\boxed{1}`); err != nil {
			t.Fatal(err)
		}
		var wait sync.WaitGroup
		replies := make([]string, 8)
		for i := range replies {
			e := first.Fork()
			wait.Go(func() {
				t, err := e.Step(`\boxed{2}`)
				if err == nil {
					replies[i] = t.Text
					_, err = e.Step(`\boxed{2}`)
				}
				if err != nil {
					replies[i] = err.Error()
				}
			})
		}
		wait.Wait()
		for _, r := range replies {
			if r != "At turn 2, you guessed 2, and the target number is higher than 2." {
				t.Errorf("%d sessions: %s", most, r)
			}
		}
		if len(heard.episodes) != 8 {
			t.Errorf("%d sessions: %d episodes are recorded", most, len(heard.episodes))
		}
	}
}

// A server with few sessions plays any number of episodes at once, one after the other; it says once how many it has.
func TestCapacity(t *testing.T) {
	server := openenvtest.Start(t, openenvtest.Options{Max: 3})
	s, heard := sourceFor(t)
	var wait sync.WaitGroup
	for i := range 32 {
		wait.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(i)))
			e, err := try(s, server.ID(game))
			if err == nil {
				_, err = e.Reset(uint64(i))
			}
			for done := false; err == nil && !done; {
				var step env.Transition
				step, err = e.Step(fmt.Sprintf(`\boxed{%d}`, 1+random.IntN(12)))
				done = step.Done()
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if len(heard.notes) != 1 || !strings.Contains(heard.notes[0], "plays at most 3 episodes at a time") {
		t.Errorf("the notes are %q", heard.notes)
	}
	if n := server.Opened.Load(); n > 10 {
		t.Errorf("%d sessions were opened for 32 episodes; they are used again", n)
	}
}

// The sessions of episodes that were given up are found again.
func TestGivenUp(t *testing.T) {
	server := openenvtest.Start(t, openenvtest.Options{Max: 1})
	s, _ := sourceFor(t)
	for range 3 {
		e := makeEnv(t, s, server.ID(game))
		if _, err := e.Reset(1); err != nil {
			t.Fatal(err)
		}
	}
}

// Tasks are chosen by split and index, by number or by the seed.
func TestTasks(t *testing.T) {
	server := openenvtest.Start(t, openenvtest.Options{})
	s, heard := sourceFor(t)
	spec, err := s.Spec(server.ID(game + "&split=test"))
	if err != nil || spec.Tasks != 4 {
		t.Fatalf("%d tasks, error %v, want 4", spec.Tasks, err)
	}
	for task := range 4 {
		e := makeEnv(t, s, server.ID(game+"&split=test"), env.Params{"task": task})
		o, err := e.Reset(9)
		if want := fmt.Sprintf("for example \\boxed{%d}", 9+task); err != nil || !strings.Contains(o.Text, want) {
			t.Errorf("task %d: %v, %q; want %q", task, err, o.Text, want)
		}
		e.Step("no guess")
	}
	if x := heard.episodes[3]; x.Split != "test" || *x.Index != 3 ||
		string(x.Task) != `{"id":"test-3","index":3,"example":12}` {
		t.Errorf("the record has %s %d %s", x.Split, *x.Index, x.Task)
	}
	drawn := map[string]bool{}
	e := makeEnv(t, s, server.ID(game+"&split=test"))
	for seed := range uint64(20) {
		o, err := e.Reset(seed)
		if err != nil {
			t.Fatal(err)
		}
		_, after, _ := strings.Cut(o.Text, "for example")
		drawn[after] = true
	}
	if len(drawn) < 2 {
		t.Errorf("seeds draw the tasks %v", drawn)
	}
	for id, want := range map[string]string{
		"split=dev": `threes has no split "dev"; it has train, test`,
	} {
		if _, err := s.Spec(server.ID(id)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", id, err, want)
		}
	}
	if _, err := try(s, server.ID(game+"&split=test"), env.Params{"task": 4}); err == nil {
		t.Error("there is no task 4")
	}
	without := openenvtest.Start(t, openenvtest.Options{NoTasks: true})
	if _, err := s.Spec(without.ID("split=train")); err == nil ||
		!strings.Contains(err.Error(), "the server has no tasks of split train") {
		t.Errorf("without a task API: %v", err)
	}
}

// What is wrong with an id is said.
func TestID(t *testing.T) {
	server := openenvtest.Start(t, openenvtest.Options{})
	s, _ := sourceFor(t)
	for id, want := range map[string]string{
		"openenv:":                             "is no URL, no folder and no package",
		"openenv:./nowhere":                    "is no URL, no folder and no package",
		"openenv:http://":                      "is not a URL",
		"openenv:testdata":                     "the folder is no environment of OpenEnv",
		server.ID("shwo=text"):                 "shwo",
		server.ID("max_turns=0"):               "max_turns",
		server.ID("timeout=-1"):                "timeout",
		server.ID("extract=("):                 "a regular expression",
		server.ID("show=a&show=b"):             "show is given twice",
		server.ID("fill=nothing"):              `fill is "nothing", and the action has no such field; it has message`,
		server.ID("show=board"):                `the observation has no "board"; it has metadata, text, turn`,
		server.ID("template=nowhere.yaml"):     "template",
		"openenv:http://127.0.0.1:1?timeout=3": "cannot reach the server",
	} {
		if _, err := s.Spec(id); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", id, err, want)
		}
	}
}
