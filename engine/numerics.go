package engine

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/compute"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Numerics names the arithmetic of new folders. It changes whenever the same requests could give different bits. A
// folder keeps the arithmetic and the order of products that it was begun with, see orderFile.
const Numerics = "trinity-5"

// arithmetic is what the bits of a folder's results follow from, beside its models and requests.
type arithmetic struct {
	name   string
	order  kernel.Order
	frozen string // BaseInt8 or BaseInt4 if the matrices of base models are frozen in it
}

// first is the arithmetic of v0.2.0, whose folders note the order alone.
const first = "trinity-3"

// divisions are how requests are divided in the arithmetics that this version computes: in trinity-3 a gradient is one
// part, and in trinity-4 datums share nothing.
func divisions() map[string]compute.Division {
	return map[string]compute.Division{first: {}, "trinity-4": {Part: 8192}, Numerics: {Part: 8192, Tree: 4096}}
}

func (a arithmetic) division() compute.Division { return divisions()[a.name] }

// id is the full name: trinity-5-blocked or, with frozen weights, trinity-5-blocked-int8 or -int4.
func (a arithmetic) id() string {
	id := a.name + "-" + a.order.String()
	if a.frozen != "" {
		id += "-" + a.frozen
	}
	return id
}

// orderFile is the file of Options.Dir that names the arithmetic and the order in which bf16 products add. The
// processor that begins the folder chooses the order and every later one follows it, so that a job keeps its bits on
// another machine.
const orderFile = "order"

// arithmeticOf returns the arithmetic of dir. A new dir gets the order want or, if that is empty, the
// processor's own, and the base dtype or, if that is empty, that of the files.
func arithmeticOf(files disk.FS, dir, want, base string) (arithmetic, error) {
	fresh := arithmetic{Numerics, kernel.Native(), frozen(base)}
	if err := CheckBaseDtype(base); err != nil {
		return fresh, err
	}
	if want != "" {
		var err error
		if fresh.order, err = parseOrder(want); err != nil {
			return fresh, err
		}
	}
	begun, err := keptArithmetic(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err = disk.MkdirAll(files, dir); err == nil {
			err = disk.WriteNew(files, filepath.Join(dir, orderFile), rand.Text(), []byte(fresh.id()+"\n"))
		}
		if err != nil {
			return fresh, fmt.Errorf("engine: %w", err)
		}
		begun, err = keptArithmetic(dir) // another process may have been first
	}
	if err != nil {
		return fresh, err
	}
	if want != "" && begun.order != fresh.order {
		return fresh, tinker.Userf("engine: %s was begun with products in order %v, and %v is asked for; leave that "+
			"open or use another folder", dir, begun.order, fresh.order)
	}
	if base != "" && base != begun.baseDtype() {
		return fresh, tinker.Userf("engine: %s was begun with base weights in %s, and base_dtype %s is asked for; "+
			"leave that open or use another folder: an adapter fits the weights that it was trained on", dir,
			begun.baseDtype(), base)
	}
	return begun, nil
}

// keptArithmetic reads the arithmetic that dir was begun with; a new dir has none, an fs.ErrNotExist.
func keptArithmetic(dir string) (arithmetic, error) {
	path := filepath.Join(dir, orderFile)
	kept, err := os.ReadFile(path)
	if err != nil {
		return arithmetic{}, fmt.Errorf("engine: %w", err)
	}
	a, err := parseArithmetic(strings.TrimSpace(string(kept)))
	if err != nil {
		return a, fmt.Errorf("engine: %s: %w", path, err)
	}
	return a, nil
}

// parseArithmetic reads the content of orderFile.
func parseArithmetic(id string) (a arithmetic, err error) {
	for _, dtype := range []string{BaseInt8, BaseInt4} {
		if rest, ok := strings.CutSuffix(id, "-"+dtype); ok {
			id, a.frozen = rest, dtype
		}
	}
	name, order := first, id
	if i := strings.LastIndexByte(id, '-'); i >= 0 {
		name, order = id[:i], id[i+1:]
	}
	known := divisions()
	if _, ok := known[name]; !ok {
		return a, tinker.Userf("engine: arithmetic %q is unknown, this version computes %s; use the version of "+
			"trinity that began the folder, or another folder", name,
			strings.Join(slices.Sorted(maps.Keys(known)), ", "))
	}
	a.name = name
	a.order, err = parseOrder(order)
	return a, err
}

// Arithmetics lists the names of all that this version computes on every processor, and after them int8 and int4,
// with which each is computed too. They go to the head of a fleet in a line of at most 256 bytes.
func Arithmetics() []string {
	var names []string
	for name := range divisions() {
		for _, o := range orders() {
			names = append(names, arithmetic{name: name, order: o}.id())
		}
	}
	slices.Sort(names)
	return append(names, BaseInt8, BaseInt4)
}

// NewNumerics is the full name of the arithmetic of new folders on this processor, such as trinity-5-blocked.
func NewNumerics() string { return arithmetic{Numerics, kernel.Native(), ""}.id() }

// NumericsOf returns the full name of the arithmetic in which an engine on the folder dir computes: that of its
// beginning or, in a new folder, [Numerics] in the order named, or in this processor's own if order is empty, with
// that base dtype.
func NumericsOf(dir, order, base string) (string, error) {
	a, err := keptArithmetic(dir)
	if err == nil {
		return a.id(), nil
	}
	if order == "" {
		order = kernel.Native().String()
	}
	if errors.Is(err, fs.ErrNotExist) {
		if f := frozen(base); f != "" {
			order += "-" + f
		}
		return Numerics + "-" + order, nil
	}
	return "", err
}

// Kernels names the kernels with which this processor computes in its own order, such as avx512-bf16.
func Kernels() string {
	k, _ := kernel.Best(kernel.Native())
	return k.Path().String()
}

func orders() []kernel.Order { return []kernel.Order{kernel.Sequential, kernel.Blocked} }

func parseOrder(name string) (kernel.Order, error) {
	for _, o := range orders() {
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
	p, err := kernel.ParsePath(name)
	if err != nil {
		return nil, tinker.Userf("engine: %w, or leave it empty", err)
	}
	return kernel.New(p, order)
}

// NumericsID returns the name of the folder's arithmetic and the order of the products.
func (e *Engine) NumericsID() string { return e.numerics.id() }
