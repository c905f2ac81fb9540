package config

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/seed-d9ad8ee0/trinity/config/internal/document"
	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
)

// builtin are the names of the built-in functions, which package run passes.
func builtin() Names {
	return Names{Functions: algorithm.Names(algorithm.Tables{}), Selectors: sortedKeys(dataset.Selectors())}
}

// compiled is the schema as an independent validator understands it.
func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema(builtin())))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("trinity.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("trinity.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// asJSON is a YAML file as the JSON that an editor checks.
func asJSON(t *testing.T, file string) any {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	tree, _ := document.Read(file, text, nil, env("TRINITY_TASKSET_PATH=/data/tasks"), nil)
	raw, err := json.Marshal(tree.Value())
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestSchemaTakesWhatLoadTakes(t *testing.T) {
	schema := compiled(t)
	files, err := filepath.Glob("testdata/*.good.yml")
	if err != nil || len(files) < 5 {
		t.Fatalf("Glob: %d files, %v", len(files), err)
	}
	examples, err := filepath.Glob("../examples/tiny/*.yaml")
	if err != nil || len(examples) == 0 {
		t.Fatalf("Glob: %d examples, %v", len(examples), err)
	}
	for _, file := range append(files, examples...) {
		if err := schema.Validate(asJSON(t, file)); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestSchemaRefuses(t *testing.T) {
	schema := compiled(t)
	for name, tt := range map[string]struct{ text, says string }{
		"unknown key":          {`{"buffer": {"batchsize": 3}}`, "batchsize"},
		"a word for a number":  {`{"buffer": {"batch_size": "many"}}`, "/buffer/batch_size"},
		"no such mode":         {`{"mode": "fly"}`, "/mode"},
		"no such loss":         {`{"algorithm": {"policy_loss_fn": "pqo"}}`, "/algorithm/policy_loss_fn"},
		"a list for a section": {`{"model": []}`, "/model"},
		"in a stage too":       {`{"stages": [{"algorithm": {"kl_loss_fn": "k9"}}]}`, "/stages/0/algorithm/kl_loss_fn"},
	} {
		t.Run(name, func(t *testing.T) {
			doc, err := jsonschema.UnmarshalJSON(strings.NewReader(tt.text))
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(doc); err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("Validate(%s) = %v, want an error about %s", tt.text, err, tt.says)
			}
		})
	}
}

// The schema that editors can be pointed at is the one that the types give.
func TestSchemaFile(t *testing.T) {
	const file = "../docs/reference/trinity.schema.json"
	if *update {
		if err := os.WriteFile(file, Schema(builtin()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, Schema(builtin())) {
		t.Errorf("%s is not what the types give; write it again with go test ./config -run TestSchemaFile -update",
			file)
	}
}
