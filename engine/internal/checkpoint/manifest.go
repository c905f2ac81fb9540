package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Manifest is trinity.json of a checkpoint, which the engine reads before the other files.
type Manifest struct {
	Format      int         `json:"format"`
	Numerics    string      `json:"numerics"`
	DType       string      `json:"dtype"` // bf16 or f32: of the computation
	ModelID     string      `json:"model_id"`
	SeqID       int64       `json:"seq_id"`
	BaseModel   string      `json:"base_model"`
	Fingerprint string      `json:"base_model_fingerprint"`
	LoRA        tinker.LoRA `json:"lora_config"`
	Step        int64       `json:"step"`
	Optimizer   bool        `json:"optimizer"`
	Expires     *time.Time  `json:"expires,omitempty"`

	OptimizerType string `json:"optimizer_type,omitempty"` // "" is AdamW

	// Files are the checksums of the other files, and Sum is the manifest's own, without it. Checkpoints of older
	// versions have none.
	Files map[string]fileSum `json:"files,omitempty"`
	Sum   string             `json:"crc32c,omitempty"`
}

const Format = 1

// Kind is the optimizer of the run that was saved.
func (m Manifest) Kind() string {
	if m.OptimizerType == "" {
		return tinker.AdamW
	}
	return m.OptimizerType
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// fileSum is the length and the crc32c of a file. Write adds bytes to both.
type fileSum struct {
	Bytes int64  `json:"bytes"`
	CRC   uint32 `json:"crc32c"`
}

func (s *fileSum) Write(b []byte) (int, error) {
	s.Bytes += int64(len(b))
	s.CRC = crc32.Update(s.CRC, castagnoli, b)
	return len(b), nil
}

// sum is the checksum of a manifest, whatever m.Sum is.
func (m Manifest) sum() string {
	m.Sum = ""
	raw, err := json.Marshal(m)
	if err != nil {
		return "none" // a value that has no JSON; it does not match any
	}
	return fmt.Sprintf("%08x", crc32.Checksum(raw, castagnoli))
}

func readManifest(raw []byte) (m Manifest, err error) {
	if err := json.Unmarshal(raw, &m); err != nil {
		return m, err
	}
	if m.Format != Format {
		return m, tinker.Userf("format %d; this version reads %d", m.Format, Format)
	}
	if (m.Sum != "" || len(m.Files) > 0) && m.Sum != m.sum() {
		return m, errors.New("its checksum differs: it was damaged or changed; restore it from a backup")
	}
	return m, nil
}

// Check reads a file of the checkpoint in dir and compares its checksum, if the manifest has one.
func (m Manifest) Check(dir, name string) error {
	want, ok := m.Files[name]
	if !ok {
		return nil
	}
	path := filepath.Join(dir, name)
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	defer f.Close()
	var got fileSum
	if _, err := io.CopyBuffer(&got, f, make([]byte, 1<<20)); err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	if got != want {
		return fmt.Errorf("engine: %s is damaged or was changed: %d bytes with checksum %08x, and %d with %08x were "+
			"saved; restore it from a backup", path, got.Bytes, got.CRC, want.Bytes, want.CRC)
	}
	return nil
}
