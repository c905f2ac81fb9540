package journal

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"sort"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// A snapshot file is: the machine's state, the results that are kept (JSON), a trailer (JSON), and a foot. The foot is,
// little-endian: the lengths of the three (uint64 each), their crc32c (uint32 each), the crc32c of the foot so far
// (uint32), snapshotEnd. So the trailer is read without the rest.
const (
	snapshotEnd  = "TRNSNAP2"
	snapshotFoot = 3*8 + 3*4 + 4 + len(snapshotEnd)
	olderEnd     = "TRNSNAP1" // of files of version 1: state, trailer with results, its length, crc32c of everything
	olderFoot    = 8 + len(olderEnd)
)

type trailer struct {
	Version  int               `json:"version"`
	Numerics string            `json:"numerics"`
	Created  created           `json:"created"`
	Applied  int64             `json:"applied"`
	Info     *tinker.ModelInfo `json:"info,omitempty"`    // nil in files of version 1
	Results  []result          `json:"results,omitempty"` // of files of version 1
}

// section is one of the three parts of a snapshot file.
type section struct {
	size int64
	crc  uint32
}

// sections writes and sums up one part after another.
type sections struct {
	w    io.Writer
	list []section
}

func (s *sections) Write(b []byte) (int, error) {
	n, err := s.w.Write(b)
	last := &s.list[len(s.list)-1]
	last.size += int64(n)
	last.crc = crc32.Update(last.crc, castagnoli, b[:n])
	return n, err
}

func (s *sections) json(v any) error {
	s.list = append(s.list, section{})
	return json.NewEncoder(s).Encode(v)
}

// writeSnapshot writes a snapshot file; state writes the machine's part. The results are those that the file keeps.
func writeSnapshot(w io.Writer, state func(io.Writer) (trailer, []result, error)) ([]result, error) {
	s := &sections{w: w, list: []section{{}}}
	t, results, err := state(s)
	if err == nil {
		err = s.json(results)
	}
	if err == nil {
		err = s.json(t)
	}
	if err != nil {
		return nil, err
	}
	var foot []byte
	for _, part := range s.list {
		foot = binary.LittleEndian.AppendUint64(foot, uint64(part.size))
	}
	for _, part := range s.list {
		foot = binary.LittleEndian.AppendUint32(foot, part.crc)
	}
	foot = binary.LittleEndian.AppendUint32(foot, crc32.Checksum(foot, castagnoli))
	_, err = w.Write(append(foot, snapshotEnd...))
	return results, err
}

// snapfile is an open snapshot file, with its trailer.
type snapfile struct {
	trailer
	path           string
	f              *os.File
	state, results section
}

// openSnapshot reads a file's trailer.
func openSnapshot(path string) (s *snapfile, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	s = &snapfile{path: path, f: f}
	if err := s.readFoot(); err != nil {
		f.Close()
		return nil, s.damaged(err)
	}
	if s.Version != version {
		f.Close()
		return nil, fmt.Errorf("journal: snapshot %s has format version %d; this program reads %d; another version "+
			"of it wrote this: use that one", path, s.Version, version)
	}
	return s, nil
}

func (s *snapfile) damaged(err error) error {
	return fmt.Errorf("journal: snapshot %s is damaged (%w); restore it from a backup, or remove the journal to "+
		"begin anew", s.path, err)
}

func (s *snapfile) readFoot() error {
	st, err := s.f.Stat()
	if err != nil {
		return err
	}
	foot := make([]byte, min(st.Size(), int64(snapshotFoot)))
	if _, err := s.f.ReadAt(foot, st.Size()-int64(len(foot))); err != nil {
		return err
	}
	switch n := len(foot); {
	case n >= olderFoot && string(foot[n-len(olderEnd):]) == olderEnd:
		return s.readOlder(st.Size(), foot[n-olderFoot:])
	case n < snapshotFoot || string(foot[n-len(snapshotEnd):]) != snapshotEnd:
		return errors.New("no end mark")
	case binary.LittleEndian.Uint32(foot[36:]) != crc32.Checksum(foot[:36], castagnoli):
		return errors.New("the checksum of its foot differs")
	}
	part := func(i int) section {
		return section{int64(binary.LittleEndian.Uint64(foot[8*i:])), binary.LittleEndian.Uint32(foot[24+4*i:])}
	}
	s.state, s.results = part(0), part(1)
	last := part(2)
	if s.state.size+s.results.size+last.size+int64(snapshotFoot) != st.Size() {
		return fmt.Errorf("%d bytes, and its foot says %d, %d and %d", st.Size(), s.state.size, s.results.size,
			last.size)
	}
	return s.readJSON(s.state.size+s.results.size, last, &s.trailer)
}

// readOlder reads the trailer of a file of version 1 after checking the whole.
func (s *snapfile) readOlder(size int64, foot []byte) error {
	body := size - int64(olderFoot)
	crc := crc32.New(castagnoli)
	if _, err := io.Copy(crc, io.NewSectionReader(s.f, 0, body+4)); err != nil ||
		crc.Sum32() != binary.LittleEndian.Uint32(foot[4:]) {
		return errors.Join(errors.New("checksum differs"), err)
	}
	n := int64(binary.LittleEndian.Uint32(foot))
	if n > body {
		return errors.New("trailer too long")
	}
	raw := make([]byte, n)
	if _, err := s.f.ReadAt(raw, body-n); err != nil {
		return err
	}
	sum := crc32.New(castagnoli)
	if _, err := io.Copy(sum, io.NewSectionReader(s.f, 0, body-n)); err != nil {
		return err
	}
	s.state = section{body - n, sum.Sum32()}
	return json.Unmarshal(raw, &s.trailer)
}

func (s *snapfile) readJSON(at int64, part section, v any) error {
	raw := make([]byte, part.size)
	if _, err := s.f.ReadAt(raw, at); err != nil {
		return err
	}
	if crc32.Checksum(raw, castagnoli) != part.crc {
		return errors.New("a checksum differs")
	}
	return json.Unmarshal(raw, v)
}

// kept reads the results that the file keeps.
func (s *snapfile) kept() (results []result, err error) {
	if s.Info == nil {
		return s.Results, nil
	}
	if err := s.readJSON(s.state.size, s.results, &results); err != nil {
		return nil, s.damaged(err)
	}
	return results, nil
}

// machine checks the machine's state and returns a reader of it.
func (s *snapfile) machine() (io.Reader, error) {
	crc := crc32.New(castagnoli)
	_, err := io.Copy(crc, io.NewSectionReader(s.f, 0, s.state.size))
	if err == nil && crc.Sum32() != s.state.crc {
		err = errors.New("the checksum of the state differs")
	}
	if err != nil {
		return nil, s.damaged(err)
	}
	return io.NewSectionReader(s.f, 0, s.state.size), nil
}

func (s *snapfile) close() error { return s.f.Close() }

// snapshots lists the snapshot files of a journal, in name order.
func snapshots(dir string) ([]string, error) {
	all, err := filepath.Glob(filepath.Join(dir, "model-*.snap"))
	sort.Strings(all)
	return all, err
}
