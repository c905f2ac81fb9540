package tinker

import (
	"context"
	"fmt"
)

// ErrUnloaded says that a model was given up. It is an ErrNotFound.
var ErrUnloaded = fmt.Errorf("model was unloaded: %w", ErrNotFound)

// Unloader is a Service that can give up a model.
type Unloader interface {
	// UnloadModel ends a model. What was accepted before is done first; whatever is asked of the model from now on,
	// its number included, is a User error that wraps ErrUnloaded. When the future is there its memory is free. Its
	// checkpoints stay, and samplers that hold them. The same again is no error.
	UnloadModel(ctx context.Context, modelID string) (*Future[UnloadOutput], error)
}

// UnloadOutput names the model that is gone.
type UnloadOutput struct {
	ModelID string `json:"model_id"`
}
