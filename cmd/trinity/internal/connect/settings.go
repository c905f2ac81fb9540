package connect

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// Settings are what a program must be told, as variables and words of its command line, or as a file.
type Settings struct {
	Env  []Variable
	Args []string // before the user's words

	File string // a new file of the program, which says the same
	Text string // of the file
	Then string // how the program is started with the file

	name string
}

// Variable is one of the environment.
type Variable struct{ Name, Value string }

// patience is how long a program may wait for an answer, in milliseconds: a CPU reads a long first prompt slowly.
const patience = 3600 * 1000

// claude are Claude Code's variables (https://code.claude.com/docs/en/env-vars). The empty ANTHROPIC_API_KEY keeps a
// key of the user from being sent here. The attribution header differs in each request, so that no prompt would begin
// as the one before.
func claude(t Target, _ home) Settings {
	env := []Variable{{"ANTHROPIC_BASE_URL", t.URL}, {"ANTHROPIC_AUTH_TOKEN", t.Key}, {"ANTHROPIC_API_KEY", ""},
		{"ANTHROPIC_MODEL", t.Model}, {"ANTHROPIC_DEFAULT_OPUS_MODEL", t.Model},
		{"ANTHROPIC_DEFAULT_SONNET_MODEL", t.Model}, {"ANTHROPIC_DEFAULT_HAIKU_MODEL", t.Model},
		{"CLAUDE_CODE_SUBAGENT_MODEL", t.Model}, {"CLAUDE_CODE_ATTRIBUTION_HEADER", "0"},
		{"CLAUDE_CODE_AUTO_COMPACT_WINDOW", strconv.Itoa(t.Context)},
		{"CLAUDE_CODE_MAX_OUTPUT_TOKENS", strconv.Itoa(t.answer())}, {"API_TIMEOUT_MS", strconv.Itoa(patience)}}
	inFile := object{}
	for _, v := range env {
		inFile[v.Name] = v.Value
	}
	return Settings{Env: env, File: ".claude/settings.local.json", Text: text(object{"env": inFile}), Then: "claude"}
}

// codex are Codex's settings (https://developers.openai.com/codex/config-reference). A provider of its own leaves those
// of the user as they are.
func codex(t Target, find home) Settings {
	provider := fmt.Sprintf(`{ name = "trinity", base_url = %q, wire_api = "responses", env_key = %q, `+
		`stream_idle_timeout_ms = %d }`, t.URL+"/v1", keyVariable, patience)
	lines := []string{fmt.Sprintf("model = %q", t.Model), `model_provider = "trinity"`,
		fmt.Sprintf("model_context_window = %d", t.Context), "model_providers.trinity = " + provider}
	s := Settings{Env: []Variable{{keyVariable, t.Key}}, File: find(".codex", "trinity.config.toml"),
		Then: fmt.Sprintf("%s=%s codex --profile trinity", keyVariable, t.Key)}
	for _, line := range lines {
		s.Args = append(s.Args, "-c", line)
		s.Text += line + "\n"
	}
	return s
}

// keyVariable has the key of a server for Tinker's programs too.
const keyVariable = "TINKER_API_KEY"

// opencode is the configuration of opencode (https://opencode.ai/docs/config, https://opencode.ai/docs/providers).
// What the variable says is merged into the user's own.
func opencode(t Target, _ home) Settings {
	model := object{"name": t.Model, "tool_call": true, "limit": object{"context": t.Context, "output": t.answer()}}
	config := object{"$schema": "https://opencode.ai/config.json", "model": "trinity/" + t.Model,
		"small_model": "trinity/" + t.Model,
		"provider": object{"trinity": object{"npm": "@ai-sdk/openai-compatible", "name": "trinity",
			"options": object{"baseURL": t.URL + "/v1", "apiKey": t.Key, "timeout": false},
			"models":  object{t.Model: model}}}}
	inline, _ := json.Marshal(config) // strings and numbers
	return Settings{Env: []Variable{{"OPENCODE_CONFIG_CONTENT", string(inline)}}, File: "opencode.json",
		Text: text(config), Then: "opencode"}
}

// aider are aider's variables (https://aider.chat/docs/llms/openai-compat.html,
// https://aider.chat/docs/config/options.html).
func aider(t Target, _ home) Settings {
	seconds := strconv.Itoa(patience / 1000)
	return Settings{Env: []Variable{{"OPENAI_API_BASE", t.URL + "/v1"}, {"OPENAI_API_KEY", t.Key},
		{"AIDER_MODEL", "openai/" + t.Model}, {"AIDER_SHOW_MODEL_WARNINGS", "false"}, {"AIDER_TIMEOUT", seconds}},
		File: ".aider.conf.yml", Text: fmt.Sprintf("openai-api-base: %q\nopenai-api-key: %q\nmodel: %q\n"+
			"show-model-warnings: false\ntimeout: %s\n", t.URL+"/v1", t.Key, "openai/"+t.Model, seconds), Then: "aider"}
}

type object = map[string]any

// text is v as an indented JSON file.
func text(v object) string {
	data, _ := json.MarshalIndent(v, "", "  ") // strings and numbers
	return string(data) + "\n"
}
