package weights

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"weak"

	"github.com/seed-d9ad8ee0/trinity/engine/executor"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/checkpoint"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// Executors on other machines know weights by their hashes only. They are computed when a version is first used there,
// so a process without such executors computes none.

// versionName is a version's name for executors.
type versionName struct {
	mu   sync.Mutex
	done bool
	executor.Version
	err error
}

// Identify returns the name of a version in the arithmetic of that name and, at the first call, offers the pool what it
// consists of.
func (v *Version) Identify(pool executor.Pool, numerics string) (executor.Version, error) {
	n := &v.name
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.done {
		n.Version, n.err = v.offer(pool, numerics)
		n.done = n.err == nil
	}
	return n.Version, n.err
}

func (v *Version) offer(pool executor.Pool, numerics string) (executor.Version, error) {
	out := executor.Version{Numerics: numerics, BF16: v.W.Config.BF16}
	var err error
	if out.Base, err = v.Base.Fingerprint(v.full); err != nil {
		return out, err
	}
	if out.Manifest, err = v.Base.pin(pool, v.full, out.Base); err != nil {
		return out, err
	}
	if v.Adapter == nil && !v.full {
		return out, nil
	}
	if v.Adapter != nil {
		out.LoRA = SeamLoRA(v.Adapter.LoRA)
		out.LoRA.Seed = nil
	}
	content, err := v.params()
	if err != nil {
		return out, err
	}
	out.Params = executor.HashOf(content)
	alive := weak.Make(v)
	withdraw := pool.Offer(executor.Blob{Hash: out.Params, Size: int64(len(content)),
		Open: func() (io.ReadCloser, error) {
			v := alive.Value()
			if v == nil {
				return nil, fmt.Errorf("engine: weights %.12s are not used any more", out.Params)
			}
			content, err := v.params()
			return io.NopCloser(bytes.NewReader(content)), err
		}})
	runtime.AddCleanup(v, func(withdraw func()) { withdraw() }, withdraw)
	return out, nil
}

// params is a safetensors file with what a version has beyond its base model: the adapter or the full parameters, in
// the dtype that is computed with. Equal weights give equal bytes.
func (v *Version) params() ([]byte, error) {
	c := v.W.Config
	var tensors []model.Tensor
	if v.Adapter != nil {
		tensors = v.Adapter.Tensors(c)
	} else {
		tensors = v.W.Tensors()
	}
	var out bytes.Buffer
	err := checkpoint.WriteTensors(&out, tensors, c.BF16)
	return out.Bytes(), err
}

// pinned is the blobs of a base model that were offered.
type pinned struct {
	manifests [2]string // hashes; the second for full parameters
	tokens    string    // hash of the table of tokens
}

// pin offers the files of a base model to a pool and returns the hash of their manifest. full is as for fingerprint.
func (b *Base) pin(pool executor.Pool, full bool, print string) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := &b.pinned.manifests[0]
	if full {
		at = &b.pinned.manifests[1]
	}
	if *at != "" {
		return *at, nil
	}
	m := executor.Manifest{Base: print, Name: b.Name, Repo: b.repo, Revision: b.revision}
	names := []string{"config.json"}
	if !full {
		weights, err := model.WeightFiles(b.Dir)
		if err != nil {
			return "", err
		}
		names = append(names, weights...)
	}
	for _, name := range names {
		f, err := offerFile(pool, filepath.Join(b.Dir, name))
		if err != nil {
			return "", fmt.Errorf("engine: base model %q: %w", b.Name, err)
		}
		m.Files = append(m.Files, f)
	}
	content, err := m.Encode()
	if err != nil {
		return "", fmt.Errorf("engine: base model %q: %w", b.Name, err)
	}
	*at = offerBytes(pool, content)
	return *at, nil
}

// offerFile offers a file of a base model, which stays as long as the process.
func offerFile(pool executor.Pool, path string) (executor.File, error) {
	f, err := disk.OpenRegular(path)
	if err != nil {
		return executor.File{}, err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.CopyBuffer(h, f, make([]byte, 1<<20))
	if err != nil {
		return executor.File{}, err
	}
	out := executor.File{Name: filepath.Base(path), Size: n, Hash: hex.EncodeToString(h.Sum(nil))}
	pool.Offer(executor.Blob{Hash: out.Hash, Size: n, Open: func() (io.ReadCloser, error) { return os.Open(path) }})
	return out, nil
}

func offerBytes(pool executor.Pool, content []byte) (hash string) {
	hash = executor.HashOf(content)
	pool.Offer(executor.Blob{Hash: hash, Size: int64(len(content)), Open: func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(content)), nil
	}})
	return hash
}

// PinTokens offers the bytes of a base model's tokens and returns their hash.
func (b *Base) PinTokens(pool executor.Pool) (string, error) {
	t, err := b.Tokenizer()
	if err != nil {
		return "", err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pinned.tokens == "" {
		b.pinned.tokens = offerBytes(pool, executor.NewTokenTable(b.Config.Vocab, t.Bytes).Encode())
	}
	return b.pinned.tokens, nil
}
