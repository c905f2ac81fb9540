package openenv

import (
	"encoding/json"
)

// Episode is the record of an episode in rollouts/.
type Episode struct {
	Env      string          `json:"env_id"`
	Seed     uint32          `json:"seed"` // as the server got it
	Split    string          `json:"split,omitempty"`
	Index    *int            `json:"index,omitempty"` // of the task
	Task     json.RawMessage `json:"task,omitempty"`  // its data from the task API
	Answers  []string        `json:"actions"`         // the player's
	Messages []Message       `json:"messages"`        // including those of lost sessions
	Return   float64         `json:"return"`
	Turns    int             `json:"turns"`
	End      string          `json:"end"` // terminated, truncated, stopped, failed or left
	Error    string          `json:"error,omitempty"`
	Replays  int             `json:"replays,omitempty"` // how often it was played again on another session

}

// Message is one message in either direction, as it was on the wire.
type Message struct {
	Sent     string `json:"sent,omitempty"`
	Received string `json:"received,omitempty"`
}

// mostRecorded is how many bytes of a message are kept.
const mostRecorded = 1 << 20

func (e *Episode) said(m Message) {
	if e == nil {
		return
	}
	m.Sent, m.Received = cut(m.Sent, mostRecorded), cut(m.Received, mostRecorded)
	e.Messages = append(e.Messages, m)
}
