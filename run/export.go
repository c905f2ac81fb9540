package run

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// export copies the saved weights of a full-parameter run to global_step_<n>/actor/huggingface, where upstream puts the model:
// an ordinary Hugging Face folder. Adapters stay in their checkpoint.
func (b *job) export(step int) error {
	if b.cfg.LoRA().Rank > 0 || b.cfg.Trainer.SaveHFCheckpoint == "never" || step == 0 {
		return nil
	}
	dir := filepath.Join(b.dir, "global_step_"+strconv.Itoa(step))
	path, err := os.ReadFile(filepath.Join(dir, "remote_checkpoint_path.txt"))
	if err != nil {
		return fmt.Errorf("run: export: %w", err)
	}
	from, err := b.engine.Folder(strings.TrimSpace(string(path)))
	if err != nil {
		return fmt.Errorf("run: export: %w", err)
	}
	files, err := os.ReadDir(from)
	if err != nil {
		return fmt.Errorf("run: export: %w", err)
	}
	to := filepath.Join(dir, "actor", "huggingface")
	if err := b.fs.MkdirAll(to); err != nil {
		return fmt.Errorf("run: export: %w", err)
	}
	for _, f := range files {
		if trainingOnly(f.Name()) {
			continue
		}
		if err := b.copyFile(filepath.Join(from, f.Name()), filepath.Join(to, f.Name())); err != nil {
			return fmt.Errorf("run: export: %w", err)
		}
	}
	return nil
}

// trainingOnly are the files of a checkpoint that a model folder does not have.
func trainingOnly(name string) bool {
	return name == "trinity.json" || name == "optimizer.safetensors" || name == "master.safetensors"
}

func (b *job) copyFile(from, to string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	return disk.Replace(b.fs, to, func(w io.Writer) error {
		_, err := io.Copy(w, src)
		return err
	})
}
