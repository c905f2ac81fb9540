package job

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/run/internal/jobdir"
	"github.com/seed-d9ad8ee0/trinity/studio/source"
)

// Identify reads run.json or makes it.
func (j *Job) Identify() (err error) {
	arithmetic := "" // on a server it is the server's affair
	if j.Local() {
		if arithmetic, err = j.numerics(); err != nil {
			return err
		}
	} else if j.Order != "" {
		return fmt.Errorf("run: an order of sums is asked for (%s), and the %s computes, not the local engine; "+
			"leave it out", j.Order, j.Backend.Kind)
	}
	if j.ID, err = j.Dir.Identity(jobdir.Draw(j.Config, arithmetic, j.Now())); err != nil {
		return err
	}
	note, err := j.ID.Check(j.Config, j.Dir.Path, arithmetic, string(j.Backend.Kind))
	if note != "" {
		j.Note(note)
	}
	if err == nil {
		j.noteSettings()
	}
	return err
}

// numerics names the local engine's arithmetic.
func (j *Job) numerics() (string, error) {
	base, err := j.BaseDtype()
	if err != nil {
		return "", err
	}
	return engine.NumericsOf(j.Dir.Checkpoints(), j.Order, base)
}

// BaseDtype is the dtype of the base models' matrices that the configuration asks for; empty is that of a job which
// continues, or bf16. If all weights are trained, auto is bf16.
func (j *Job) BaseDtype() (string, error) {
	dtype := j.Config.Model.BaseDtype
	if dtype != engine.BaseAuto {
		return dtype, engine.CheckBaseDtype(dtype)
	}
	if j.Config.LoRA().Rank == 0 {
		return engine.BaseBF16, nil
	}
	return engine.ChooseBaseDtype(dtype, j.Dir.Checkpoints(), j.Memory, j.Model.Dir)
}

// noteSettings writes the configuration into the job's folder for trinity studio, and tells a person what changed since
// the last start. That of what trains is kept: an evaluation beside it changes nothing. The job does not need it, so a
// failure does not matter.
func (j *Job) noteSettings() {
	before := source.NotedSettings(j.Dir.Path)
	mode, noted := before["mode"].Value.(string)
	if same := mode == string(j.Config.Mode); noted && !same && !j.Config.Mode.Trains() {
		return
	}
	var list []source.Setting
	for _, v := range j.Config.Values() {
		list = append(list, source.Setting{Key: v.Key, Value: v.Value, Origin: v.Origin.String()})
	}
	source.NoteSettings(j.Dir.Path, list)
	changed := changedSettings(before, list)
	if mode == string(j.Config.Mode) && j.Config.Mode.Trains() && len(changed) > 0 {
		fmt.Fprintf(j.Out, "note: changed since the last start of this job, from the next step on: %s\n",
			strings.Join(changed, ", "))
	}
}

// changedSettings are the values of training that differ from those before and do not follow from others, in words. An
// address may have a password in it and is not shown.
func changedSettings(before map[string]source.Setting, list []source.Setting) (changed []string) {
	for _, now := range list {
		was, known := before[now.Key]
		section, _, _ := strings.Cut(now.Key, ".")
		trains := slices.Contains([]string{"algorithm", "buffer", "data_processor", "explorer", "synchronizer",
			"trainer"}, section)
		byDefault := was.Origin == "default" && now.Origin == "default" // of two versions of this program
		if !known || !trains || byDefault || strings.HasPrefix(now.Origin, "derived") {
			continue
		}
		a, b := jsonOf(was.Value), jsonOf(now.Value) // a value that was read has the types of JSON
		switch {
		case a == b:
		case strings.Contains(a+b, "://"):
			changed = append(changed, now.Key)
		default:
			changed = append(changed, fmt.Sprintf("%s %s → %s", now.Key, a, b))
		}
	}
	return changed
}

func jsonOf(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}
