package tinker

import "io"

// ExportFile is a file of a checkpoint in the form in which it is given away. Close it, written or not.
type ExportFile struct {
	Name  string
	Size  int64 // bytes
	Write func(io.Writer) error
	Close func() error
}
