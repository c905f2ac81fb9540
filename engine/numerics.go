package engine

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Numerics names the arithmetic of this version. It changes whenever the same requests could give different bits. The
// order in which products add belongs to the arithmetic too; each folder has one, see orderFile.
const Numerics = "trinity-3"

// orderFile is the file of Options.Dir that names the order in which bf16 products add. The processor that begins the
// folder chooses the order and every later one follows it, so that a job keeps its bits on another machine.
const orderFile = "order"

// orderOf returns the order of dir. A new dir gets the order want or, if that is empty, the processor's own.
func orderOf(files disk.FS, dir, want string) (kernel.Order, error) {
	order := kernel.Native()
	if want != "" {
		var err error
		if order, err = parseOrder(want); err != nil {
			return 0, err
		}
	}
	path := filepath.Join(dir, orderFile)
	kept, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = files.MkdirAll(dir); err == nil {
			err = disk.WriteNew(files, path, rand.Text(), []byte(order.String()+"\n"))
		}
		if err == nil {
			kept, err = os.ReadFile(path) // another process may have been first
		}
	}
	if err != nil {
		return 0, fmt.Errorf("engine: %w", err)
	}
	begun, err := parseOrder(strings.TrimSpace(string(kept)))
	if err != nil {
		return 0, fmt.Errorf("engine: %s: %w", path, err)
	}
	if want != "" && begun != order {
		return 0, tinker.Userf("engine: %s was begun with products in order %v, and %v is asked for; leave that open "+
			"or use another folder", dir, begun, order)
	}
	return begun, nil
}

func parseOrder(name string) (kernel.Order, error) {
	for _, o := range []kernel.Order{kernel.Sequential, kernel.Blocked} {
		if o.String() == name {
			return o, nil
		}
	}
	return 0, tinker.Userf("engine: order %q is unknown; use sequential or blocked", name)
}

// pick returns the kernels of that name, or the best ones, for an order.
func pick(name string, order kernel.Order, log *slog.Logger) (*kernel.Set, error) {
	if name == "" {
		k, warning := kernel.Best(order)
		if warning != nil {
			log.Warn("engine: a fast kernel failed its self-test and is not used", "error", warning)
		}
		return k, nil
	}
	var names []string
	for p := kernel.Portable; p <= kernel.LastPath; p++ {
		if p.String() == name {
			return kernel.New(p, order)
		}
		names = append(names, p.String())
	}
	return nil, tinker.Userf("engine: kernel %q is unknown; use one of %s, or leave it empty", name,
		strings.Join(names, ", "))
}

// NumericsID returns Numerics and the order of the products.
func (e *Engine) NumericsID() string { return Numerics + "-" + e.compute.K.Order().String() }
