package env

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/spell"
)

// Drawn as the value of a parameter means that every Reset draws it again.
const Drawn = -1

// Params are the parameters of an environment by upstream's names. Yes and no are 1 and 0.
type Params map[string]int

// String lists the parameters in order of their names.
func (p Params) String() string {
	var b strings.Builder
	for i, k := range slices.Sorted(maps.Keys(p)) {
		if i > 0 {
			b.WriteString(" ")
		}
		b.WriteString(k + "=")
		if p[k] == Drawn {
			b.WriteString("drawn")
		} else {
			b.WriteString(strconv.Itoa(p[k]))
		}
	}
	return b.String()
}

// Spec is one line of the registry.
type Spec struct {
	ID     string // group:Name-version-variant
	Params Params // all that the environment has, with the values of this id
	Needs  string // its requirements besides this program, "" for none
	Note   string // a remark for the reader of a list, may be ""

	// Tasks is how many tasks the environment has, which the parameter "task" chooses from; 0: seeds are its tasks.
	Tasks int

	// Unsteady says that a seed does not decide how an episode begins. Forks of such an environment cannot be trusted:
	// repetitions are reset again, and begin in other states.
	Unsteady bool

	// New makes the environment. It checks the values of p, which has exactly the keys of Params.
	New func(p Params) (Env, error)
}

// CheckSeed refuses an environment that ignores seeds, if strict.
func (s Spec) CheckSeed(strict bool) error {
	if !strict || !s.Unsteady {
		return nil
	}
	return fmt.Errorf("env: %s ignores the seed of reset, and strict_seed is true; let it draw everything from the "+
		"seed, or set strict_seed to false: the repetitions of a task then begin in different states", s.ID)
}

// Registry finds environments by id. It does not change, and any number of goroutines may use it.
type Registry struct {
	specs []Spec
	index map[string]int
	find  map[string]Finder // by the beginning of ids
}

// Finder makes the line of an id that no table has.
type Finder func(id string) (Spec, error)

// With returns a registry in which find also finds the ids that begin with prefix. They are not in Specs.
func (r *Registry) With(prefix string, find Finder) *Registry {
	more := &Registry{specs: r.specs, index: r.index, find: map[string]Finder{prefix: find}}
	for p, f := range r.find {
		if p != prefix {
			more.find[p] = f
		}
	}
	return more
}

// NewRegistry makes a registry of the tables of several packages. An id that occurs twice is an error.
func NewRegistry(tables ...[]Spec) (*Registry, error) {
	r := &Registry{specs: slices.Concat(tables...), index: map[string]int{}}
	for i, s := range r.specs {
		if _, twice := r.index[s.ID]; twice {
			return nil, fmt.Errorf("env: the id %q is registered twice; ids are unique over all tables", s.ID)
		}
		r.index[s.ID] = i
	}
	return r, nil
}

// Specs returns the lines of the registry in the order in which they were given.
func (r *Registry) Specs() []Spec { return slices.Clone(r.specs) }

// Spec returns the line of an id. An unknown one is an error that names the nearest.
func (r *Registry) Spec(id string) (Spec, error) {
	if i, ok := r.index[id]; ok {
		return r.specs[i], nil
	}
	for prefix, find := range r.find {
		if strings.HasPrefix(id, prefix) {
			return find(id)
		}
	}
	return Spec{}, fmt.Errorf("env: there is no environment %q%s", id, nearest(id, slices.Sorted(maps.Keys(r.index))))
}

// Make makes the environment of an id. The given params override the registry's; an unknown one is an error.
func (r *Registry) Make(id string, given Params) (Env, error) {
	s, err := r.Spec(id)
	if err != nil {
		return nil, err
	}
	p := maps.Clone(s.Params)
	for _, k := range slices.Sorted(maps.Keys(given)) {
		if _, ok := p[k]; !ok {
			return nil, fmt.Errorf("env: %s has no parameter %q%s; it has %v", id, k,
				nearest(k, slices.Sorted(maps.Keys(p))), s.Params)
		}
		p[k] = given[k]
	}
	e, err := s.New(p)
	if err != nil {
		return nil, fmt.Errorf("env: %s with %v: %w", id, p, err)
	}
	return e, nil
}

// nearest is a hint at the word that was probably meant, "" if there is no word.
func nearest(word string, known []string) string {
	best, distance := "", len(word)+1
	for _, k := range known {
		if d := spell.Distance(strings.ToLower(word), strings.ToLower(k)); d < distance || best == "" {
			best, distance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; the nearest is %q", best)
}
