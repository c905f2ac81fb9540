package rollout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Entropies is the folder below the records with the entropies that training computes: a file of the same name for
// each of theirs, to which lines are appended. The last of several lines of a sample counts.
const Entropies = "entropy"

// Entropy is a sample's entropy as training computed it.
type Entropy struct {
	Version int     // of the weights
	Mean    float64 // over the trained tokens, nats
	at      int64   // of its line
	length  int
}

// Measured is a folder that may have entropies beside its records.
type Measured interface {
	// Entropies returns a file's entropies by EntropyKey; nil if there are none.
	Entropies(ctx context.Context, f File) (map[EntropyKey]Entropy, error)
	// EachEntropy reads the entropies of a sample's tokens, nats; 0 for those that were not trained.
	EachEntropy(f File, e Entropy) ([]float32, error)
}

// EntropyKey names a sample within its file.
type EntropyKey struct {
	Group        string
	Repeat, Turn int32
}

// EntropyKey is the row's.
func (r *Row) EntropyKey() EntropyKey { return EntropyKey{r.Group, r.Repeat, r.Turn} }

// openBeside opens the file of a folder below the records that belongs to f; nil if there is none.
func (d Dir) openBeside(folder string, f File) (*os.File, error) {
	file, err := os.Open(filepath.Join(string(d), folder, f.Name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("rollout: %w", err)
	}
	return file, nil
}

// Entropies implements Measured.
func (d Dir) Entropies(ctx context.Context, f File) (map[EntropyKey]Entropy, error) {
	file, err := d.openBeside(Entropies, f)
	if file == nil {
		return nil, err
	}
	defer file.Close()
	list := map[EntropyKey]Entropy{}
	err = Lines(ctx, file, func(line []byte, at, _ int64) {
		var row Row
		e := Entropy{at: at, length: len(line)}
		known := false
		err := Fields(line, func(key, value []byte, _ int) {
			switch string(key) {
			case "id":
				row.identify(unquote(value))
			case "version":
				v, _ := Number(value)
				e.Version = int(v)
			case "entropy":
				e.Mean, known = Number(value)
			}
		})
		if err == nil && known {
			list[row.EntropyKey()] = e
		}
	})
	return list, err
}

// EachEntropy implements Measured.
func (d Dir) EachEntropy(f File, e Entropy) ([]float32, error) {
	file, err := os.Open(filepath.Join(string(d), Entropies, f.Name))
	if err != nil {
		return nil, fmt.Errorf("rollout: %w", err)
	}
	defer file.Close()
	line := make([]byte, e.length)
	if _, err := file.ReadAt(line, e.at); err != nil {
		return nil, fmt.Errorf("rollout: %s was changed while it was read: %w", file.Name(), err)
	}
	var each struct {
		Entropies []float32 `json:"entropies"`
	}
	if err := json.Unmarshal(line, &each); err != nil {
		return nil, fmt.Errorf("rollout: %s has a line without entropies: %w", file.Name(), err)
	}
	return each.Entropies, nil
}
