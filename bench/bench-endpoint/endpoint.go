package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/bench/program"
	"github.com/seed-d9ad8ee0/trinity/engine"
)

// endpoint is trinity serve under load, and an engine with the same model in this process.
type endpoint struct {
	ctx    context.Context
	url    string // with /v1
	model  string
	server *program.Server
	alone  *engine.Engine
}

func (l *endpoint) close() {
	l.server.Close()
	l.alone.Close() // nothing is saved
}

// answerTokens is the length of an answer under load.
const answerTokens = 128

// ask sends a completion and returns the body of its answer.
func (l *endpoint) ask(n, most int, stream bool) (io.ReadCloser, error) {
	body := fmt.Sprintf(`{"model":%q,"prompt":"Question %d: what is the sum of 12 and 30? Answer:","max_tokens":%d,`+
		`"temperature":1,"seed":%d,"stream":%v,"ignore_eos":true,"return_token_ids":true,"stream_options":`+
		`{"include_usage":true}}`, l.model, n, most, n, stream)
	resp, err := http.Post(l.url+"/completions", "application/json", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		raw, err := io.ReadAll(resp.Body)
		return nil, fmt.Errorf("%s %s %v", resp.Status, raw, err)
	}
	return resp.Body, nil
}

// whole is an answer that is no stream.
func (l *endpoint) whole(n, most int) (a answer, err error) {
	body, err := l.ask(n, most, false)
	if err != nil {
		return a, err
	}
	defer body.Close()
	var e event
	err = json.NewDecoder(body).Decode(&e)
	for _, c := range e.Choices {
		a.ids = append(a.ids, c.IDs...)
	}
	a.tokens = e.Usage.Completion
	return a, err
}

// stream reads one stream to its end.
func (l *endpoint) stream(n, most int) (answer, error) {
	begun := time.Now()
	body, err := l.ask(n, most, true)
	if err != nil {
		return answer{}, err
	}
	defer body.Close()
	return read(body, begun, false)
}

// event has the fields read from an answer, or from an event of a stream.
type event struct {
	Choices []struct {
		Text string
		IDs  []int32 `json:"token_ids"`
	}
	Prompt []int32 `json:"prompt_token_ids"`
	Usage  struct {
		Completion int `json:"completion_tokens"`
	}
}

// answer is an answer, as far as it was read.
type answer struct {
	first  time.Duration // to a stream's first text
	tokens int
	prompt []int32
	ids    []int32
}

// read reads a stream that was asked for at begun. Unless all is set, it decodes the events up to the first text and
// the one with the usage, since it takes its time from the same processors.
func read(body io.Reader, begun time.Time, all bool) (a answer, err error) {
	done, usage := false, []byte(`"completion_tokens"`)
	lines := bufio.NewScanner(body)
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		done = done || string(data) == "[DONE]"
		if !ok || done || !all && a.first > 0 && !bytes.Contains(data, usage) {
			continue
		}
		var e event
		if err := json.Unmarshal(data, &e); err != nil {
			return a, fmt.Errorf("%w: %s", err, data)
		}
		if e.Prompt != nil {
			a.prompt = e.Prompt
		}
		for _, c := range e.Choices {
			if a.first == 0 && (c.Text != "" || len(c.IDs) > 0) {
				a.first = time.Since(begun)
			}
			a.ids = append(a.ids, c.IDs...)
		}
		a.tokens = max(a.tokens, e.Usage.Completion)
	}
	if !done {
		err = fmt.Errorf("a stream has no end: %v", lines.Err())
	}
	return a, err
}

// firstModel is the first base model of a server.
func firstModel(url string) (string, error) {
	resp, err := http.Get(url + "/models")
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	var list struct{ Data []struct{ ID string } }
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil || len(list.Data) == 0 {
		return "", fmt.Errorf("%s/models lists %+v: %v", url, list, err)
	}
	return list.Data[0].ID, nil
}
