package rollout

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// Notes is the folder below a job where its index is.
const Notes = ".studio"

// load reads what index files have that was not read yet.
func (x *Index) load() {
	if x.seen == nil {
		x.seen, x.frames = map[string]int64{}, map[string]*Segment{}
	}
	for _, dir := range x.read {
		names, err := disk.Glob(dir, "*.idx")
		if err != nil {
			continue
		}
		for _, name := range names {
			end, err := eachPart(name, x.seen[name], func(part []byte) {
				for _, s := range segments(part) {
					if old := x.frames[s.File]; old == nil || s.Time >= old.Time {
						x.frames[s.File] = s
					}
				}
			})
			if err == nil {
				x.seen[name] = end
			}
		}
	}
}

// partSize is how much of an index file is read at a time, if no frame is longer.
const partSize = 4 << 20

// eachPart visits the frames of an index file from an offset on, some whole ones at a time, and returns where the last
// one ends. A file that is shorter was replaced and is read from its beginning. visit must not keep the part.
func eachPart(name string, from int64, visit func(part []byte)) (end int64, err error) {
	f, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if st.Size() < from {
		from = 0
	}
	for size := int64(partSize); ; {
		data := make([]byte, min(size, st.Size()-from))
		n, err := f.ReadAt(data, from)
		if err != nil && err != io.EOF {
			return from, err
		}
		frames := whole(data[:n])
		if from+int64(n) >= st.Size() || n < len(data) {
			visit(data[:n])
			return from + int64(frames), nil
		}
		visit(data[:frames])
		from += int64(frames)
		if size *= 2; frames > 0 {
			size = partSize
		}
	}
}

// Note appends segments to the index file of a writer, in one write. It is not synced: what is lost is
// made again.
func Note(dir, writer string, list ...*Segment) error {
	if len(list) == 0 {
		return nil
	}
	var buf []byte
	for _, s := range list {
		buf = s.Append(buf)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("rollout: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, writer+".idx"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return fmt.Errorf("rollout: %w", err)
	}
	_, err = f.Write(buf)
	return errors.Join(err, f.Close())
}

// save adds segments to the index in the first folder that can be written to.
func (x *Index) save(list []*Segment) error {
	if len(list) == 0 {
		return nil
	}
	var errs []error
	for _, dir := range x.read {
		err := Note(dir, "studio", list...)
		if err == nil {
			return x.compact(filepath.Join(dir, "studio.idx"))
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// smallIndex is the size up to which an index file is left as it is.
const smallIndex = 1 << 20

// compact writes the studio's index file anew when more than half of it are segments of files that changed since, or
// are gone. What another studio adds at the same moment may be lost, and is made again.
func (x *Index) compact(path string) error {
	st, err := os.Stat(path)
	if err != nil || st.Size() < max(smallIndex, 2*x.kept) {
		return err
	}
	frames := map[string][]byte{}
	times := map[string]int64{}
	files := x.Table().byName()
	_, err = eachPart(path, 0, func(part []byte) {
		eachFrame(part, func(payload []byte) {
			name, at, err := nameAndTime(payload)
			if err == nil && files[name] != nil && at >= times[name] {
				frames[name], times[name] = bytes.Clone(payload), at
			}
		})
	})
	if err != nil {
		return fmt.Errorf("rollout: %w", err)
	}
	var data []byte
	for _, name := range slices.Sorted(maps.Keys(frames)) {
		data = appendFrame(data, frames[name])
	}
	x.kept = int64(len(data))
	if 2*x.kept >= st.Size() {
		return nil
	}
	return Replace(path, data)
}

// Replace writes a file in one step. It need not survive a loss of power.
func Replace(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".studio-*")
	if err != nil {
		return fmt.Errorf("rollout: %w", err)
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("rollout: %w", err)
	}
	return nil
}
