package jobdir

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// notesFile is where a job notes its model.
const notesFile = "model.json"

// Notes are a job's notes of its model, for chats with the result.
type Notes struct {
	Model       string  `json:"model"`          // as the configuration names it
	Path        string  `json:"path,omitempty"` // its folder or GGUF file; "" for a name that is found elsewhere
	System      string  `json:"system_prompt,omitempty"`
	Temperature float64 `json:"temperature"`
	TopP        float64 `json:"top_p"`
	TopK        int     `json:"top_k"` // -1: all tokens
	Thinking    *bool   `json:"enable_thinking,omitempty"`
}

// KeepNotes writes the notes of the job's model. Mode bench changes none: it may ask in another way than the job did.
func (d Dir) KeepNotes(n Notes) error {
	if _, err := os.Stat(d.File(notesFile)); d.bench && err == nil {
		return nil
	}
	data, err := json.MarshalIndent(n, "", "  ")
	if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	return d.keep(notesFile, data)
}

// keep writes a file for others to read, unless it has that content.
func (d Dir) keep(name string, data []byte) error {
	if d.beside {
		return nil // the trainer beside it does
	}
	path := d.File(name)
	if was, err := os.ReadFile(path); err == nil && string(was) == string(data) {
		return nil
	}
	if err := disk.WriteFile(d.FS, path, data); err != nil {
		return fmt.Errorf("run: %w", err)
	}
	return nil
}

// ReadNotes returns the notes of the job that path, a job directory or something in it, belongs to; nil if path belongs
// to no job that has them.
func ReadNotes(path string) (*Notes, error) {
	at, err := enclosing(path, notesFile) // jobs of older versions have none
	if at == "" || err != nil {
		return nil, err
	}
	name := filepath.Join(at, notesFile)
	data, err := disk.ReadFile(name, disk.SmallFile)
	n := new(Notes)
	if err == nil {
		err = json.Unmarshal(data, n)
	}
	if err != nil {
		return nil, fmt.Errorf("run: %s: %w", name, err)
	}
	return n, nil
}

// Find returns where the model of that name is: at the noted place if it is still there, else the name itself. n may be
// nil.
func (n *Notes) Find(name string) string {
	if n == nil || n.Model != name || n.Path == "" {
		return name
	}
	if _, err := os.Stat(n.Path); err != nil {
		return name
	}
	return n.Path
}
