package trainer

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Kind says what a checkpoint contains and why it was saved.
type Kind int

// The kinds of checkpoints.
const (
	IntervalState Kind = iota // weights and optimizer, saved every SaveInterval steps
	FinalState                // weights and optimizer of the last step of this process
	Sampler                   // weights to sample from, for the steps that follow
	FinalSampler              // weights to sample from, of the last step of this process
	Critic                    // the critic's weights and optimizer
)

// Notes is where a trainer keeps its state, and what it has saved on the service.
type Notes interface {
	// Write replaces the state. It is on the disk when Write returns.
	Write(State) error
	// Request names a checkpoint of the weights after step. The trainer adds the SeqID.
	Request(k Kind, step int) tinker.SaveRequest
	// Note keeps the path of a checkpoint. After a restart it may be called again with the same content.
	Note(k Kind, step int, path string) error
	// Path returns the path of a checkpoint of step that was noted.
	Path(k Kind, step int) (string, error)
}

// jobNotes are the files of a job directory: <name>_meta.json, and Trinity-RFT's files in global_step_<n>/.
type jobNotes struct {
	fs                disk.FS
	dir, name, prefix string
}

// Write implements Notes.
func (n jobNotes) Write(s State) error { return disk.WriteJSON(n.fs, statePath(n.dir, n.name), s) }

// Request implements Notes.
func (n jobNotes) Request(k Kind, step int) tinker.SaveRequest {
	what := map[Kind]string{Sampler: "sampler", FinalSampler: "sampler", Critic: "critic-state"}[k]
	what = cmp.Or(what, "state")
	return tinker.SaveRequest{Name: fmt.Sprintf("%s-%s-%d", n.prefix, what, step)}
}

func (n jobNotes) stepDir(step int) string {
	return filepath.Join(n.dir, "global_step_"+strconv.Itoa(step))
}

// file is the file with the path of a checkpoint, in its step's folder; latest has the number of the newest step, ""
// for none.
func (jobNotes) file(k Kind) (name, latest string) {
	switch k {
	case Sampler, FinalSampler:
		return "remote_sampler_path.txt", "latest_state_dict_iteration.txt"
	case Critic:
		return "critic_checkpoint_path.txt", ""
	default:
		return "remote_checkpoint_path.txt", "latest_checkpointed_iteration.txt"
	}
}

// Note implements Notes.
func (n jobNotes) Note(k Kind, step int, path string) error {
	dir := n.stepDir(step)
	if err := disk.MkdirAll(n.fs, dir); err != nil {
		return err
	}
	if k == IntervalState || k == FinalState {
		if err := disk.WriteFile(n.fs, filepath.Join(dir, ".full_checkpoint"), nil); err != nil {
			return err
		}
	}
	name, latest := n.file(k)
	err := disk.WriteFile(n.fs, filepath.Join(dir, name), []byte(path))
	if err != nil || latest == "" {
		return err
	}
	return disk.WriteFile(n.fs, filepath.Join(n.dir, latest), []byte(strconv.Itoa(step)))
}

// Path implements Notes.
func (n jobNotes) Path(k Kind, step int) (string, error) {
	name, _ := n.file(k)
	path, err := os.ReadFile(filepath.Join(n.stepDir(step), name))
	return strings.TrimSpace(string(path)), err
}
