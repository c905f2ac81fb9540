package perf

import (
	"context"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// The rates are upstream's: experiences times mean lengths, over the time from the first step's begin.
func TestReport(t *testing.T) {
	r := &Report{Steps: []map[string]any{{"step": 1.0, countKey: 2.0, promptKey: 10.0, responseKey: 5.0},
		{"step": 2.0, countKey: 3.0, promptKey: 20.0, responseKey: 1.0}, {"step": 3.0}},
		Resources: []Sample{}, Status: Status{Success: true}}
	begun := time.Unix(100, 0)
	r.Took(begun, begun.Add(time.Second), begun.Add(3*time.Second))
	r.rates()
	if *r.Timing.Startup != 1 || *r.Timing.Execution != 2 || *r.Timing.Total != 3 || *r.Timing.Prompt != 40 ||
		*r.Timing.Response != 6.5 || r.Timing.CallIn != nil {
		t.Errorf("the times are %+v", r.Timing)
	}
	path := filepath.Join(t.TempDir(), "perf", "output.json")
	if err := r.Write(path); err != nil {
		t.Fatal(err)
	}
	got, err := Load(path)
	if err != nil || !reflect.DeepEqual(got, r) {
		t.Errorf("%+v, %v, want %+v", got, err, r)
	}
	if text := r.String(); !strings.Contains(text, "response tokens  6.5 /s") {
		t.Errorf("the report says\n%s", text)
	}
	never := &Report{}
	never.Took(begun, time.Time{}, begun.Add(time.Second))
	if never.rates(); never.Timing.Execution != nil || never.Timing.Prompt != nil {
		t.Errorf("a run that never began took %+v", never.Timing)
	}
}

func TestWatch(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if list := Watch(ctx, time.Hour); len(list) != 1 || list[0].Time == 0 || list[0].GPUs == nil {
		t.Errorf("the samples are %+v", list)
	}
}
