package run

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/hf/hub"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
)

// FindModel returns the folder of a model: the path itself, as find turns it, if there is such a folder, else what its
// name leads to on the hub. hub may be nil.
func FindModel(ctx context.Context, name string, find func(string) string, h *hub.Hub) (string, error) {
	dir := find(name)
	if st, err := os.Stat(dir); err == nil && st.IsDir() {
		return dir, nil
	}
	if h == nil || !hub.IsName(name) {
		return "", fmt.Errorf("run: model %q is not a folder here; model.model_path must name a Hugging Face folder "+
			"with config.json, tokenizer.json and safetensors files, or a model on the hub such as "+
			"meta-llama/Llama-3.2-3B", name)
	}
	return h.Model(ctx, name)
}

// whileWanted is ctx until the run is asked to stop: a download ends then and goes on with the next start.
func (o Options) whileWanted(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-o.Stop:
			cancel(ErrInterrupted)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// openRows opens a data set: the path itself if there is such a file or folder or it is a pattern of files, else what
// its name leads to on the hub.
func (b *job) openRows(ctx context.Context, path, subset, split string) (*dataset.Source, error) {
	ctx, cancel := b.whileWanted(ctx)
	defer cancel()
	at := b.Find(path)
	if _, err := os.Stat(at); err != nil && b.Hub != nil && hub.IsName(path) {
		if at, err = b.Hub.Dataset(ctx, path, chooseSplit(subset, split)); err != nil {
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
