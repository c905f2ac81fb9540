package engine

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// A checkpoint of full parameters has the chat templates of its base model, also those in a folder, and a copy of it
// has them too. They count for its size, and damage to them is found.
func TestTemplatesOfCheckpoints(t *testing.T) {
	base, dir := writeModel(t, true, true), t.TempDir()
	const toolUse = tokenizer.TemplatesDir + "/tool_use.jinja"
	if err := os.Mkdir(filepath.Join(base, tokenizer.TemplatesDir), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(base, "chat_template.jinja"), []byte("plain"))
	write(t, filepath.Join(base, toolUse), []byte("tools"))
	e := open(t, Options{Models: map[string]Model{baseName: {Dir: base}}, Dir: dir})
	c := create(t, e, 0, lora(0))
	for range 2 { // the second replaces the first
		if _, err := saveState(c, "one", true); err != nil {
			t.Fatal(err)
		}
	}
	folder := filepath.Join(dir, "s%3Atrain%3A0", "weights", "one")
	files := tree(t, folder)
	if !slices.Contains(files, filepath.FromSlash(toolUse)) {
		t.Errorf("the files are %v", files)
	}
	copied := filepath.Join(t.TempDir(), "copy")
	if err := CopyModel(folder, copied, ""); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{folder, copied} {
		conf, err := tokenizer.LoadConfig(at)
		if err != nil || conf.ChatTemplate != "plain" || conf.Templates["tool_use"] != "tools" {
			t.Errorf("%s: %+v, %v", at, conf, err)
		}
	}
	list, err := e.Checkpoint(tinker.Path{ModelID: modelID("s", 0), Kind: tinker.KindState, Name: "one"}.String())
	want := int64(0)
	for _, name := range files {
		if st, err := os.Stat(filepath.Join(folder, name)); err == nil {
			want += st.Size()
		}
	}
	if err != nil || list.Size != want {
		t.Errorf("the size is %d, want %d (%v)", list.Size, want, err)
	}
	write(t, filepath.Join(folder, toolUse), []byte("other"))
	if _, damaged, err := VerifyCheckpoints(dir); err != nil || damaged == nil ||
		!strings.Contains(damaged.Error(), "tool_use") {
		t.Errorf("a changed template: %v, %v", damaged, err)
	}
}
