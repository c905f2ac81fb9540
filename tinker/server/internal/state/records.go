package state

import (
	"fmt"
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

	Seen time.Time `json:"-"` // volatile: the last heartbeat
}

type Finish struct {
	Session string `json:"session"`
	Reason  string `json:"reason"`
}

// ModelRecord is the request that makes a model: exactly one of Create and Load is set.
type ModelRecord struct {
	ID       string                         `json:"id"`
	Session  string                         `json:"session"`
	Created  time.Time                      `json:"created"`
	Create   *tinker.CreateModelRequest     `json:"create,omitempty"`
	Load     *tinker.CreateFromStateRequest `json:"load,omitempty"`
	Metadata map[string]string              `json:"user_metadata,omitempty"`
	// the base model's name in the request; older records lack it
	Asked string `json:"asked,omitempty"`
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
