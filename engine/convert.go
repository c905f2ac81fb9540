package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/checkpoint"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/merge"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// The files of an adapter's folder, as Python's peft names them.
const (
	AdapterConfigFile  = model.PEFTConfigFile
	AdapterWeightsFile = model.PEFTWeightsFile
)

// Adapter is a LoRA adapter in a folder of Python's peft or of this program.
type Adapter struct {
	Base    string // the base model's name or path, as the adapter's author called it; may be empty
	Rank    int
	Alpha   float64
	Modules []string // that it is added to, such as q_proj

	peft model.PEFT
}

// ReadAdapter reads the adapter in the folder dir with its weights. If the engine would compute the adapter wrongly,
// the error names the key that it does not support; it wraps fs.ErrNotExist if dir has no [AdapterConfigFile].
func ReadAdapter(dir string) (Adapter, error) {
	a, err := model.ReadPEFT(dir)
	if err != nil {
		return Adapter{}, err
	}
	return Adapter{Base: a.Base, Rank: a.LoRA.Rank, Alpha: a.LoRA.Alpha, Modules: a.LoRA.Targets(), peft: a}, nil
}

// Merge writes the model of the folder base with the adapter added to its weights to the folder out, which it makes:
// an ordinary Hugging Face folder with the base's files and dtypes. If the adapter is on the unembedding of a tied
// model, the result is untied. A template that is not empty becomes the chat template of out. After a crash out is
// complete or absent. The warning is that of [Options.Log]: a fast kernel failed its self-test and was not used.
func Merge(base string, a Adapter, out, template string) (warning, err error) {
	if err := a.peft.CheckBase(""); err != nil {
		return nil, fmt.Errorf("engine: %w; it cannot be merged into other weights", err)
	}
	k, warning := kernel.Best(kernel.Native())
	pool := kernel.NewPool(runtime.GOMAXPROCS(0))
	defer pool.Close()
	if out, err = newFolder(out); err != nil {
		return warning, err
	}
	if err := disk.MkdirAll(disk.OS(), filepath.Dir(out)); err != nil {
		return warning, err
	}
	return warning, merge.Write(base, a.peft, out, template, disk.OS(), nn.Compute{K: k, P: pool})
}

// CopyModel copies the model in the folder from to the folder out, which it makes: weights, configuration and
// tokenizer, and no other files. A template that is not empty becomes the chat template of out. After a crash out is
// complete or absent.
func CopyModel(from, out, template string) error { return copyModel(disk.OS(), from, out, template) }

func copyModel(to disk.FS, from, out, template string) error {
	if entries, err := os.ReadDir(out); err == nil && len(entries) > 0 {
		return fmt.Errorf("engine: %s is not empty; choose another folder or remove it", out)
	}
	out, err := newFolder(out)
	if err != nil {
		return err
	}
	names, err := model.WeightFiles(from)
	if err != nil {
		return err
	}
	for _, name := range model.FolderFiles(from, template == "") {
		if _, err := os.Stat(filepath.Join(from, name)); err == nil && name != configFile {
			names = append(names, name)
		}
	}
	tmp := out + checkpoint.Unfinished
	err = to.RemoveAll(tmp) // an earlier call may have left it
	if err == nil {
		err = copyFiles(to, from, tmp, names, template)
	}
	if err == nil {
		err = errors.Join(to.SyncDir(tmp), to.RemoveAll(out)) // an empty folder at most
	}
	if err == nil {
		err = to.Rename(tmp, out)
	}
	if err != nil {
		return fmt.Errorf("engine: copying %s to %s: %w", from, out, errors.Join(err, to.RemoveAll(tmp)))
	}
	return to.SyncDir(filepath.Dir(out))
}

// copyFiles copies files by their names below from, and writes config.json, and the template if it is not empty.
func copyFiles(to disk.FS, from, out string, names []string, template string) error {
	for _, name := range names {
		at := filepath.Join(out, name)
		err := to.MkdirAll(filepath.Dir(at))
		if err == nil {
			err = disk.CopyFile(to, filepath.Join(from, name), at)
		}
		if err != nil {
			return err
		}
	}
	config, err := model.FolderConfig(from)
	if err == nil {
		err = disk.WriteFile(to, filepath.Join(out, configFile), config)
	}
	if err != nil {
		return err
	}
	if template == "" {
		return nil
	}
	return disk.WriteFile(to, filepath.Join(out, model.TemplateFile), []byte(template))
}

// newFolder is the path of a folder to make at out, where nothing or an empty folder is: one that a link leads to, and
// without a slash at its end, so that a name beside it can be made of it.
func newFolder(out string) (string, error) {
	st, err := os.Stat(out)
	if err == nil && !st.IsDir() {
		return "", fmt.Errorf("engine: %s is a file; choose another name for the folder or remove it", out)
	}
	if err == nil {
		if out, err = filepath.EvalSymlinks(out); err != nil {
			return "", fmt.Errorf("engine: %w", err)
		}
	}
	return filepath.Abs(out)
}

const configFile = "config.json"
