package sandbox

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"time"
)

// self is where the stages find this program inside a sandbox, and argument 0 of a stage outside.
const self = "/.trinity-sandbox"

// The stages of a run, as argument 1.
const (
	stageWatch = "watch"
	stageEnter = "enter"
)

// spec is the order for the watching stage. The pipe it comes from stays open as long as its sender lives.
type spec struct {
	Args   []string // none for a probe
	Env    []string
	Files  map[string][]byte
	Show   []shown
	Limits Limits
	UID    int // of the program, as seen inside; 0 if the sandbox has one user only
}

// shown is a folder that the program sees beside the system's.
type shown struct {
	From string // without links, for these cannot be followed while the mounts are made
	To   string
}

// entry is the order for the entering stage.
type entry struct {
	Args, Env []string
	Limits    Limits
	Reserve   int64 // bytes of addresses that a process may have
	UID       int
	Threads   int // processes of the watcher with the same user, which count too
}

// report is the one answer of the watching stage.
type report struct {
	Failed  string // why the sandbox failed; then nothing else counts
	Exit    int
	Signal  int
	Stopped Stop
	CPU     time.Duration
	Left    int
	Notes   string // protections that are missing
}

// Stage runs the stage of a sandbox if this process is one. A program that opens sandboxes calls it first of all in
// main, with os.Args, and exits with the code.
func Stage(args []string) (code int, is bool) {
	if len(args) != 2 || filepath.Base(args[0]) != filepath.Base(self) {
		return 0, false
	}
	switch args[1] {
	case stageWatch:
		return watch(), true
	case stageEnter:
		return enter(), true
	}
	return 0, false
}

// send writes a value with its length in front.
func send(w io.Writer, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	head := binary.BigEndian.AppendUint64(nil, uint64(len(data)))
	_, err = w.Write(append(head, data...))
	return err
}

// maxSpec bounds what is received, in bytes.
const maxSpec = 256 << 20

// receive reads what send wrote.
func receive(r io.Reader, v any) error {
	var head [8]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	n := binary.BigEndian.Uint64(head[:])
	if n > maxSpec {
		return fmt.Errorf("a message of %d bytes", n)
	}
	data := make([]byte, n)
	if _, err := io.ReadFull(r, data); err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}
