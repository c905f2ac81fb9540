package journal

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// A snapshot file is: the machine's state, the results that are kept (JSON), a trailer (JSON), and a footer. The
// footer is, little-endian: the lengths of the three (uint64 each), their crc32c (uint32 each), the crc32c of the
// footer so far (uint32), snapshotEnd. So the trailer can be read without the other parts.
const (
	snapshotEnd    = "TRNSNAP2"
	snapshotFooter = 3*8 + 3*4 + 4 + len(snapshotEnd)
	olderEnd       = "TRNSNAP1" // of files from before v0.2
)

// errOlder is the error of a snapshot that no version since v0.2 has written.
var errOlder = errors.New("a version before v0.2 wrote it; open the folder with v0.2 and send the model a request, " +
	"which replaces the snapshot")

type trailer struct {
	Version  int              `json:"version"`
	Numerics string           `json:"numerics"`
	Created  created          `json:"created"`
	Applied  int64            `json:"applied"`
	Info     tinker.ModelInfo `json:"info"`
}

// section is one of the three parts of a snapshot file.
type section struct {
	size int64
	crc  uint32
}

// sections writes one part after another and computes their checksums.
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

// writeSnapshot writes a snapshot file; state writes the machine's part. It returns the results in the file.
func writeSnapshot(w io.Writer, state func(io.Writer) (trailer, []loggedResult, error)) ([]loggedResult, error) {
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
	var footer []byte
	for _, part := range s.list {
		footer = binary.LittleEndian.AppendUint64(footer, uint64(part.size))
	}
	for _, part := range s.list {
		footer = binary.LittleEndian.AppendUint32(footer, part.crc)
	}
	footer = binary.LittleEndian.AppendUint32(footer, crc32.Checksum(footer, castagnoli))
	_, err = w.Write(append(footer, snapshotEnd...))
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
	if err := s.readFooter(); err != nil {
		f.Close()
		if errors.Is(err, errOlder) {
			return nil, fmt.Errorf("journal: snapshot %s: %w", path, err)
		}
		return nil, s.damaged(err)
	}
	if s.Version != version {
		f.Close()
		return nil, fmt.Errorf("journal: snapshot %s has format version %d; this program reads %d; another version "+
			"wrote it: use that one", path, s.Version, version)
	}
	return s, nil
}

func (s *snapfile) damaged(err error) error {
	return fmt.Errorf("journal: snapshot %s is damaged (%w); restore it from a backup, or remove the journal to "+
		"start again", s.path, err)
}

func (s *snapfile) readFooter() error {
	st, err := s.f.Stat()
	if err != nil {
		return err
	}
	footer := make([]byte, min(st.Size(), int64(snapshotFooter)))
	if _, err := s.f.ReadAt(footer, st.Size()-int64(len(footer))); err != nil {
		return err
	}
	switch n := len(footer); {
	case bytes.HasSuffix(footer, []byte(olderEnd)):
		return errOlder
	case n < snapshotFooter || string(footer[n-len(snapshotEnd):]) != snapshotEnd:
		return errors.New("it has no end mark")
	case binary.LittleEndian.Uint32(footer[36:]) != crc32.Checksum(footer[:36], castagnoli):
		return errors.New("the checksum of its footer differs")
	}
	part := func(i int) section {
		return section{int64(binary.LittleEndian.Uint64(footer[8*i:])), binary.LittleEndian.Uint32(footer[24+4*i:])}
	}
	s.state, s.results = part(0), part(1)
	last := part(2)
	if s.state.size+s.results.size+last.size+int64(snapshotFooter) != st.Size() {
		return fmt.Errorf("it has %d bytes but its footer says %d, %d and %d", st.Size(), s.state.size, s.results.size,
			last.size)
	}
	return s.readJSON(s.state.size+s.results.size, last, &s.trailer)
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

// kept reads the results in the file.
func (s *snapfile) kept() (results []loggedResult, err error) {
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
	return disk.Glob(dir, "model-*.snap")
}
