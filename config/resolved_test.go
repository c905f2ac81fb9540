package config

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestResolvedReadsBack(t *testing.T) {
	files, err := filepath.Glob("testdata/*.good.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		c, err := Load(file, nil, env("TRINITY_TASKSET_PATH=/data/tasks"))
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse("resolved.yml", []byte(c.Resolved()), nil, env())
		if err != nil {
			t.Errorf("%s: the resolved text does not load: %v", file, err)
			continue
		}
		a, b := encode(reflect.ValueOf(c).Elem()), encode(reflect.ValueOf(again).Elem())
		if !reflect.DeepEqual(a, b) {
			t.Errorf("%s: the resolved text gives another configuration:\n%s\nfrom\n%s", file, again.Resolved(),
				c.Resolved())
		}
	}
}

func TestResolvedNamesOrigins(t *testing.T) {
	text := load(t, base, "checkpoint_root_dir=/ckpt", "buffer.batch_size=4", "group=${oc.env:NUMBER}").Resolved()
	for _, want := range []string{
		"\nproject: Trinity-RFT\n",
		"\ngroup: \"7\"  # environment NUMBER\n",
		"\n  batch_size: 4  # override buffer.batch_size=4\n",
		"\n  train_batch_size: 8  # derived: batch_size × repeat_times\n",
		"\n  model_path: m  # test.yml:3\n",
		"\n    kl_coef: 0.1  # test.yml:2\n",
		"\n        path: a.jsonl  # test.yml:8\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("resolved text lacks %q", want)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}
