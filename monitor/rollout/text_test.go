package rollout

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// spelled is a tokenizer of three tokens: a text, a part of a character and a mark without bytes.
type spelled struct{}

func (spelled) Bytes(id int32) []byte   { return [][]byte{[]byte(" <a"), {0xc3}, nil}[id] }
func (spelled) Token(id int32) string   { return []string{"Ġ<a", "Ã", "<|end|>"}[id] }
func (spelled) IsSpecial(id int32) bool { return id == 2 }

func TestTexts(t *testing.T) {
	dir := t.TempDir()
	if texts, err := Dir(dir).Texts(t.Context(), File{Name: "step_000001.jsonl"}); err != nil || texts != nil {
		t.Errorf("an older folder has %v, %v", texts, err)
	}
	if err := WriteTexts(dir, "step_000001.jsonl", spelled{}, []int32{2, 0, 0}, []int32{1, 2}); err != nil {
		t.Fatal(err)
	}
	want := map[int32]Text{0: {Text: " <a"}, 1: {ID: 1, Bytes: []byte{0xc3}},
		2: {ID: 2, Text: "<|end|>", Special: true}}
	texts, err := Dir(dir).Texts(t.Context(), File{Name: "step_000001.jsonl"})
	if err != nil || !reflect.DeepEqual(texts, want) {
		t.Errorf("the texts are %v, %v; want %v", texts, err, want)
	}
	data, err := os.ReadFile(filepath.Join(dir, Texts, "step_000001.jsonl"))
	lines := `{"id":0,"text":" <a"}` + "\n" + `{"id":1,"bytes":"ww=="}` + "\n" +
		`{"id":2,"text":"<|end|>","special":true}` + "\n"
	if err != nil || string(data) != lines {
		t.Errorf("the file is %q, %v", data, err)
	}
}
