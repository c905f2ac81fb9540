package source

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
)

// experienceLines is the path of a file with an experience in each line, as JSON: what Trinity-RFT and this program
// write where storage_type is file. The keys are those of a serialised experience; there are texts, and no tokens.
type experienceLines string

// Files implements rollout.Folder.
func (l experienceLines) Files() ([]rollout.File, error) {
	st, err := os.Stat(string(l))
	if err != nil {
		return nil, nil // it is not there, or not any more
	}
	return []rollout.File{{Name: filepath.Base(string(l)), Size: st.Size(), Time: st.ModTime().UnixNano()}}, nil
}

// Scan implements rollout.Folder.
func (l experienceLines) Scan(ctx context.Context, f rollout.File) (*rollout.Segment, error) {
	return rollout.ScanAs(ctx, string(l), f.Name, fromExperience)
}

// Open implements rollout.Folder.
func (l experienceLines) Open(f rollout.File) (rollout.Opened, error) {
	open, err := rollout.Dir(filepath.Dir(string(l))).Open(f)
	if err != nil {
		return nil, err
	}
	return converted{open, fromExperience}, nil
}

// check reports a first line that is no experience. A file may have no line yet.
func (l experienceLines) check() error {
	f, err := os.Open(string(l))
	if err != nil {
		return fmt.Errorf("source: %w", err)
	}
	defer f.Close()
	line, err := bufio.NewReader(io.LimitReader(f, 64<<20)).ReadBytes('\n')
	if err == io.EOF {
		return nil // it has no whole line
	}
	if err == nil {
		_, err = fromExperience(line)
	}
	if err != nil {
		return fmt.Errorf("source: %s: line 1: %w", string(l), err)
	}
	return nil
}

// fromExperience makes a line a record's.
func fromExperience(line []byte) ([]byte, error) {
	var item map[string]any
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	if err := d.Decode(&item); err != nil {
		return nil, fmt.Errorf("it is no experience: %w", err)
	}
	if _, ok := item["eid"].(map[string]any); !ok {
		return nil, errors.New("it is no experience: it has no eid")
	}
	r := rollout.Record{Metrics: map[string]float64{}}
	readFields(&r, item)
	r.StopReason, _ = item["stop_reason"].(string)
	for key, into := range map[string]*int{"prompt_length": &r.PromptCount, "response_length": &r.ResponseCount} {
		if n := number(item[key]); n != nil && *n >= 0 && *n < 1<<31 {
			*into = int(*n)
		}
	}
	return json.Marshal(r)
}
