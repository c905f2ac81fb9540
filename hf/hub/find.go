package hub

import (
	"context"
	"fmt"
	"os"
)

// FindModel returns the folder of a model: the path itself, as find turns it, if there is such a folder, else what its
// name leads to on the hub. h may be nil.
func FindModel(ctx context.Context, name string, find func(string) string, h *Hub) (string, error) {
	dir := find(name)
	if st, err := os.Stat(dir); err == nil && st.IsDir() {
		return dir, nil
	}
	if h == nil || !IsName(name) {
		return "", fmt.Errorf("hub: model %q is not a folder here; model.model_path must name a Hugging Face folder "+
			"with config.json, tokenizer.json and safetensors files, or a model on the hub such as "+
			"meta-llama/Llama-3.2-3B", name)
	}
	return h.Model(ctx, name)
}
