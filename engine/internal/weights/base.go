package weights

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Model is a base model as the caller gives it.
type Model struct {
	Dir string // a Hugging Face folder; without weights, training can only start from random ones
	// Adapter is the folder of a PEFT adapter for these weights; a model with an adapter is for sampling only.
	Adapter string
	// Repo and Revision are the model's name and commit on the hub if Dir was downloaded from there. Executors on other
	// machines may get it from there too.
	Repo, Revision string
	// Tokens gives a token's bytes, for stop strings; nil reads tokenizer.json of Dir when it is first needed.
	Tokens TokenBytes
	// EndTokens end a sample, such as the template's end of turn. The end tokens of config.json and
	// generation_config.json do so too.
	EndTokens []int32
}

// TokenBytes is the part of a tokenizer that stop strings need.
type TokenBytes interface {
	Bytes(id int32) []byte
}

// Base is a base model. Its tokenizer and fingerprints are read once, when they are first needed; its weights are read
// again after they have left memory.
type Base struct {
	Name           string
	Dir            string
	repo, revision string // on the hub
	Adapter        string // folder of the adapter that belongs to it
	Config         model.Config
	Context        int     // longest sequence, tokens
	Ends           []int32 // that end a sample if the request names no stop tokens
	KV             kvCaches

	resident // guarded by memory.mu

	mu     sync.Mutex
	tokens TokenBytes
	prints map[bool]string
	stamp  string // of the files that the weights were first read from
	pinned pinned // what executors on other machines need of it
}

func newBase(name string, m Model, cacheBytes int64, frozen string) (*Base, error) {
	c, err := model.LoadConfig(m.Dir)
	if err != nil {
		return nil, fmt.Errorf("engine: base model %q: %w", name, err)
	}
	c.Frozen = frozen
	b := &Base{Name: name, Dir: m.Dir, repo: m.Repo, revision: m.Revision, Adapter: m.Adapter, Config: c,
		Context: ContextOf(c), tokens: m.Tokens,
		KV: kvCaches{bytes: cacheBytes}, prints: map[bool]string{}}
	ends, err := FolderEnds(m.Dir, c)
	if err != nil {
		return nil, fmt.Errorf("engine: base model %q: %w", name, err)
	}
	b.Ends = append(slices.Clone(m.EndTokens), ends...)
	slices.Sort(b.Ends)
	b.Ends = slices.Compact(b.Ends)
	return b, nil
}

// FolderEnds returns the tokens that end an answer by config.json, of which c is read, and generation_config.json of
// the model folder dir.
func FolderEnds(dir string, c model.Config) ([]int32, error) {
	ends, err := generationEnds(dir)
	for _, id := range c.EOS {
		ends = append(ends, int32(id))
	}
	return ends, err
}

// generationEnds reads eos_token_id, a number or a list, of generation_config.json; both the file and the key are
// optional.
func generationEnds(dir string) ([]int32, error) {
	path := filepath.Join(dir, "generation_config.json")
	raw, err := disk.ReadFile(path, disk.SmallFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var g struct {
		EOS json.RawMessage `json:"eos_token_id"`
	}
	if err == nil {
		err = json.Unmarshal(raw, &g)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var one int32
	var ids []int32
	if len(g.EOS) == 0 || string(g.EOS) == "null" {
		return nil, nil
	}
	if json.Unmarshal(g.EOS, &one) == nil {
		return []int32{one}, nil
	}
	if err := json.Unmarshal(g.EOS, &ids); err != nil {
		return nil, fmt.Errorf("%s: eos_token_id: %w", path, err)
	}
	return ids, nil
}

// Tokenizer returns the tokenizer.
func (b *Base) Tokenizer() (TokenBytes, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tokens == nil {
		t, err := tokenizer.Load(b.Dir)
		if err != nil {
			return nil, tinker.Userf("engine: stop strings need the tokenizer of base model %q; use stop tokens "+
				"instead: %w", b.Name, err)
		}
		b.tokens = t
	}
	return b.tokens, nil
}

// Text returns the tokens of an input that the model can read.
func (b *Base) Text(what string, in tinker.ModelInput) ([]int32, error) {
	tokens, ok := in.Tokens()
	if !ok {
		return nil, tinker.Userf("engine: %s has an image; base model %q reads text only; send encoded_text", what,
			b.Name)
	}
	if len(tokens) == 0 {
		return nil, tinker.Userf("engine: %s is empty; give at least one token", what)
	}
	if len(tokens) > b.Context {
		return nil, tinker.Userf("engine: %s has %d tokens; the context of base model %q has %d", what, len(tokens),
			b.Name, b.Context)
	}
	for i, t := range tokens {
		if t < 0 || int(t) >= b.Config.Vocab {
			return nil, tinker.Userf("engine: %s: token %d is %d; base model %q has tokens 0 to %d", what, i, t, b.Name,
				b.Config.Vocab-1)
		}
	}
	return tokens, nil
}

// Fingerprint is a hash of config.json and the weights. For full-parameter training it covers config.json alone: such
// a checkpoint has all weights itself.
func (b *Base) Fingerprint(full bool) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p, ok := b.prints[full]; ok {
		return p, nil
	}
	files := []string{filepath.Join(b.Dir, "config.json")}
	if !full {
		weights, err := disk.Glob(b.Dir, "*.safetensors")
		if err != nil {
			return "", fmt.Errorf("engine: base model %q: %w", b.Name, err)
		}
		files = append(files, weights...) // Glob sorts
	}
	h := sha256.New()
	for _, path := range files {
		if err := hashFile(h, path); err != nil {
			return "", fmt.Errorf("engine: base model %q: %w", b.Name, err)
		}
	}
	b.prints[full] = "sha256:" + hex.EncodeToString(h.Sum(nil))
	return b.prints[full], nil
}

func hashFile(h io.Writer, path string) error {
	f, err := disk.OpenRegular(path)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	fmt.Fprintf(h, "%s %d\n", filepath.Base(path), st.Size())
	_, err = io.Copy(h, f)
	return err
}

// DefaultContext is the context length of a model whose config.json names none, tokens.
const DefaultContext = 32768

// ContextOf is the longest sequence that a model takes, tokens.
func ContextOf(c model.Config) int {
	if c.MaxPos > 0 {
		return c.MaxPos
	}
	return DefaultContext
}
