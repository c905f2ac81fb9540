package tinker

import (
	"context"
	"fmt"
)

// ErrUnloaded means that a model was unloaded. It is an ErrNotFound.
var ErrUnloaded = fmt.Errorf("model was unloaded: %w", ErrNotFound)

// Unloader is a Service that can unload a model.
type Unloader interface {
	// UnloadModel unloads a model after its accepted requests. Every later request to the model or its key is a User
	// error that wraps ErrUnloaded. When the future resolves, the model's memory is free. Its checkpoints and the
	// samplers of them stay. A repeated call is no error.
	UnloadModel(ctx context.Context, modelID string) (*Future[UnloadOutput], error)
}

// UnloadOutput names the unloaded model.
type UnloadOutput struct {
	ModelID string `json:"model_id"`
}
