// Package message is the wire format between head and workers: the subjects and stream names of a job, and messages
// as a JSON header with raw bytes behind it. A message is
//
//	uvarint n | n bytes of JSON | body
//
// Decode refuses what is longer than its limits, unknown fields and trailing JSON. Nothing in a message is executed.
package message

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
)

const (
	// MaxInline is the largest body of a message, in bytes. Larger payloads travel as chunks.
	MaxInline = 512 << 10
	// MaxHeader is the largest header, in bytes.
	MaxHeader = 384 << 10
	maxNeeds  = 64
	maxName   = 256
	maxTrip   = 3600 // seconds
)

// Need is a blob, by its hex SHA-256.
type Need struct {
	Hash string `json:"hash"`
	Size int64  `json:"size"`
}

// About describes a worker in its own words.
type About struct {
	Name      string  `json:"name"`      // of the machine
	Version   string  `json:"version"`   // of the program
	Numerics  string  `json:"numerics"`  // arithmetic that its answers have
	Processor string  `json:"processor"` // model name
	Kernels   string  `json:"kernels"`   // the kernel path it uses
	Threads   int     `json:"threads"`
	Slots     int     `json:"slots"`  // tasks that it computes at a time
	Memory    int64   `json:"memory"` // bytes that it may use
	Speed     float64 `json:"speed"`  // in a unit of the program, the same on every worker
}

// Task is the header of a task; its body is the payload, unless Chunks says that the payload is a blob.
type Task struct {
	ID      string  `json:"id"`
	Head    string  `json:"head"` // the start of the head that gives it
	Kind    string  `json:"kind"`
	Needs   []Need  `json:"needs,omitempty"`
	Cost    float64 `json:"cost"`
	Group   string  `json:"group,omitempty"`
	Shared  float64 `json:"shared,omitempty"`
	Payload *Need   `json:"payload,omitempty"` // of a payload above MaxInline
}

// Result is the header of an answer; its body is the payload, unless Payload names the chunks it was stored as.
type Result struct {
	Task    string  `json:"task"`
	Head    string  `json:"head"`            // of the task
	Error   string  `json:"error,omitempty"` // of the function, instead of a payload
	Seconds float64 `json:"seconds"`         // share of the worker's computing time
	Payload *Need   `json:"payload,omitempty"`
}

// Receipt is the head's reply to a result.
type Receipt struct {
	Done  bool `json:"done"`            // accepted, or not wanted: drop it
	Again bool `json:"again,omitempty"` // chunks are missing: store them again
}

// Announcement is a worker's request to take part.
type Announcement struct {
	About About    `json:"about"`
	Holds []string `json:"holds,omitempty"` // ids of tasks, queued or running
}

// Welcome is the reply to an announcement.
type Welcome struct {
	Refused string  `json:"refused,omitempty"` // reason
	Head    string  `json:"head,omitempty"`    // this start of the head
	Beat    float64 `json:"beat,omitempty"`    // seconds between two beats
	Most    int64   `json:"most,omitempty"`    // largest answer, in bytes
}

// Beat is a worker's sign of life.
type Beat struct {
	About  About    `json:"about"`
	Head   string   `json:"head"`             // the start of the head that welcomed it
	Holds  []string `json:"holds,omitempty"`  // ids of tasks, queued or running
	Paused string   `json:"paused,omitempty"` // reason
	Leaves bool     `json:"leaves,omitempty"` // it drains
	Trip   float64  `json:"trip,omitempty"`   // seconds of a round trip to the server
	Gone   bool     `json:"gone,omitempty"`   // its last beat
}

// Control is the head's message to one worker.
type Control struct {
	Cancel  string `json:"cancel,omitempty"` // id of a task whose answer is no longer wanted
	Drain   bool   `json:"drain,omitempty"`
	Refused string `json:"refused,omitempty"`
}

// Want asks the head to store chunks of a blob, or for one chunk itself.
type Want struct {
	Hash   string `json:"hash"`
	First  int    `json:"first"`            // chunk
	Direct bool   `json:"direct,omitempty"` // the reply's body shall be the chunk
}

// Stored is the reply to Want; its body is the chunk if Want says Direct.
type Stored struct {
	Size  int64  `json:"size"`            // of the whole blob
	Again bool   `json:"again,omitempty"` // the store failed; ask again
	Error string `json:"error,omitempty"`
}

// Pulse is the head's sign of life, to all workers.
type Pulse struct {
	Head string `json:"head"`
	Ends bool   `json:"ends,omitempty"` // the last: no answer is wanted any more
}

// Enrolment is a request for credentials of one's own; Granted is its reply.
type Enrolment struct {
	Key   string `json:"key"` // public user key
	About About  `json:"about"`
}

// Granted holds a user JWT, or the reason why there is none.
type Granted struct {
	JWT     string `json:"jwt,omitempty"`
	Refused string `json:"refused,omitempty"`
}

// Order is a request of an operator.
type Order struct {
	Verb   string `json:"verb"` // status, drain, remove, rotate
	Worker string `json:"worker,omitempty"`
}

// Encode joins a header and a body.
func Encode(header any, body []byte) ([]byte, error) {
	h, err := json.Marshal(header)
	if err != nil {
		return nil, fmt.Errorf("message: %w", err)
	}
	if len(h) > MaxHeader {
		return nil, fmt.Errorf("message: a header of %d bytes; the limit is %d", len(h), MaxHeader)
	}
	out := binary.AppendUvarint(make([]byte, 0, len(h)+len(body)+3), uint64(len(h)))
	return append(append(out, h...), body...), nil
}

// Decode reads a header into the value that header points to, checks it, and returns the body, which shares data.
func Decode(data []byte, header any) (body []byte, err error) {
	n, used := binary.Uvarint(data)
	if used <= 0 || n > MaxHeader || n > uint64(len(data)-used) {
		return nil, fmt.Errorf("message: malformed: %d bytes", len(data))
	}
	body = data[used+int(n):]
	if len(body) > MaxInline {
		return nil, fmt.Errorf("message: a body of %d bytes; the limit is %d", len(body), MaxInline)
	}
	d := json.NewDecoder(bytes.NewReader(data[used : used+int(n)]))
	d.DisallowUnknownFields()
	if err := d.Decode(header); err != nil {
		return nil, fmt.Errorf("message: malformed header: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("message: malformed header: more than one value")
	}
	if c, ok := header.(interface{ check() error }); ok {
		if err := c.check(); err != nil {
			return nil, fmt.Errorf("message: %w", err)
		}
	}
	return body, nil
}

// ID is the id of a task: hex SHA-256 of its kind, needs and payload, each with its length before it.
func ID(kind string, needs []Need, payload []byte) string {
	s := sha256.New()
	put := func(b []byte) {
		s.Write(binary.AppendUvarint(nil, uint64(len(b))))
		s.Write(b)
	}
	put([]byte(kind))
	s.Write(binary.AppendUvarint(nil, uint64(len(needs))))
	for _, n := range needs {
		put([]byte(n.Hash))
	}
	put(payload)
	return hex.EncodeToString(s.Sum(nil))
}

// Hash is the hex SHA-256 of data.
func Hash(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

// IsHash reports whether s is a SHA-256 in lower-case hex.
func IsHash(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}

func (n Need) check() error {
	if !IsHash(n.Hash) || n.Size < 0 || n.Size > 1<<50 {
		return fmt.Errorf("blob %.80q of %d bytes is none", n.Hash, n.Size)
	}
	return nil
}

func (t *Task) check() error {
	if !IsHash(t.ID) || len(t.Kind) > maxName || len(t.Group) > maxName || len(t.Needs) > maxNeeds {
		return fmt.Errorf("task %.80q: malformed", t.ID)
	}
	if !number(t.Cost) || !number(t.Shared) {
		return fmt.Errorf("task %.80q: cost %g and shared %g must be at least 0", t.ID, t.Cost, t.Shared)
	}
	for _, n := range t.Needs {
		if err := n.check(); err != nil {
			return err
		}
	}
	if t.Payload != nil {
		return t.Payload.check()
	}
	return nil
}

func (r *Result) check() error {
	if !IsHash(r.Task) || !number(r.Seconds) {
		return fmt.Errorf("result of task %.80q in %g s: malformed", r.Task, r.Seconds)
	}
	if r.Payload != nil {
		return r.Payload.check()
	}
	return nil
}

func (a *About) check() error {
	for _, s := range []string{a.Name, a.Version, a.Numerics, a.Processor, a.Kernels} {
		if len(s) > maxName {
			return fmt.Errorf("a worker's description of %d bytes; the limit is %d", len(s), maxName)
		}
	}
	if a.Slots < 1 || a.Slots > 4096 || a.Threads < 0 || a.Memory < 0 || !number(a.Speed) {
		return fmt.Errorf("worker %q: slots %d must be 1 to 4096, threads %d, memory %d and speed %g at least 0",
			a.Name, a.Slots, a.Threads, a.Memory, a.Speed)
	}
	return nil
}

// Fit is the description with texts that fit for a log.
func (a About) Fit() About {
	for _, s := range []*string{&a.Name, &a.Version, &a.Numerics, &a.Processor, &a.Kernels} {
		*s = foreign.Line(*s)
	}
	return a
}

func (a *Announcement) check() error {
	if err := checkHolds(a.About.Name, a.Holds); err != nil {
		return err
	}
	return a.About.check()
}

func (b *Beat) check() error {
	if !number(b.Trip) || b.Trip > maxTrip || len(b.Paused) > maxName {
		return fmt.Errorf("beat of worker %q: malformed", b.About.Name)
	}
	if err := checkHolds(b.About.Name, b.Holds); err != nil {
		return err
	}
	return b.About.check()
}

func checkHolds(worker string, ids []string) error {
	for _, id := range ids {
		if !IsHash(id) {
			return fmt.Errorf("worker %.80q holds task %.80q, which is none", worker, id)
		}
	}
	return nil
}

func (w *Want) check() error {
	if !IsHash(w.Hash) || w.First < 0 {
		return fmt.Errorf("want of chunk %d of %.80q: malformed", w.First, w.Hash)
	}
	return nil
}

func (e *Enrolment) check() error { return e.About.check() }

// number reports whether x is not negative, and so small that sums of such numbers are finite.
func number(x float64) bool { return x >= 0 && x <= 1e100 }
