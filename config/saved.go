package config

import (
	"reflect"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/config/internal/document"
)

// Trinity-RFT writes a run's configuration into config.json of the job directory: all keys, with their defaults and
// with what its program fills in. There a value that is the default was given by nobody, so what is derived from
// "not given" is derived as it is from the file that its user wrote.

// savedByUpstream reports whether root is such a configuration. It has a key that users do not write.
func savedByUpstream(root *document.Node) bool {
	dir := root.Get("checkpoint_job_dir")
	return dir != nil && dir.At.Src != nil && dir.At.Src.Override == ""
}

// isDefault reports whether a value that was read is the default. It makes an empty list or mapping none, if that is
// the default.
func isDefault(v reflect.Value, def any) bool {
	if k := v.Kind(); k == reflect.Map || k == reflect.Slice {
		if none := reflect.ValueOf(def); v.Len() == 0 && none.Len() == 0 {
			v.Set(none)
		}
	}
	return reflect.DeepEqual(v.Interface(), def)
}

// forget makes a key of the file, and everything inside it, one that nobody gave; problems still have its place.
func (t *trace) forget(key string) {
	for path, o := range t.origins {
		if within(path, key) && o.Kind == FromFile {
			t.origins[path] = Origin{at: o.at}
		}
	}
	t.idle = slices.DeleteFunc(t.idle, func(path string) bool {
		return within(path, key) && t.origins[path].Kind == FromDefault
	})
}

// deriveSaved takes what Trinity-RFT's program put into a saved configuration out again.
func (c *Config) deriveSaved() {
	if !c.trace.saved {
		return
	}
	in := &c.Buffer.ExplorerInput
	for _, list := range [][]Taskset{in.Tasksets, in.EvalTasksets} {
		for i := range list {
			list[i].unsave()
		}
	}
	if in.Taskset != nil {
		in.Taskset.unsave()
	}
	c.trace.saved = false // which changes values once
	c.note("the configuration was written by Trinity-RFT (it has checkpoint_job_dir): values that are its defaults " +
		"count as not given")
}

func (t *Taskset) unsave() {
	delete(t.WorkflowArgs, "checkpoint_job_dir")
	if len(t.WorkflowArgs) == 0 {
		t.WorkflowArgs = nil
	}
	if k := t.RolloutArgs.TopK; k != nil && *k == -1 { // written where none was given; section model decides
		t.RolloutArgs.TopK = nil
	}
}

// autoSections are the sections that the program sets itself, with the types whose keys they have.
func autoSections() map[string][]reflect.Type {
	type storage struct { // upstream's StorageConfig is both kinds of section in one, and has a key of its own
		_ struct{} `auto:"wrap_in_ray"`
	}
	return map[string][]reflect.Type{
		"explorer_output": {reflect.TypeFor[ExperienceBuffer](), reflect.TypeFor[Taskset](),
			reflect.TypeFor[storage]()},
		"external_model_config": {reflect.TypeFor[ExternalModel]()},
	}
}

// known adds a problem for each key of a section that none of the types has. Its values are not read.
func (d *decoder) known(n *document.Node, path string, types []reflect.Type) {
	if len(types) == 0 {
		return
	}
	var keys []key
	var inner []reflect.Type
	for _, t := range types {
		for _, k := range keysOf(t) {
			if k.index >= 0 {
				inner = append(inner, t.Field(k.index).Type)
			} else {
				inner = append(inner, nil)
			}
			keys = append(keys, k)
		}
	}
	for _, f := range n.Fields {
		full := document.Join(path, f.Key)
		i := slices.IndexFunc(keys, func(k key) bool { return k.name == f.Key })
		if i < 0 {
			d.unknown(f, full, path, keys)
			continue
		}
		if t := inner[i]; t != nil && section(t) != nil {
			d.known(f.Value, full, []reflect.Type{section(t)})
		}
	}
}

// section is the struct that t is or points to, or nil.
func section(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	return t
}
