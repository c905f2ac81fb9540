package studio

import "context"

// Asker samples from checkpoints of runs. Implementations are safe for concurrent use.
type Asker interface {
	// Ask calls token with each token as it is drawn. The error is for a person.
	Ask(ctx context.Context, q Question, token func(Token) error) (Answer, error)
}

// Question is what is asked of a checkpoint.
type Question struct {
	Job         string // the run's folder
	Checkpoint  string // the folder of the weights; "" for the base model
	Model       string // the base model's name
	Messages    []Message
	Prompt      string  // text as it is, in place of Messages
	Tokens      []int32 // tokens as they are, in place of both
	Temperature float64
	MaxTokens   int
	Seed        *uint64
}

// Answer is what was sampled.
type Answer struct {
	Text       string `json:"text"`
	Stop       string `json:"stop"`
	Tokens     int    `json:"tokens"`
	Checkpoint string `json:"checkpoint"`
}
