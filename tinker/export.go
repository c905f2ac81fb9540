package tinker

import "io"

// ExportFile is a file of a checkpoint in the form for other programs. The caller must close it, even if it was not
// written.
type ExportFile struct {
	Name  string
	Size  int64 // bytes
	Write func(io.Writer) error
	Close func() error
}
