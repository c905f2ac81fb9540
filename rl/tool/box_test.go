package tool

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/rl/env/envtest"
	"github.com/seed-d9ad8ee0/trinity/rl/env/game"
)

// What is named wrongly is refused before anything is opened.
func TestNames(t *testing.T) {
	b := NewBox(Options{})
	all, err := b.Names(env.ToolSpec{})
	if err != nil {
		t.Fatal(err)
	}
	want := "python_tool python_tool_no_int_reward python_tool_no_int_reward_last_line_error search_tool " +
		"search_tool_no_int_reward tools"
	if got := strings.Join(slices.Sorted(maps.Keys(all)), " "); got != want {
		t.Errorf("the wrappers are %s, want %s", got, want)
	}
	for want, s := range map[string]env.ToolSpec{
		`there is no tool "pyton"`:           {Tools: "pyton"},
		`there is no tool ""`:                {Tools: "python,"},
		`there is no tool "mcp:"`:            {Tools: "mcp:"},
		"the search tool has no server":      {Tools: "python,search"},
		"the search tool has no server; set": {Wrappers: "concat, search_tool"},
		`unknown kind "docker"`:              {Sandbox: "docker"},
		"tool_timeout is -1":                 {Timeout: -1},
		"the wrapper tools needs the key":    {Wrappers: "tools,concat"},
		"must be below 0":                    {Rules: env.ToolOptions{ErrorReward: 1}},
		"tool_success_reward must be 0":      {Rules: env.ToolOptions{ErrorReward: -1, Reward: 1}},
		"max_tool_uses is -1":                {Rules: env.ToolOptions{MaxUses: -1}},
	} {
		if _, err := b.Names(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", s, err, want)
		}
		if _, err := b.Wrappers(t.Context(), s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: opened with %v, want %q", s, err, want)
		}
	}
}

// What the configuration leaves open the environment says.
func TestEnvironmentVariables(t *testing.T) {
	b := NewBox(Options{LookupEnv: func(name string) (string, bool) { return "/from/" + name, true }})
	if s := b.complete(env.ToolSpec{}); s.SearchURL != "/from/SEARCH_URL" || s.Python !=
		"/from/VIRTUAL_ENV/bin/python3" {
		t.Errorf("%+v", s)
	}
	if s := b.complete(env.ToolSpec{SearchURL: "u", Python: "p"}); s.SearchURL != "u" || s.Python != "p" {
		t.Errorf("%+v", s)
	}
}

// A game with tools that nobody calls is the game; the suite of environments holds around tools too.
func TestToolsAroundGames(t *testing.T) {
	registry, err := game.Registry("")
	if err != nil {
		t.Fatal(err)
	}
	b := NewBox(Options{})
	w, err := b.Wrappers(t.Context(), env.ToolSpec{Tools: "search", SearchURL: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	envtest.Run(t, envtest.Suite{Make: func() (env.Env, error) {
		e, err := registry.Make("game:GuessTheNumber-v0-easy", nil)
		if err != nil {
			return nil, err
		}
		return w[env.AllTools](e), nil
	}})
}
