package experience

import (
	"fmt"
	"strconv"
	"strings"
)

// EID names an experience: which explore step (Batch) and task it belongs to, which repetition (Run) of the task, and
// which step of the episode. Suffix tells apart experiences that share the rest.
//
// Two runs of a program with one seed give the same ids.
type EID struct {
	Batch  string // the explore step, or "<step>/<taskset>" for an evaluation
	Task   string
	Run    int
	Step   int
	Suffix string
}

// TID names the task: experiences with one TID form a group.
func (id EID) TID() string { return id.Batch + "/" + id.Task }

// RID names one run of the task: the steps of one episode.
func (id EID) RID() string { return id.TID() + "/" + strconv.Itoa(id.Run) }

// SID names one step of the task over all its runs.
func (id EID) SID() string { return id.TID() + "/" + strconv.Itoa(id.Step) }

// String is the full name, batch/task/run/step/suffix.
func (id EID) String() string {
	return id.RID() + "/" + strconv.Itoa(id.Step) + "/" + id.Suffix
}

// Compare orders ids by batch, task, run, step and suffix; parts that are both decimal numbers compare as numbers. It
// returns a negative number, zero or a positive number.
func (id EID) Compare(other EID) int {
	if c := comparePart(id.Batch, other.Batch); c != 0 {
		return c
	}
	if c := comparePart(id.Task, other.Task); c != 0 {
		return c
	}
	if id.Run != other.Run {
		return id.Run - other.Run
	}
	if id.Step != other.Step {
		return id.Step - other.Step
	}
	return strings.Compare(id.Suffix, other.Suffix)
}

// comparePart puts numbers before other text, numbers in numeric order and text in byte order.
func comparePart(a, b string) int {
	x, errA := strconv.ParseUint(a, 10, 63)
	y, errB := strconv.ParseUint(b, 10, 63)
	switch {
	case errA == nil && errB == nil && x != y:
		if x < y {
			return -1
		}
		return 1
	case errA == nil && errB != nil:
		return -1
	case errA != nil && errB == nil:
		return 1
	}
	return strings.Compare(a, b)
}

// Suffix is the six hexadecimal digits that Trinity-RFT ends an id with, made from a number instead of from chance so
// that a repeated run gives the same ids.
func Suffix(n uint64) string { return fmt.Sprintf("%06x", n&0xffffff) }
