package state

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Session is one client's session.
type Session struct {
	ID           string            `json:"id"`
	Tenant       string            `json:"tenant"`
	Created      time.Time         `json:"created"`
	Tags         []string          `json:"tags,omitempty"`
	UserMetadata map[string]string `json:"user_metadata,omitempty"`
	DisplayName  string            `json:"display_name,omitempty"`
	SDKVersion   string            `json:"sdk_version,omitempty"`
	Finished     string            `json:"finished,omitempty"` // the reason, once the client has finished the session
	Project      string            `json:"project,omitempty"`  // the user's label; "" is DefaultProject

	Seen  time.Time `json:"-"` // volatile: the last heartbeat
	Spans []Span    `json:"-"` // volatile: its latest finished training requests
}

// DefaultProject is the project of sessions without one, as answers name it.
const DefaultProject = "default"

// InProject reports whether the session is in a project.
func (u *Session) InProject(id string) bool { return id == cmp.Or(u.Project, DefaultProject) }

// Span is when a training request was accepted and when it was done.
type Span struct {
	Name       string
	Model      string
	Seq        int64
	Tokens     int
	Begin, End time.Time
}

// mostSpans bounds the spans of a session.
const mostSpans = 4096

// Remember keeps a span, and drops the oldest ones beyond mostSpans. The store is locked.
func (u *Session) Remember(s Span) {
	if len(u.Spans) >= mostSpans {
		u.Spans = append(u.Spans[:0], u.Spans[mostSpans/4:]...)
	}
	u.Spans = append(u.Spans, s)
}

// NewID draws an id that cannot be guessed, in the form of a version 4 UUID.
func NewID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return idOf(b)
}

func idOf(b [16]byte) string {
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// IDFor is the id that a tenant's idempotency key stands for.
func IDFor(tenant, key string) string {
	h := sha256.Sum256([]byte("trinity id\x00" + tenant + "\x00" + key))
	return idOf([16]byte(h[:16]))
}

type Finish struct {
	Session string `json:"session"`
	Reason  string `json:"reason"`
}

// ModelRecord is the request that makes a model: exactly one of Create, Load and Copy is set.
type ModelRecord struct {
	ID       string                         `json:"id"`
	Session  string                         `json:"session"`
	Created  time.Time                      `json:"created"`
	Create   *tinker.CreateModelRequest     `json:"create,omitempty"`
	Load     *tinker.CreateFromStateRequest `json:"load,omitempty"`
	Copy     *CopyRecord                    `json:"copy,omitempty"`
	Metadata map[string]string              `json:"user_metadata,omitempty"`
	// the base model's name in the request; older records lack it
	Asked string `json:"asked,omitempty"`
}

// CopyRecord is the run that owns a copy of a checkpoint. The backend does not know it, and it cannot be trained.
type CopyRecord struct {
	From      string `json:"from"`
	BaseModel string `json:"base_model"`
	Rank      int    `json:"rank"`
}

// MadeRecord says that a model was made.
type MadeRecord struct {
	ID string `json:"id"`
}

// Rejection is a training request with invalid contents: it has used up its number, and this is its result.
type Rejection struct {
	Model    string          `json:"model"`
	Seq      int64           `json:"seq"`
	To       int64           `json:"to,omitempty"` // the last number of a range that begins with Seq; 0 is Seq alone
	Error    string          `json:"error"`
	Category tinker.Category `json:"category"`
}

// CheckpointSettings is a user's settings of a checkpoint. They apply to the checkpoint that the request with that
// SeqID saved.
type CheckpointSettings struct {
	Path         string            `json:"path"`
	Seq          int64             `json:"seq"`
	Expires      *time.Time        `json:"expires,omitempty"`
	Public       bool              `json:"public,omitempty"`
	UserMetadata map[string]string `json:"user_metadata,omitempty"`
	Time         time.Time         `json:"time"`
}

// Session returns a tenant's session. The store is locked.
func (t *Store) Session(tenant, id string) (*Session, error) {
	u := t.Sessions[id]
	if u == nil || u.Tenant != tenant {
		return nil, fmt.Errorf("session %q: %w", id, tinker.ErrNotFound)
	}
	return u, nil
}

// Active returns a tenant's session that accepts new work. The store is locked.
func (t *Store) Active(tenant, id string) (*Session, error) {
	u, err := t.Session(tenant, id)
	if err == nil && u.Finished != "" {
		return nil, tinker.Userf("session %s was finished by its client (%s); begin a new one", id, u.Finished)
	}
	return u, err
}

// SavedCheckpoint is a checkpoint with its owner's decisions about it.
type SavedCheckpoint struct {
	tinker.Checkpoint
	Note   CheckpointSettings
	Tenant string
}

// Describe adds the server's records of a checkpoint; ok is false if its model is unknown here. The store is locked.
func (t *Store) Describe(c tinker.Checkpoint) (k SavedCheckpoint, ok bool) {
	path := c.Path.String()
	k = SavedCheckpoint{Checkpoint: c, Note: CheckpointSettings{Path: path, Seq: c.SeqID}}
	if m, marked := t.Marks[path][c.SeqID]; marked {
		k.Note = m
	}
	m := t.Models[c.Path.ModelID]
	if m == nil || t.Sessions[m.Session] == nil {
		return k, false
	}
	k.Tenant = t.Sessions[m.Session].Tenant
	return k, true
}

func (m CheckpointSettings) Expired(now time.Time) bool {
	return m.Expires != nil && !now.Before(*m.Expires)
}

// Recording is one sampled sequence.
type Recording struct {
	Sequence string    `json:"sequence"` // as in the sample's promise
	Session  string    `json:"session"`
	Tenant   string    `json:"tenant"`
	Prompt   int       `json:"prompt"` // positions of the prompt it was drawn after
	Tokens   []byte    `json:"tokens"` // int32, little endian
	Logprobs []byte    `json:"logprobs"`
	Time     time.Time `json:"time"`

	Used time.Time `json:"-"` // volatile: when it was recorded, or trained on
}

// recordings are the recordings of all sessions, with the bytes that each tenant's take.
type recordings struct {
	Of    map[string]*Recording // by sequence
	Bytes map[string]int64      // by tenant
}

func (t *Store) AddRecording(r *Recording) {
	t.DropRecording(r.Sequence)
	t.Recorded.Of[r.Sequence] = r
	t.Recorded.Bytes[r.Tenant] += r.size()
}

func (t *Store) DropRecording(id string) {
	r := t.Recorded.Of[id]
	if r == nil {
		return
	}
	delete(t.Recorded.Of, id)
	if t.Recorded.Bytes[r.Tenant] -= r.size(); t.Recorded.Bytes[r.Tenant] <= 0 {
		delete(t.Recorded.Bytes, r.Tenant)
	}
}

// recordingBytes is the memory of a recording besides its tokens.
const recordingBytes = 256

func (r *Recording) size() int64 {
	return recordingBytes + int64(len(r.Sequence)+len(r.Tokens)+len(r.Logprobs))
}

func (r *Recording) Len() int64 { return int64(len(r.Tokens) / 4) }

func (r *Recording) Token(i int64) int32 { return int32(binary.LittleEndian.Uint32(r.Tokens[4*i:])) }

func (r *Recording) Logprob(i int64) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(r.Logprobs[4*i:]))
}
