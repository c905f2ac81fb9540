package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
)

// A standIn takes the settings of a program that people use as that program does, asks the model one question with
// them, and prints the answer. The words of its command line come behind "--".
type standIn struct {
	url, key, model string
	body            map[string]any
}

// standIns are the programs of the scripts, by their names.
var standIns = map[string]func() (standIn, error){"claude": asClaude, "codex": asCodex, "opencode": asOpencode,
	"aider": asAider}

// main is the program: it prints what it was told and what the model answers, and fails if it is told to.
func (s standIn) main(name string, err error) {
	if err == nil {
		err = s.ask(name)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, name+":", err)
		os.Exit(3)
	}
}

func (s standIn) ask(name string) error {
	typed, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	s.body["model"] = s.model
	body, err := json.Marshal(s.body)
	if err != nil {
		return err
	}
	req, err := http.NewRequest(http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+s.key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s %w", resp.Status, answer, err)
	}
	fmt.Printf("%s heard %q, was told %q, and %s answers %s\n", name, bytes.TrimSpace(typed), os.Args[1:], s.model,
		regexp.MustCompile(`"(id|created|created_at)": ?("[^"]*"|\d+),?`).ReplaceAll(answer, nil))
	if os.Args[len(os.Args)-1] == "fail" {
		return fmt.Errorf("told to fail")
	}
	return nil
}

var greeting = []any{map[string]any{"role": "user", "content": "What is 2 + 3?"}}

func asClaude() (standIn, error) {
	if key, set := os.LookupEnv("ANTHROPIC_API_KEY"); key != "" || !set {
		return standIn{}, fmt.Errorf("the user's own key would be sent")
	}
	tool := map[string]any{"name": "Read", "input_schema": map[string]any{"type": "object"}}
	return standIn{os.Getenv("ANTHROPIC_BASE_URL") + "/v1/messages", os.Getenv("ANTHROPIC_AUTH_TOKEN"),
		cmp.Or(os.Getenv("ANTHROPIC_MODEL"), os.Getenv("ANTHROPIC_DEFAULT_SONNET_MODEL")),
		map[string]any{"max_tokens": 4, "temperature": 0, "messages": greeting, "tools": []any{tool}}}, nil
}

func asCodex() (standIn, error) {
	line := strings.Join(os.Args[1:], "\n")
	at := func(pattern string) string {
		found := regexp.MustCompile(pattern).FindStringSubmatch(line)
		return append(found, "", "")[1]
	}
	return standIn{at(`base_url = "([^"]*)"`) + "/" + at(`wire_api = "([^"]*)"`),
		os.Getenv(at(`env_key = "([^"]*)"`)), at(`(?m)^model = "([^"]*)"`),
		map[string]any{"max_output_tokens": 4, "temperature": 0, "input": "What is 2 + 3?"}}, nil
}

func asOpencode() (s standIn, err error) {
	var c struct {
		Model    string
		Provider map[string]struct {
			Options struct{ BaseURL, APIKey string }
		}
	}
	if err := json.Unmarshal([]byte(os.Getenv("OPENCODE_CONFIG_CONTENT")), &c); err != nil {
		return s, err
	}
	provider, model, _ := strings.Cut(c.Model, "/")
	o := c.Provider[provider].Options
	return standIn{o.BaseURL + "/chat/completions", o.APIKey, model, chatBody()}, nil
}

func asAider() (standIn, error) {
	return standIn{os.Getenv("OPENAI_API_BASE") + "/chat/completions", os.Getenv("OPENAI_API_KEY"),
		strings.TrimPrefix(os.Getenv("AIDER_MODEL"), "openai/"), chatBody()}, nil
}

func chatBody() map[string]any {
	return map[string]any{"max_tokens": 4, "temperature": 0, "messages": greeting, "logprobs": true}
}
