package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// A conversation needs a chat template.
func TestChatWithoutTemplate(t *testing.T) {
	model := filepath.Join(t.TempDir(), "model")
	if err := errors.Join(os.CopyFS(model, os.DirFS("../../examples/tiny/model")),
		os.WriteFile(filepath.Join(model, "tokenizer_config.json"), []byte("{}"), 0o644)); err != nil {
		t.Fatal(err)
	}
	s := &surroundings{ctx: t.Context(), err: io.Discard, env: func(string) (string, bool) { return "", false }}
	if _, err := (&chatCmd{Model: model, Threads: 1}).open(s, t.TempDir()); err == nil ||
		!strings.Contains(err.Error(), "has no chat template") {
		t.Errorf("error %v, want one that says that there is no chat template", err)
	}
}

// TestStopWhileLoading: Ctrl-C before the conversation ends the command; there is no step to finish.
func TestStopWhileLoading(t *testing.T) {
	stop := make(chan struct{})
	close(stop)
	s := &surroundings{ctx: t.Context(), stop: stop, out: io.Discard, err: io.Discard, brief: new(atomic.Bool),
		env: func(string) (string, bool) { return "", false }}
	for range 20 { // the stop may be heard when the model is open already
		c := chatCmd{Model: "../../examples/tiny/model", MaxTokens: 100, Threads: 1}
		talk, err := c.load(s, t.TempDir())
		if err == nil {
			talk.Engine.Close()
			continue
		}
		if !strings.Contains(err.Error(), "stopped by Ctrl-C") {
			t.Error(err)
		}
		if !s.brief.Load() {
			t.Error("Ctrl-C promises to finish a step")
		}
		return
	}
	t.Error("Ctrl-C is not heard")
}
