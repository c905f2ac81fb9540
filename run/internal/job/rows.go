package job

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/hf/hub"
	"github.com/seed-d9ad8ee0/trinity/hf/modelname"
	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
)

// ModelFolder returns the folder of a model, see [modelname.Finder].
func (j *Job) ModelFolder(ctx context.Context, name string) (string, error) {
	note := func(text string) { fmt.Fprintln(j.Out, foreign.Text(text)) }
	return modelname.Finder{Find: j.Find, Hub: j.Hub, Cache: j.Cache, Ollama: j.Ollama, Note: note}.Folder(ctx, name)
}

// Rows opens a data set: the path itself if there is such a file or folder or it is a pattern of files, else what its
// name leads to on the hub.
func (j *Job) Rows(ctx context.Context, path, subset, split string) (*dataset.Source, error) {
	ctx, cancel := j.WhileWanted(ctx)
	defer cancel()
	at := j.Find(path)
	if _, err := os.Stat(at); err != nil && j.Hub != nil && hub.IsName(path) {
		if at, err = j.Hub.Dataset(ctx, path, chooseSplit(subset, split)); err != nil {
			return nil, err
		}
	}
	return dataset.Open(at, subset, split)
}

// chooseSplit takes the files of a split, and the README that may say which they are.
func chooseSplit(subset, split string) hub.Choose {
	return func(ctx context.Context, l hub.Listing) ([]string, error) {
		const card = "README.md"
		readme := ""
		has := slices.Contains(l.Names, card)
		if has {
			text, err := l.Read(ctx, card)
			if err != nil {
				return nil, err
			}
			readme = string(text)
		}
		names, err := dataset.Select(l.Names, readme, subset, split)
		if err == nil && has {
			names = append(names, card)
		}
		return names, err
	}
}
