package studio

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
)

// Tokens have their text when the model is gone: it is beside the records. Records without it are shown by ids.
func TestTextWithoutATokenizer(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(job(t, root, "a"), "rollouts")
	gone := func(_, _ string) (string, error) { return "", fs.ErrNotExist }
	_, server := opened(t, Options{Dirs: []string{root}, Model: gone})
	path := "/api/runs/" + first(t, server) + "/samples/step_000001.0"
	before := get[Sample](t, server, path, 200)
	if before.Decoded || before.Tokens[0].Text != "" {
		t.Fatalf("without a tokenizer the tokens begin with %+v", before.Tokens[0])
	}
	tok, err := tokenizer.Load(tinyModel)
	if err != nil {
		t.Fatal(err)
	}
	var ids []int32
	for _, token := range before.Tokens {
		ids = append(ids, token.ID)
	}
	if err := rollout.WriteTexts(dir, "step_000001.jsonl", tok, ids); err != nil {
		t.Fatal(err)
	}
	after := get[Sample](t, server, path, 200)
	if !after.Decoded || after.Tokens[0].Text != "<|im_start|>" || !after.Tokens[0].Special {
		t.Errorf("with recorded texts the tokens begin with %+v", after.Tokens[0])
	}
	texts := ""
	for _, token := range after.Tokens {
		texts += token.Text
	}
	if got := tok.Decode(ids, false); texts != got {
		t.Errorf("the tokens are %q, want %q", texts, got)
	}
	if left, err := os.ReadDir(filepath.Join(dir, rollout.Texts)); err != nil || len(left) != 1 {
		t.Errorf("the folder of texts has %v, %v", left, err)
	}
}
