package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/cache"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Model is a base model that an engine serves.
type Model struct {
	Dir string // a Hugging Face folder; without weights, training can only start from random ones
	// Adapter is the folder of a PEFT adapter for these weights; a model with an adapter is for sampling only.
	Adapter string
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

// base is a base model. Its tokenizer and fingerprints are read once, when they are first needed; its weights are read
// again after they have left memory.
type base struct {
	name    string
	dir     string
	adapter string // folder of the adapter that belongs to it
	config  model.Config
	context int     // tokens
	ends    []int32 // that end a sample if the request names no stop tokens
	kv      kvCaches

	resident // guarded by memory.mu

	mu     sync.Mutex
	tokens TokenBytes
	prints map[bool]string
	stamp  string // of the files that the weights were first read from
}

// version is one immutable set of weights to compute with.
type version struct {
	id      uint64 // of these weights and this adapter; part of the prefix cache's keys
	weights uint64 // id of the version that loaded w; versions with equal weights share matrix products
	base    *base
	w       *model.Weights
	adapter *model.Adapter // nil is none
	cache   *cache.Cache   // the base's KV pages of w's shape
}

// kvCaches holds the KV caches of a base model by the shape of their pages. A page has the dtype of the weights it is
// computed with. One base model can have weights of two dtypes: its own as they are stored, and those of a run that
// began with random weights, whose dtype config.json names.
type kvCaches struct {
	bytes int64 // budget of each

	mu      sync.Mutex
	byShape map[nn.PageShape]*cache.Cache
}

// of returns the cache for weights of that shape.
func (k *kvCaches) of(c model.Config) *cache.Cache {
	k.mu.Lock()
	defer k.mu.Unlock()
	shape := c.Pages()
	if k.byShape[shape] == nil {
		if k.byShape == nil {
			k.byShape = map[nn.PageShape]*cache.Cache{}
		}
		k.byShape[shape] = cache.New(shape, k.bytes)
	}
	return k.byShape[shape]
}

// clear forgets all caches, whose pages are freed when no version uses them.
func (k *kvCaches) clear() {
	k.mu.Lock()
	defer k.mu.Unlock()
	clear(k.byShape)
}

// newVersion gives a set of weights an id; weights is 0 if w belongs to no other version. The prefixes cached for a
// version are removed when it is garbage-collected.
func (e *Engine) newVersion(b *base, w *model.Weights, weights uint64, a *model.Adapter) *version {
	v := &version{id: e.versions.Add(1), weights: weights, base: b, w: w, adapter: a, cache: b.kv.of(w.Config)}
	if weights == 0 {
		v.weights = v.id
	}
	runtime.AddCleanup(v, v.cache.Forget, v.id)
	return v
}

func newBase(name string, m Model, cacheBytes int64) (*base, error) {
	c, err := model.LoadConfig(m.Dir)
	if err != nil {
		return nil, fmt.Errorf("engine: base model %q: %w", name, err)
	}
	b := &base{name: name, dir: m.Dir, adapter: m.Adapter, config: c, context: contextOf(c), tokens: m.Tokens,
		kv: kvCaches{bytes: cacheBytes}, prints: map[bool]string{}}
	b.ends = slices.Clone(m.EndTokens)
	for _, id := range c.EOS {
		b.ends = append(b.ends, int32(id))
	}
	generation, err := generationEnds(m.Dir)
	if err != nil {
		return nil, fmt.Errorf("engine: base model %q: %w", name, err)
	}
	b.ends = append(b.ends, generation...)
	slices.Sort(b.ends)
	b.ends = slices.Compact(b.ends)
	return b, nil
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

// use returns the untouched weights, which it reads if they are not in memory. They stay there until the use ends. A
// promised use is not refused for lack of memory.
func (e *Engine) use(b *base, promised bool) (*version, *memoryUse, error) {
	held := e.memory.enter(b)
	v, err := e.load(b, promised)
	if err != nil {
		held.end()
		return nil, nil, err
	}
	return v, held, nil
}

// load is use for a base model that has a user already.
func (e *Engine) load(b *base, promised bool) (*version, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if v := e.memory.loaded(b); v != nil {
		return v, nil
	}
	v, parent, err := e.read(b, promised)
	if err != nil {
		e.memory.settle(b, nil, nil)
		return nil, fmt.Errorf("engine: base model %q: %w", b.name, err)
	}
	e.memory.settle(b, v, parent)
	return v, nil
}

// read reads a base model's weights and its adapter. The weights of another base model in the same folder are shared;
// that one is parent then, with one more user.
func (e *Engine) read(b *base, promised bool) (v *version, parent *base, err error) {
	if b.adapter == "" {
		w, err := e.readWeights(b, promised)
		if err != nil {
			return nil, nil, err
		}
		return e.newVersion(b, w, 0, nil), nil, nil
	}
	a, err := model.ReadPEFT(b.adapter)
	if err != nil {
		return nil, nil, err
	}
	var w *model.Weights
	if parent = e.plain(b.dir); parent != nil {
		shared, held, err := e.use(parent, promised)
		if err != nil {
			return nil, nil, err
		}
		if w, err = shared.w, e.memory.admit(b, a.LoRA.PackedBytes(shared.w.Config), promised); err != nil {
			held.end()
			return nil, nil, err
		}
		defer func() {
			if err != nil {
				held.end()
			}
		}()
	} else if w, err = e.readWeights(b, promised); err != nil {
		return nil, nil, err
	}
	adapter, err := w.NewAdapter(a.LoRA, a.Tensors, e.compute.K)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", b.adapter, err)
	}
	return e.newVersion(b, w, 0, adapter), parent, nil
}

// plain returns the base model without an adapter in a folder; nil if there is none.
func (e *Engine) plain(dir string) *base {
	for _, name := range slices.Sorted(maps.Keys(e.bases)) {
		if b := e.bases[name]; b.dir == dir && b.adapter == "" {
			return b
		}
	}
	return nil
}

// readWeights reads a base model's weights, for which it makes room. Files that have changed since they were first
// read are an error, since results would change with them; b.mu is held.
func (e *Engine) readWeights(b *base, promised bool) (*model.Weights, error) {
	stamp, err := stampOf(b.dir)
	if err != nil {
		return nil, err
	}
	if b.stamp != "" && b.stamp != stamp {
		return nil, tinker.Serverf("the weights in %s have changed since they were first read; restart the program, "+
			"or put the old files back", b.dir)
	}
	n, err := b.weightBytes()
	if err != nil {
		return nil, err
	}
	if err := e.memory.admit(b, n, promised); err != nil {
		return nil, err
	}
	w, err := model.Load(b.dir, e.compute)
	if err == nil {
		b.stamp = stamp
	}
	return w, err
}

// weightBytes is the memory of the weights in the dtype that their files have.
func (b *base) weightBytes() (int64, error) {
	c := b.config
	var err error
	if c.BF16, err = model.StoredBF16(b.dir, c); err != nil {
		return 0, err
	}
	return c.WeightBytes(), nil
}

// stampOf names the weight files of a folder with their sizes and times.
func stampOf(dir string) (string, error) {
	names, err := model.WeightFiles(dir)
	if err != nil {
		return "", err
	}
	var stamp []byte
	for _, name := range names {
		st, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			return "", err
		}
		stamp = fmt.Appendf(stamp, "%s %d %d\n", name, st.Size(), st.ModTime().UnixNano())
	}
	return string(stamp), nil
}

// tokenBytes returns the tokenizer.
func (b *base) tokenBytes() (TokenBytes, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tokens == nil {
		t, err := tokenizer.Load(b.dir)
		if err != nil {
			return nil, tinker.Userf("engine: stop strings need the tokenizer of base model %q; use stop tokens "+
				"instead: %w", b.name, err)
		}
		b.tokens = t
	}
	return b.tokens, nil
}

// fingerprint is a hash of config.json and the weights. For full-parameter training it covers config.json alone: such
// a checkpoint has all weights itself.
func (b *base) fingerprint(full bool) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p, ok := b.prints[full]; ok {
		return p, nil
	}
	files := []string{filepath.Join(b.dir, "config.json")}
	if !full {
		weights, err := filepath.Glob(filepath.Join(b.dir, "*.safetensors"))
		if err != nil {
			return "", fmt.Errorf("engine: base model %q: %w", b.name, err)
		}
		files = append(files, weights...) // Glob sorts
	}
	h := sha256.New()
	for _, path := range files {
		if err := hashFile(h, path); err != nil {
			return "", fmt.Errorf("engine: base model %q: %w", b.name, err)
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
