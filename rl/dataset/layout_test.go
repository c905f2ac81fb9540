package dataset

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

const gsm8kCard = `---
license: mit
configs:
- config_name: main
  data_files:
  - split: train
    path: main/train-*
  - split: test
    path: main/test-*
- config_name: socratic
  data_files:
  - split: train
    path: [socratic/train-a.parquet, "socratic/train-b*"]
---
# GSM8K
`

// Select reads the layouts of https://huggingface.co/docs/datasets/repository_structure.
func TestSelect(t *testing.T) {
	gsm8k := []string{"README.md", "main/test-00000-of-00001.parquet", "main/train-00000-of-00001.parquet",
		"socratic/train-a.parquet", "socratic/train-b1.parquet", "socratic/train-c.parquet"}
	tests := []struct {
		name          string
		names         []string
		card          string
		subset, split string
		want          string // names with spaces between
		problem       string // or a part of the error
	}{
		{"a subset that the README names", gsm8k, gsm8kCard, "main", "train", "main/train-00000-of-00001.parquet", ""},
		{"its other split", gsm8k, gsm8kCard, "main", "test", "main/test-00000-of-00001.parquet", ""},
		{"several patterns", gsm8k, gsm8kCard, "socratic", "train",
			"socratic/train-a.parquet socratic/train-b1.parquet", ""},
		{"no subset of several", gsm8k, gsm8kCard, "", "train", "",
			`no subset ""; README.md lists main, socratic; set subset_name`},
		{"an unknown subset", gsm8k, gsm8kCard, "mian", "train", "",
			`no subset "mian"; README.md lists main, socratic`},
		{"an unknown split", gsm8k, gsm8kCard, "main", "validation", "",
			`no split "validation"; README.md lists "train", "test"`},
		{"files that the README names and are not there", gsm8k[:2], gsm8kCard, "main", "train", "",
			`no file for "main/train-*"`},
		{"without the README", gsm8k, "", "main", "train", "main/train-00000-of-00001.parquet", ""},
		{"a default subset", []string{"a.jsonl", "b.jsonl"}, "---\nconfigs:\n- config_name: x\n  data_files: " +
			"a.jsonl\n- config_name: y\n  default: true\n  data_files: b.jsonl\n---\n", "", "", "b.jsonl", ""},
		{"the only subset, splits as a map", []string{"a.jsonl", "b.csv"},
			"---\nconfigs:\n- config_name: x\n  data_files: {train: a.jsonl, test: b.csv}\n---\n", "", "test", "b.csv",
			""},
		{"a data_dir", []string{"en/train.jsonl", "de/train.jsonl"},
			"---\nconfigs:\n- config_name: german\n  data_dir: de\n---\n", "german", "", "de/train.jsonl", ""},
		{"patterns through folders", []string{"x/1/a.parquet", "x/b.parquet", "y.parquet"},
			"---\nconfigs:\n- config_name: default\n  data_files: [\"x/**/*.parquet\"]\n---\n", "", "",
			"x/1/a.parquet x/b.parquet", ""},
		{"a README without configs", []string{"train.jsonl"}, "---\nlicense: mit\n---\n", "", "", "train.jsonl", ""},
		{"a README that is no YAML", []string{"train.jsonl"}, "---\n: [\n---\n", "", "", "train.jsonl", ""},
		{"in data", []string{"data/test-00000-of-00001.parquet", "data/train-00000-of-00002.parquet",
			"data/train-00001-of-00002.parquet"}, "", "", "train",
			"data/train-00000-of-00002.parquet data/train-00001-of-00002.parquet", ""},
		{"a shard is missing", []string{"data/train-00000-of-00002.parquet"}, "", "", "train", "",
			"1 of the 2 shards train-… are there"},
		{"a folder for each split", []string{"test/0000.parquet", "train/0000.parquet", "train/0001.parquet"}, "", "",
			"train", "train/0000.parquet train/0001.parquet", ""},
		{"the split as a word", []string{"gsm8k_test.jsonl", "gsm8k_train.jsonl", "trainers.jsonl"}, "", "", "train",
			"gsm8k_train.jsonl", ""},
		{"another word for it", []string{"dev.jsonl", "training_set.jsonl"}, "", "", "validation", "dev.jsonl", ""},
		{"files without a split", []string{"a.jsonl", "b.jsonl", "dataset_infos.json"}, "", "", "train",
			"a.jsonl b.jsonl", ""},
		{"no data", []string{"README.md", "gsm8k.py"}, "", "", "train", "", "no data files"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Select(tt.names, tt.card, tt.subset, tt.split)
			if tt.problem != "" {
				if err == nil || !strings.Contains(err.Error(), tt.problem) {
					t.Fatalf("got %v, error %v, want one with %q", got, err, tt.problem)
				}
				return
			}
			if err != nil || strings.Join(got, " ") != tt.want {
				t.Errorf("got %v, %v, want %s", got, err, tt.want)
			}
		})
	}
}

// Several files are one data set, in the order of the pattern.
func TestPatterns(t *testing.T) {
	dir := folder(t, "b.jsonl", `{"q":"b"}`, "a.jsonl", `{"q":"a"}`, "x/c.csv", "q\nc\n", "x/y/d.json", `[{"q":"d"}]`,
		"x/.hidden/e.jsonl", `{"q":"e"}`)
	for pattern, want := range map[string][]string{
		"*.jsonl":           {"a", "b"},
		"{b,a}.jsonl":       {"b", "a"},
		"[a-z].jsonl":       {"a", "b"},
		"?.jsonl":           {"a", "b"},
		"x/**/*.{csv,json}": {"c", "d"},
		"**/*.json*":        {"a", "b", "d"},
		"x/*/d.json":        {"d"},
	} {
		if got := column(t, open(t, filepath.Join(dir, pattern), "", ""), "q"); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", pattern, got, want)
		}
	}
	_, err := Open(filepath.Join(dir, "z*.jsonl"), "", "")
	wantMessage(t, err, []string{"no file fits", "z*.jsonl", "**"})
	t.Chdir(dir)
	for _, pattern := range []string{"./*.jsonl", "*.jsonl", "../" + filepath.Base(dir) + "/*.jsonl"} {
		if got := column(t, open(t, pattern, "", ""), "q"); !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("%s: %q", pattern, got)
		}
	}
}

func TestExpand(t *testing.T) {
	for pattern, want := range map[string][]string{
		"a": {"a"}, "{a,b}/{1,2}": {"a/1", "a/2", "b/1", "b/2"}, "{a": {"{a"}, "x{}y": {"xy"},
	} {
		if got := expand(pattern); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q, want %q", pattern, got, want)
		}
	}
}

// The parts of a file meet buffers at any place: a scan in pieces finds what a scan in one finds.
func TestArrayScanInPieces(t *testing.T) {
	text := []byte(`[ {"a":"]}\\\"[,"}, [1,[2,3]] ,"x,y" , 12,null,{"b":{"c":[]}}]`)
	var whole arrayScan
	want := whole.scan(text, 0, nil)
	if len(want) != 6 || whole.depth != 0 {
		t.Fatalf("elements at %v, depth %d", want, whole.depth)
	}
	for size := 1; size < len(text); size++ {
		var s arrayScan
		var got []int64
		for at := 0; at < len(text); at += size {
			got = s.scan(text[at:min(at+size, len(text))], int64(at), got)
		}
		if !slices.Equal(got, want) {
			t.Errorf("pieces of %d: %v, want %v", size, got, want)
		}
	}
}
