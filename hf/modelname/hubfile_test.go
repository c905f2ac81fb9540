package modelname

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf/gguftest"
	"github.com/seed-d9ad8ee0/trinity/hf/hub"
	"github.com/seed-d9ad8ee0/trinity/hf/hub/hubtest"
)

// A GGUF file is downloaded by its repository and how its weights are stored: that file alone, once, into the hub's
// cache.
func TestHubFile(t *testing.T) {
	file := func(seed uint64) []byte { return gguftest.Model{Arch: "llama", Seed: seed}.Bytes(t) }
	s := hubtest.New(t, map[string]hubtest.Repo{
		"models/some/Tiny-GGUF": {Files: map[string][]byte{"README.md": []byte("x"), "Tiny-Q4_K_M.gguf": file(1),
			"Tiny-Q8_0.gguf": file(2), "Tiny-imatrix.gguf": []byte("x"), "mmproj-Tiny-F16.gguf": []byte("x")}},
		"models/some/One-GGUF": {Files: map[string][]byte{"one.f16.gguf": file(3)}},
	})
	f := finder(t)
	f.Hub = hub.New(hub.Options{Cache: t.TempDir(), Endpoint: s.URL, Pause: time.Millisecond})
	for _, tt := range []struct{ name, want string }{
		{"hf.co/some/Tiny-GGUF", "Tiny-Q4_K_M"},
		{"hf.co/some/Tiny-GGUF:Q8_0", "Tiny-Q8_0"},
		{"huggingface.co/some/Tiny-GGUF:q8_0", "Tiny-Q8_0"},
		{"hf.co/some/Tiny-GGUF@main:Tiny-Q4_K_M.gguf", "Tiny-Q4_K_M"},
		{"hf.co/some/One-GGUF", "one.f16"},
	} {
		got, err := f.Model(context.Background(), tt.name)
		if err != nil || got.Name != tt.want || filepath.Base(got.File) != tt.want+".gguf" {
			t.Fatalf("%s is %+v, %v", tt.name, got, err)
		}
		checkFolder(t, got.Dir)
		if !OnHub(tt.name) {
			t.Errorf("%s is not on the hub", tt.name)
		}
	}
	asked := len(s.Requests())
	for _, r := range s.Requests() {
		if strings.Contains(r, "mmproj") || strings.Contains(r, "imatrix") || strings.Contains(r, "README") {
			t.Errorf("%s was asked for", r)
		}
	}
	if _, err := f.Folder(context.Background(), "hf.co/some/Tiny-GGUF:Q8_0"); err != nil || len(s.Requests()) != asked {
		t.Errorf("what is in the cache was asked for again: %v", err)
	}
	_, err := f.Folder(context.Background(), "hf.co/some/Tiny-GGUF:Q6_K")
	if err == nil || !strings.Contains(err.Error(), "no GGUF file of Q6_K; name one behind a colon: Q4_K_M, Q8_0") {
		t.Errorf("a type that is not there: %v", err)
	}
	_, err = f.Folder(context.Background(), "some/One-GGUF")
	if err == nil || !strings.Contains(err.Error(), "put hf.co/ before the name") {
		t.Errorf("a repository of GGUF files as a model: %v", err)
	}
}

func TestChooseGGUF(t *testing.T) {
	names := []string{"a-Q4_K_M.gguf", "a-UD-Q4_K_XL.gguf", "a-IQ4_XS.gguf", "BF16/a-BF16-00001-of-00002.gguf",
		"BF16/a-BF16-00002-of-00002.gguf", "x/a-Q5_0-00001-of-00002.gguf", "config.json"}
	for _, tt := range []struct {
		names []string
		quant string
		want  []string
		err   string
	}{
		{names, "", []string{"a-Q4_K_M.gguf"}, ""},
		{names, "bf16", names[3:5], ""},
		{names, "UD-Q4_K_XL", []string{"a-UD-Q4_K_XL.gguf"}, ""},
		{names, "IQ4_XS", []string{"a-IQ4_XS.gguf"}, ""},
		{names, "Q5_0", nil, "x/a-Q5_0-00002-of-00002.gguf is missing, part 2 of 2"},
		{names, "Q4_K", nil, "no GGUF file of Q4_K; name one behind a colon: BF16, IQ4_XS, Q4_K_M, Q5_0, UD-Q4_K_XL"},
		{names[2:3], "", []string{"a-IQ4_XS.gguf"}, ""},
		{names[2:5], "", nil, "no GGUF file of Q4_K_M and several others; name one"},
		{[]string{"a-Q8_0.gguf", "b-Q8_0.gguf"}, "Q8_0", nil, "several GGUF files of Q8_0 (a-Q8_0.gguf, b-Q8_0.gguf)"},
		{[]string{"a-Q8_0.gguf", "b-Q8_0.gguf"}, "b-Q8_0.gguf", []string{"b-Q8_0.gguf"}, ""},
		{[]string{"config.json"}, "", nil, "there is no GGUF file"},
	} {
		got, err := chooseGGUF(tt.names, tt.quant)
		if !slices.Equal(got, tt.want) || (err == nil) != (tt.err == "") ||
			err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%q of %q: %q, %v; want %q, %q", tt.quant, tt.names, got, err, tt.want, tt.err)
		}
	}
}
