package jobdir

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// ServerModels lists the models that it made on servers, so that a later start can unload them when a
// server has no room for another: remote_models.json, which has the ids by the server's address, the oldest first.
type ServerModels struct {
	FS     disk.FS
	Path   string
	Server string
}

// keptNotes is how many models of a server are noted. The oldest are long gone: servers unload idle models, or are
// restarted.
const keptNotes = 100

// modelLists is the file.
type modelLists struct {
	Models map[string][]string `json:"models"`
}

// Read lists the models that were made on the server, the oldest first.
func (n ServerModels) Read() ([]string, error) {
	all, err := n.all()
	return all.Models[n.Server], err
}

func (n ServerModels) all() (all modelLists, err error) {
	err = disk.ReadJSON(n.Path, &all)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return all, fmt.Errorf("run: %s: %w; remove it: it only lists models that earlier starts left on servers, "+
			"to be unloaded when one is full", n.Path, err)
	}
	return all, nil
}

// Add notes a model that was made.
func (n ServerModels) Add(id string) error {
	all, err := n.all()
	if err != nil {
		return err
	}
	if all.Models == nil {
		all.Models = map[string][]string{}
	}
	list := append(slices.DeleteFunc(all.Models[n.Server], func(old string) bool { return old == id }), id)
	all.Models[n.Server] = list[max(0, len(list)-keptNotes):]
	return disk.WriteJSON(n.FS, n.Path, all)
}
