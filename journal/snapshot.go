package journal

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// A snapshot file is: the machine's state, a trailer (JSON), the trailer's length (uint32), crc32c of everything before (uint32), snapshotEnd.
const (
	snapshotEnd  = "TRNSNAP1"
	snapshotFoot = 8 + len(snapshotEnd)
)

type trailer struct {
	Version  int      `json:"version"`
	Numerics string   `json:"numerics"`
	Created  created  `json:"created"`
	Applied  int64    `json:"applied"`
	Results  []result `json:"results"` // the newest ones, so that a repeated request is still answered
}

func (j *Journal) snapshotPath(modelID string) string {
	return filepath.Join(j.dir, "model-"+url.PathEscape(modelID)+".snap")
}

func (m *model) snapshotIfDue() {
	m.mu.Lock()
	due := m.compute > m.j.opts.SnapshotAfter || m.bytes > m.j.opts.SnapshotBytes
	m.mu.Unlock()
	var err error
	if !m.leaves() && (due || m.j.log.full()) {
		err = errors.Join(m.snapshot(), m.j.release())
	}
	err = errors.Join(err, m.j.boundReplay())
	if err != nil && m.j.ctx.Err() == nil {
		m.j.opts.Warn(fmt.Sprintf("a snapshot failed, the log keeps growing: %v", err))
	}
}

// boundReplay takes snapshots until what all models have to replay is within the bound. Whoever comes while it works need not.
func (j *Journal) boundReplay() error {
	if !j.bounding.TryLock() {
		return nil
	}
	defer j.bounding.Unlock()
	for most := j.replayable(); most != nil; most = j.replayable() {
		if err := most.snapshot(); err != nil {
			return err
		}
	}
	return nil
}

// replayable returns the model with the most compute to replay when that of all models is beyond the bound, else nil.
func (j *Journal) replayable() (most *model) {
	total, largest := time.Duration(0), time.Duration(0)
	for _, m := range j.all() {
		m.mu.Lock()
		if m.leaving == nil { // else nothing of it is replayed
			total += m.compute
			if m.compute > largest {
				most, largest = m, m.compute
			}
		}
		m.mu.Unlock()
	}
	if total <= j.opts.ReplayMax {
		return nil
	}
	return most
}

// snapshot writes the model's state, starts a new log segment and removes those that no model needs any more.
func (m *model) snapshot() error {
	m.snapping.Lock()
	defer m.snapping.Unlock()
	m.mu.Lock()
	spent, logged := m.compute, m.bytes
	m.mu.Unlock()
	var applied int64
	var results []result
	err := disk.Replace(m.j.opts.FS, m.j.snapshotPath(m.id), func(w io.Writer) error {
		sum := &checksum{w: w}
		var err error
		if applied, err = m.j.m.Snapshot(m.j.ctx, m.id, sum); err != nil {
			return err
		}
		if results, err = m.kept(applied); err != nil {
			return err
		}
		return writeTrailer(sum, trailer{Version: version, Numerics: m.j.m.NumericsID(), Created: m.created, Applied: applied, Results: results})
	})
	if err != nil {
		return err
	}
	m.mu.Lock()
	m.applied, m.snapped = applied, true
	m.compute, m.bytes = m.compute-spent, m.bytes-logged
	m.dropOld(results)
	m.mu.Unlock()
	if err := m.j.log.rotate(); err != nil {
		return err
	}
	return m.j.log.compact(m.j.appliedOf)
}

// release takes snapshots of the models that hold the oldest log segment when the log is long: one that was trained a little and then
// left alone would keep everything that others have logged since.
func (j *Journal) release() error {
	if j.log.closedBytes() <= j.opts.SnapshotBytes {
		return nil
	}
	holders := j.log.holders(j.appliedOf)
	var errs []error
	for _, m := range j.all() {
		if slices.Contains(holders, m.id) && !m.leaves() {
			errs = append(errs, m.snapshot())
		}
	}
	return errors.Join(errs...)
}

// kept returns the newest results up to applied, in order and within the bounds, the newest in any case. The machine is done with those
// requests, so it waits for watchers that are a moment behind.
func (m *model) kept(applied int64) ([]result, error) {
	m.mu.Lock()
	var done []*op // newest first
	for seq := applied; seq > max(0, applied-int64(m.j.opts.KeepResults)); seq-- {
		if o := m.ops[seq]; o != nil {
			done = append(done, o)
		}
	}
	m.mu.Unlock()
	var results []result
	bytes := int64(0)
	for _, o := range done {
		<-o.noted
		if o.result == nil {
			return nil, tinker.ErrClosed
		}
		if bytes += int64(len(o.result.Value)); bytes > m.j.opts.KeepBytes && len(results) > 0 {
			break
		}
		results = append(results, *o.result)
	}
	slices.Reverse(results)
	return results, nil
}

// dropOld forgets the results that the snapshot does not keep; kept is what it does. m.mu is held.
func (m *model) dropOld(kept []result) {
	oldest := m.applied + 1
	if len(kept) > 0 {
		oldest = kept[0].SeqID
	}
	for seq, o := range m.ops {
		if seq < oldest && o.result != nil {
			delete(m.ops, seq)
		}
	}
}

// appliedOf is the last request of a model that the log need not keep; -1 while the log alone creates it.
func (j *Journal) appliedOf(id string) int64 {
	j.mu.Lock()
	m := j.models[id]
	j.mu.Unlock()
	if m == nil {
		return -1
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.gone:
		return never
	case !m.snapped:
		return -1
	}
	return m.applied
}

// checksum sums what passes through it.
type checksum struct {
	w   io.Writer
	crc uint32
}

func (c *checksum) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.crc = crc32.Update(c.crc, castagnoli, b[:n])
	return n, err
}

func writeTrailer(w *checksum, t trailer) error {
	b, err := json.Marshal(t)
	if err != nil {
		return err
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(b)))
	if _, err := w.Write(b); err != nil {
		return err
	}
	end := append(binary.LittleEndian.AppendUint32(nil, w.crc), snapshotEnd...)
	_, err = w.Write(end)
	return err
}

// readSnapshot checks a snapshot file whole and returns its trailer and a reader of the machine's state.
func readSnapshot(path string) (t trailer, state io.Reader, close func() error, err error) {
	f, err := os.Open(path)
	if err != nil {
		return t, nil, nil, fmt.Errorf("journal: %w", err)
	}
	damaged := func(what string) error {
		f.Close()
		return fmt.Errorf("journal: snapshot %s is damaged (%s); restore it from a backup, or remove the journal to begin anew", path, what)
	}
	st, err := f.Stat()
	if err != nil {
		return t, nil, nil, damaged(err.Error())
	}
	foot := make([]byte, snapshotFoot)
	body := st.Size() - int64(snapshotFoot)
	if body < 0 {
		return t, nil, nil, damaged("too short")
	}
	if _, err := f.ReadAt(foot, body); err != nil || string(foot[8:]) != snapshotEnd {
		return t, nil, nil, damaged("no end mark")
	}
	crc := crc32.New(castagnoli)
	if _, err := io.Copy(crc, io.NewSectionReader(f, 0, body+4)); err != nil || crc.Sum32() != binary.LittleEndian.Uint32(foot[4:]) {
		return t, nil, nil, damaged("checksum differs")
	}
	n := int64(binary.LittleEndian.Uint32(foot))
	if n > body {
		return t, nil, nil, damaged("trailer too long")
	}
	raw := make([]byte, n)
	if _, err := f.ReadAt(raw, body-n); err != nil {
		return t, nil, nil, damaged(err.Error())
	}
	if err := json.Unmarshal(raw, &t); err != nil || t.Version != version {
		return t, nil, nil, damaged(fmt.Sprintf("version %d, %v", t.Version, err))
	}
	return t, io.NewSectionReader(f, 0, body-n), f.Close, nil
}

// snapshots lists the snapshot files of a journal, in name order.
func snapshots(dir string) ([]string, error) {
	all, err := filepath.Glob(filepath.Join(dir, "model-*.snap"))
	sort.Strings(all)
	return all, err
}
