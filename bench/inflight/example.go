package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
	"github.com/seed-d9ad8ee0/trinity/rl/reward"
)

const modelDir = "examples/tiny/model"

// example is the word problems of examples/tiny as tokens.
type example struct {
	tok         *tokenizer.Tokenizer
	train, test []problem
}

type problem struct {
	prompt []int32
	truth  string
}

func readExample() (*example, error) {
	tok, err1 := tokenizer.Load(modelDir)
	conf, err2 := tokenizer.LoadConfig(modelDir)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	template, err := chat.New(conf.ChatTemplate, conf, time.Time{})
	if err != nil {
		return nil, err
	}
	ex := &example{tok: tok}
	ex.train, err1 = ex.read("train.jsonl", template)
	ex.test, err2 = ex.read("test.jsonl", template)
	return ex, errors.Join(err1, err2)
}

func (ex *example) read(name string, template *chat.Template) (list []problem, err error) {
	text, err := os.ReadFile(filepath.Join("examples/tiny/data", name))
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		var row struct{ Question, Answer string }
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			return nil, err
		}
		prompt, err := template.Render([]chat.Message{{Role: "system", Content: "Think, then answer."},
			{Role: "user", Content: row.Question}}, chat.Options{AddGenerationPrompt: true})
		if err != nil {
			return nil, err
		}
		_, truth, _ := strings.Cut(row.Answer, "#### ")
		list = append(list, problem{ex.tok.Encode(prompt, false), truth})
	}
	return list, nil
}

// right is 1 if an answer is right, else 0.
func (ex *example) right(p problem, tokens []int32) (float64, error) {
	scores, err := reward.Math(reward.Sample{Response: ex.tok.Decode(tokens, true), Truth: p.truth})
	for _, s := range scores {
		if s.Name == "accuracy" {
			return s.Value, err
		}
	}
	return 0, err
}
