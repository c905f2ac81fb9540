package checkpoint

import (
	"context"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Store lists and reads what the Backend saved, such as engine.Engine.
type Store interface {
	Checkpoints(ctx context.Context) ([]tinker.Checkpoint, error)
	Checkpoint(path string) (tinker.Checkpoint, error)
	// Folder returns the folder of a checkpoint's files, for reading.
	Folder(path string) (string, error)
}

// Exporter is a Store that exports some files of a checkpoint in another form than they are saved in, such as
// engine.Engine.
type Exporter interface {
	Export(path string) ([]tinker.ExportFile, error)
}
