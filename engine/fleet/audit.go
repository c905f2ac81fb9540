package fleet

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seed-d9ad8ee0/trinity/engine/fleet/internal/message"
)

// used are answers that callers used and nobody compared, so that they can be computed again when their worker is found
// to be wrong.
type used struct {
	list  []usedAnswer
	bytes int
}

type usedAnswer struct {
	task   Task
	worker string
	sum    string
	at     time.Time
}

// mostUsed and usedBytes bound what is remembered. Beyond them the oldest quarter is forgotten.
const (
	mostUsed  = 1 << 14
	usedBytes = 64 << 20
)

func (u *used) add(a usedAnswer) {
	u.list = append(u.list, a)
	u.bytes += len(a.task.Payload)
	if len(u.list) <= mostUsed && u.bytes <= usedBytes {
		return
	}
	n := 0
	for len(u.list)-n > mostUsed*3/4 || u.bytes > usedBytes*3/4 {
		u.bytes -= len(u.list[n].task.Payload)
		n++
	}
	u.list = slices.Delete(u.list, 0, n)
}

// of takes the answers of a worker out.
func (u *used) of(worker string) (out []usedAnswer) {
	u.list = slices.DeleteFunc(u.list, func(a usedAnswer) bool {
		if a.worker != worker {
			return false
		}
		u.bytes -= len(a.task.Payload)
		out = append(out, a)
		return true
	})
	return out
}

// Used says that a caller used an answer to a task that nobody has compared. If its worker is found to be wrong, the
// task is computed again, as long as what it needs is offered, and the log says whether this answer was wrong.
func (h *Head) Used(t Task, r Result) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r.Checked || r.Worker == Here {
		return
	}
	h.used.add(usedAnswer{task: t, worker: r.Worker, sum: r.sum, at: time.Now()})
	if h.liars[r.Worker] { // since the caller asked
		h.audit(r.Worker)
	}
}

// audit has what a worker gave and callers used computed again, by others. The caller holds the lock.
func (h *Head) audit(worker string) {
	list := h.used.of(worker)
	if len(list) == 0 {
		return
	}
	h.line.work.Start(func() {
		right, wrong := h.again(list)
		if h.line.ctx.Err() != nil {
			return
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.counts.Audited += int64(right + len(wrong))
		h.counts.UsedWrong += int64(len(wrong))
		h.line.logf(worker, "%s", audited(h.crew.name(worker), len(list), right, wrong))
	})
}

// auditing bounds the tasks that are computed again at a time.
const auditing = 16

// again computes tasks again. It returns how many answers were right, and those that were wrong in the order of their
// use. Tasks that cannot be computed any more are neither.
func (h *Head) again(list []usedAnswer) (right int, wrong []usedAnswer) {
	sums := make([]string, len(list))
	var g errgroup.Group
	g.SetLimit(auditing)
	for i, a := range list {
		g.Go(func() error {
			if sum, err := h.sumOf(a); err == nil {
				sums[i] = sum
			}
			return nil
		})
	}
	g.Wait()
	for i, a := range list {
		switch sums[i] {
		case "":
		case a.sum:
			right++
		default:
			wrong = append(wrong, a)
		}
	}
	return right, wrong
}

// sumOf is the SHA-256 of a used answer's task: of another worker's answer, or of the head's if none is there or the
// other one, which may lie too, differs.
func (h *Head) sumOf(a usedAnswer) (string, error) {
	for _, n := range a.task.Needs {
		if _, err := h.shelf.find(n.Hash); err != nil {
			return "", err
		}
	}
	if h.o.Local == nil || h.Workers() > 0 {
		r, err := h.Do(h.line.ctx, a.task)
		if err != nil || r.sum == a.sum || r.Checked || h.o.Local == nil {
			return r.sum, err
		}
	}
	payload, err := h.shelf.compute(h.line.ctx, h.o.Local, a.task)
	return message.Hash(payload), err
}

// audited is the line of the log about answers of a worker.
func audited(worker string, all, right int, wrong []usedAnswer) string {
	line := fmt.Sprintf("fleet: answers of worker %s that were used before it was set aside: %d, of which %d are "+
		"right, %d wrong, %d cannot be computed again", worker, all, right, len(wrong), all-right-len(wrong))
	if len(wrong) == 0 {
		return line
	}
	var tasks []string
	for _, a := range wrong[:min(3, len(wrong))] {
		tasks = append(tasks, fmt.Sprintf("%.12s (%s)", a.task.ID, a.task.Kind))
	}
	return line + fmt.Sprintf("; wrong are %s: since %s the job does not have the bits of one machine. If that "+
		"matters, begin it anew from an older checkpoint, with fleet.verify=1 or without that machine",
		strings.Join(tasks, ", "), wrong[0].at.Format(time.TimeOnly))
}
