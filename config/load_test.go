package config

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the messages of testdata/*.bad.yml into testdata/*.bad.want, and "+
	"docs/reference/trinity.schema.json")

// env is an environment made of NAME=value texts.
func env(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for _, p := range pairs {
			if k, v, _ := strings.Cut(p, "="); k == name {
				return v, true
			}
		}
		return "", false
	}
}

// load parses a text that must be right.
func load(t *testing.T, text string, overrides ...string) *Config {
	t.Helper()
	c, err := Parse("test.yml", []byte(text), overrides, env("HOME=/home/me", "EMPTY=", "NUMBER=7"))
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	return c
}

// messages are the problems of err, one a line, without excerpts.
func messages(err error) []string {
	joined, ok := errors.AsType[interface {
		error
		Unwrap() []error
	}](err)
	if !ok {
		return nil
	}
	var out []string
	for _, e := range joined.Unwrap() {
		line, _, _ := strings.Cut(e.Error(), "\n")
		out = append(out, line)
	}
	return out
}

func TestGoodFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/*.good.yml")
	if err != nil || len(files) < 5 {
		t.Fatalf("Glob: %d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			c, err := Load(file, nil, env("TRINITY_TASKSET_PATH=/data/tasks"), builtin())
			if err != nil {
				t.Fatalf("Load: %v", err)
			}
			if err := c.Validate(); err != nil {
				t.Errorf("Validate after Load: %v", err)
			}
		})
	}
}

// Each testdata/*.bad.yml must give exactly the messages in the .want file beside it.
func TestBadFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/*.bad.yml")
	if err != nil || len(files) < 10 {
		t.Fatalf("Glob: %d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			_, err := Load(file, nil, env(), builtin())
			got := strings.Join(messages(err), "\n") + "\n"
			golden := strings.TrimSuffix(file, ".yml") + ".want"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("messages:\n%swant:\n%s", got, want)
			}
		})
	}
}

func TestUnreadableFiles(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct{ path, want string }{
		{filepath.Join(dir, "none.yml"), "no such file; give the path of a YAML configuration"},
		{"", "no configuration file named"},
		{dir, "is a directory"},
	} {
		_, err := Load(tt.path, nil, env())
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Load(%q) = %v, want %q", tt.path, err, tt.want)
		}
	}
}

func TestExcerpt(t *testing.T) {
	_, err := Parse("run.yml", []byte("mode: both\nbuffer:\n  batchsize: 4\n"), nil, env())
	want := "run.yml:3:3: buffer.batchsize: unknown key; did you mean batch_size?\n" +
		"  3 |   batchsize: 4\n" +
		"    |   ^"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error:\n%v\nwant it to contain:\n%s", err, want)
	}
}

// Texts that are made to fill memory or time are refused at once.
func TestHostileTexts(t *testing.T) {
	bomb := "a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n"
	for _, d := range "12345678" {
		bomb += fmt.Sprintf("a%c: &a%c [%s]\n", d, d, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%c,", d-1), 10),
			","))
	}
	var deep strings.Builder
	for i := range 200 {
		deep.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	for _, tt := range []struct{ name, text, want string }{
		{"alias bomb", bomb, "holds more than 200000 values"},
		{"deep blocks", deep.String(), "nested deeper than 100 levels"},
		{"deep brackets", "x: " + strings.Repeat("[", 5000), "nested too deeply"},
		{"many lines", strings.Repeat("a: 1\n", 20_000), "lines are too many"},
		{"many bytes", "# " + strings.Repeat("x", 2<<20), "bytes are too many"},
		{"binary", "mode: \x00", "is this a text file"},
		{"own anchor", "a: &a [*a]", "there is no anchor &a above"},
		{"many problems", strings.Repeat("a: 1\n", 500), "duplicate key"},
	} {
		_, err := Parse(tt.name, []byte(tt.text), nil, env())
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %.200v, want %q", tt.name, err, tt.want)
		}
		if n := len(messages(err)); n > 100 {
			t.Errorf("%s: %d problems, want at most %d", tt.name, n, 100)
		}
	}
}

func ExampleParse() {
	text := "algorithm: {algorithm_type: grpo, repeat_times: 8}\n" +
		"model: {model_path: models/tiny, max_model_len: 256}\n" +
		"buffer:\n" +
		"  batch_size: 16\n" +
		"  explorer_input: {taskset: {path: \"${oc.env:TASKS,tasks.jsonl}\"}}\n"
	c, err := Parse("run.yaml", []byte(text), []string{"buffer.batch_size=4"}, os.LookupEnv)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Buffer.ExplorerInput.Training()[0].Path, c.Buffer.TrainBatchSize, c.Origin("buffer.train_batch_size"))

	_, err = Parse("run.yaml", []byte(text), []string{"buffer.batchsize=4"}, os.LookupEnv)
	fmt.Println(err)
	// Output:
	// tasks.jsonl 32 derived: batch_size × repeat_times
	// override "buffer.batchsize=4": buffer.batchsize: unknown key; did you mean batch_size?
}

// TestLoadEndless: a device that never ends is not read forever.
func TestLoadEndless(t *testing.T) {
	if _, err := os.Stat("/dev/zero"); err != nil {
		t.Skip(err)
	}
	_, err := Load("/dev/zero", nil, os.LookupEnv)
	if err == nil || !strings.Contains(err.Error(), "more than 16777216 bytes") {
		t.Errorf("Load(/dev/zero) = %v, want an error that names the limit", err)
	}
}
