package ownmodel

import (
	"fmt"
	"slices"
	"strings"
)

// promptNames are what columns of prompts are usually called, the likelier first.
func promptNames() []string {
	return []string{"prompt", "question", "instruction", "input", "problem", "text", "messages"}
}

// answerNames are the same for columns of answers.
func answerNames() []string {
	return []string{"answer", "response", "output", "completion", "target", "label", "category", "solution"}
}

// columns finds the columns of prompts and answers among those of the first row.
func (d *Data) columns(path string, have []string, prompt, answer string, wantAnswers bool) (err error) {
	d.PromptColumn, err = column(path, have, "prompt", prompt, promptNames())
	if err != nil {
		return err
	}
	if d.PromptColumn == "" {
		return fmt.Errorf("train: %s has no column with a usual name of prompts (%s); name it with --prompt-column; "+
			"it has %s", path, strings.Join(promptNames(), ", "), strings.Join(have, ", "))
	}
	if d.AnswerFrom, err = column(path, have, "answer", answer, answerNames()); err != nil {
		return err
	}
	if d.AnswerFrom == "" && d.PromptColumn == "messages" {
		d.AnswerFrom = d.PromptColumn
	}
	if d.AnswerFrom == "" && wantAnswers {
		return fmt.Errorf("train: %s has no column with a usual name of answers (%s); name it with --answer-column; "+
			"it has %s; without answers, give a reward of your own: --reward FILE.py", path,
			strings.Join(answerNames(), ", "), strings.Join(have, ", "))
	}
	return nil
}

// column is the given column, which must be there, or the first that is there of the usual ones, or "".
func column(path string, have []string, what, given string, usual []string) (string, error) {
	if given != "" && !slices.Contains(have, given) {
		return "", fmt.Errorf("train: %s has no column %s (--%s-column); it has %s", path, given, what,
			strings.Join(have, ", "))
	}
	if given != "" {
		return given, nil
	}
	for _, name := range usual {
		if slices.Contains(have, name) {
			return name, nil
		}
	}
	return "", nil
}
