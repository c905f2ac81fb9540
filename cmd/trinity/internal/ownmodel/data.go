// Package ownmodel makes a small model that does one job of a file of examples: it looks at the data, chooses how to
// train, writes that down as a configuration, runs it and reports. Nothing is done that the configuration does not say.
package ownmodel

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/rng"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
)

// Example is a row of the data as it is trained on.
type Example struct {
	Prompt, Answer string
	Row            dataset.Row // all columns, for rewards that read them
}

// Data is what a look at the file found.
type Data struct {
	Train, Held              []Example
	PromptColumn, AnswerFrom string // AnswerFrom is "" without answers
	Rows                     int    // of the file
	Empty, Twice             int    // rows left out: without prompt or answer; that repeat a prompt and its answer
	Clashing                 int    // rows whose prompt another row answers differently
	Distinct                 int    // answers
	Labels                   bool   // answers are few and short: names of classes
}

const (
	fewestRows = 8
	mostHeld   = 50
	labelBytes = 64 // the longest answer that may be a label
)

// look reads the file and holds rows out. Which ones depends on the rows alone.
func look(path, prompt, answer string, wantAnswers bool) (*Data, error) {
	src, err := dataset.Open(path, "", "train")
	if err != nil {
		return nil, err
	}
	defer src.Close()
	rows := make([]dataset.Row, src.Len())
	for i := range rows {
		if rows[i], err = src.Row(i); err != nil {
			return nil, err
		}
	}
	d := &Data{Rows: len(rows)}
	if err := d.columns(path, rows[0].Columns(), prompt, answer, wantAnswers); err != nil {
		return nil, err
	}
	list, err := d.examples(rows, src.Place)
	if err != nil {
		return nil, err
	}
	if len(list) < fewestRows {
		return nil, fmt.Errorf("train: %s has %d rows to use of %d (%d have no prompt or no answer, %d repeat "+
			"another); give it at least %d", path, len(list), d.Rows, d.Empty, d.Twice, fewestRows)
	}
	d.split(list)
	return d, nil
}

// examples are the rows that can be used, each once.
func (d *Data) examples(rows []dataset.Row, place func(int) string) (list []Example, err error) {
	seen, answers, distinct, longest := map[[2]string]bool{}, map[string]string{}, map[string]bool{}, 0
	for i, row := range rows {
		e := Example{Row: row}
		if e.Prompt, e.Answer, err = d.texts(row); err != nil {
			return nil, fmt.Errorf("train: %s: %w", place(i), err)
		}
		key := [2]string{e.Prompt, e.Answer}
		if e.Prompt == "" || d.AnswerFrom != "" && e.Answer == "" {
			d.Empty++
			continue
		}
		if seen[key] {
			d.Twice++
			continue
		}
		if before, ok := answers[e.Prompt]; ok && before != e.Answer {
			d.Clashing++
		}
		seen[key], answers[e.Prompt], distinct[e.Answer] = true, e.Answer, true
		longest = max(longest, len(e.Answer))
		list = append(list, e)
	}
	if d.AnswerFrom != "" && d.Empty == len(rows) {
		return nil, fmt.Errorf("train: column %s is empty in every row; name the column of the answers with "+
			"--answer-column", d.AnswerFrom)
	}
	d.Distinct = len(distinct)
	d.Labels = d.AnswerFrom != "" && longest <= labelBytes && 2*d.Distinct <= len(list)
	return list, nil
}

// split shuffles the examples and holds a fifth of them out, at most mostHeld. Examples of one prompt stay together.
func (d *Data) split(list []Example) {
	stream := rng.New(1).Stream("held out")
	shuffled := make([]Example, len(list))
	for i, from := range stream.Perm(len(list)) {
		shuffled[i] = list[from]
	}
	n := max(1, min(mostHeld, len(list)/5))
	held := map[string]bool{}
	for _, e := range shuffled[:n] {
		held[e.Prompt] = true
	}
	for _, e := range shuffled {
		if held[e.Prompt] {
			d.Held = append(d.Held, e)
		} else {
			d.Train = append(d.Train, e)
		}
	}
}

// texts are the prompt and the answer of a row, without white space at their ends.
func (d *Data) texts(row dataset.Row) (prompt, answer string, err error) {
	v, _ := row.Get(d.PromptColumn)
	if list, ok := v.([]any); ok {
		if prompt, answer, err = turn(list); err != nil {
			return "", "", fmt.Errorf("column %s: %w", d.PromptColumn, err)
		}
	} else if prompt, err = text(v); err != nil {
		return "", "", err
	}
	if d.AnswerFrom != "" && d.AnswerFrom != d.PromptColumn {
		v, _ := row.Get(d.AnswerFrom)
		answer, err = text(v)
	}
	return strings.TrimSpace(prompt), strings.TrimSpace(answer), err
}

// text is a value as the model reads or writes it: texts as they are, null as nothing, others as JSON.
func text(v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	}
	raw, err := json.Marshal(v)
	return string(raw), err
}

// turn reads a conversation of one question and one answer.
func turn(list []any) (prompt, answer string, err error) {
	var roles []string
	for _, m := range list {
		row, _ := m.(dataset.Row)
		role, _ := row.Get("role")
		content, _ := row.Get("content")
		name, _ := role.(string)
		roles = append(roles, name)
		said, err := text(content)
		if err != nil {
			return "", "", err
		}
		if name == "assistant" {
			answer = said
		} else {
			prompt = said
		}
	}
	if !slices.Equal(roles, []string{"user"}) && !slices.Equal(roles, []string{"user", "assistant"}) {
		return "", "", fmt.Errorf("has the roles %s; trinity train reads one user message and one answer; for longer "+
			"conversations write a configuration with prompt_type: messages", strings.Join(roles, ", "))
	}
	return prompt, answer, nil
}

// write writes examples as JSON lines: their columns, and the prompt and the answer by these names.
func write(w io.Writer, list []Example) error {
	var errs []error
	enc := json.NewEncoder(w)
	for _, e := range list {
		row := dataset.Row{{Key: "prompt", Value: e.Prompt}, {Key: "answer", Value: e.Answer}}
		for _, f := range e.Row {
			if f.Key != "prompt" && f.Key != "answer" {
				row = append(row, f)
			}
		}
		errs = append(errs, enc.Encode(row))
	}
	return errors.Join(errs...)
}
