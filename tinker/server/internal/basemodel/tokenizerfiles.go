package basemodel

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// tokenizerFiles are the files of a model folder that clients may download, besides its additional chat templates.
// Settings are sent without this machine's paths.
var tokenizerFiles = []string{
	"tokenizer.json",
	"tokenizer_config.json",
	"special_tokens_map.json",
	"added_tokens.json",
	"vocab.json",
	"merges.txt",
	"vocab.txt",
	"tokenizer.model",
	"spiece.model",
	"chat_template.jinja",
	"chat_template.json",
	"config.json",
	"generation_config.json",
}

// pathKeys are settings that hold a path on the machine that wrote the file.
var pathKeys = []string{"_name_or_path", "name_or_path", "tokenizer_file", "special_tokens_map_file"}

// tokenizerRepo is a tokenizer as clients see it: its files by their paths, with slashes. commit is a hash of the
// contents, 40 hex digits.
type tokenizerRepo struct {
	commit  string
	names   []string
	content map[string][]byte
}

func readTokenizer(dir string) (tokenizerRepo, error) {
	files, sum := tokenizerRepo{content: map[string][]byte{}}, sha256.New()
	templates, err := tokenizer.TemplateFiles(dir)
	if err != nil {
		return files, err
	}
	for _, name := range slices.Concat(tokenizerFiles, templates) {
		raw, err := os.ReadFile(filepath.Join(dir, name))
		if os.IsNotExist(err) {
			continue
		}
		if err == nil &&
			slices.Contains([]string{"config.json", "tokenizer_config.json", "generation_config.json"}, name) {
			raw, err = withoutPaths(raw)
		}
		if err != nil {
			return files, err
		}
		files.names = append(files.names, name)
		files.content[name] = raw
		fmt.Fprintf(sum, "%s %d\n", name, len(raw))
		sum.Write(raw)
	}
	files.commit = hex.EncodeToString(sum.Sum(nil)[:20])
	return files, nil
}

// withoutPaths removes the settings that hold a path.
func withoutPaths(raw []byte) ([]byte, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, tinker.Serverf("the settings are not a JSON object: %w", err)
	}
	kept := true
	for _, key := range pathKeys {
		if v, ok := all[key]; ok && strings.HasPrefix(string(v), `"/`) {
			delete(all, key)
			kept = false
		}
	}
	if kept {
		return raw, nil
	}
	return json.MarshalIndent(all, "", "  ")
}
