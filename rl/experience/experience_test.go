package experience

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
)

// full has every field set to something unlike its zero value.
func full() *Experience {
	e := &Experience{
		EID:          EID{Batch: "3", Task: "17", Run: 2, Step: 1, Suffix: "00a1f3"},
		Tokens:       []int32{5, 6, 7, 151645, 0, 9, -1, 3, 4, 5, 6, 7, 8},
		PromptLength: 3,
		Logprobs: []float32{-0.5, float32(math.Copysign(0, -1)), -1e-45, -3, -4, -5, -6, -7,
			float32(math.Inf(-1)), -9},
		ActionMask:     []bool{true, true, false, true, true, true, true, true, false, true},
		TokenRewards:   []float32{0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
		Advantages:     []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
		Returns:        []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
		PromptText:     "<|im_start|>user\nhé",
		ResponseText:   "36<|im_end|>",
		MessagesJSON:   `[{"role":"user","content":"hé"}]`,
		Metrics:        map[string]float64{"accuracy": 1, "format_score": -0.1, "a": 0.3},
		Info:           Info{ModelVersion: 7, TaskIndex: 17, TasksetID: 1, UseCount: 2, IsExpert: true, Seed: -9},
		TruncateStatus: ResponseTruncated,
		StopReason:     StopLength,
	}
	e.SetReward(1.1)
	greedy := 0.25
	e.Info.Baseline = &greedy
	return e
}

// several is full in three sequences.
func several() *Experience {
	e := full()
	e.Starts = []int{5, 11}
	return e
}

// noted is full with a note.
func noted() *Experience {
	e := full()
	e.Note = &Note{Messages: `[{"role":"user"}]`, Truth: "7", Extracted: "6", Expected: "7", Board: "F S", Turns: 3,
		ToolCalls: 2, Graded: true, Parts: []Part{{"accuracy", 0}, {"format_score", -0.1}}}
	return e
}

func TestSpans(t *testing.T) {
	e := several()
	if err := e.Validate(); err != nil {
		t.Fatal(err)
	}
	got, want := e.Spans(), [][2]int{{0, 5}, {5, 11}, {11, 13}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("spans %v, want %v", got, want)
	}
	if got, want := full().Spans(), [][2]int{{0, 13}}; !reflect.DeepEqual(got, want) {
		t.Errorf("spans of one sequence %v, want %v", got, want)
	}
	if c := e.Clone(); !reflect.DeepEqual(c, e) || &c.Starts[0] == &e.Starts[0] {
		t.Error("a clone has other sequences, or shares them")
	}
	for want, starts := range map[string][]int{
		"begin at [2 11]":          {2, 11}, // within the prompt
		"begin at [11 5]":          {11, 5},
		"begin at [5 5]":           {5, 5},
		"begin at [5 12]":          {5, 12}, // one token
		"trains token 6, which be": {6},
	} {
		e := full()
		e.Starts = starts
		if err := e.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("sequences at %v: %v, want %q", starts, err, want)
		}
	}
}

// An experience of one sequence is written as before there were several.
func TestOneSequenceKeepsItsBytes(t *testing.T) {
	one, some := Append(nil, full()), Append(nil, several())
	if one[0] != 2 || some[0] != 3 || !bytes.Equal(one[1:], some[1:len(one)]) {
		t.Errorf("versions %d and %d; want 2 and 3, with the same bytes after them", one[0], some[0])
	}
}

func TestEncodeDecode(t *testing.T) {
	tests := map[string]*Experience{
		"every field":       full(),
		"several sequences": several(),
		"a note":            noted(),
		"nothing":           {},
		"empty slices, not nil": {Tokens: []int32{}, Logprobs: []float32{}, ActionMask: []bool{},
			Metrics: map[string]float64{}},
		"prompt without answer": {Tokens: []int32{1, 2}, PromptLength: 2, StopReason: StopPromptTruncated},
		"mask of eight and nine": {Tokens: []int32{1}, ActionMask: []bool{true, false, true, false, true, false, true,
			true, true}},
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			buf := Append([]byte("before"), want)
			got, rest, err := Decode(append(buf, "after"...)[len("before"):])
			if err != nil {
				t.Fatal(err)
			}
			if string(rest) != "after" {
				t.Errorf("rest = %q, want %q", rest, "after")
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}

func TestEncodingKeepsFloatBits(t *testing.T) {
	nan := math.Float32frombits(0x7fc00123)
	got, _, err := Decode(Append(nil, &Experience{Logprobs: []float32{nan, float32(math.Copysign(0, -1))}}))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []uint32{0x7fc00123, 0x80000000} {
		if bits := math.Float32bits(got.Logprobs[i]); bits != want {
			t.Errorf("logprob %d has bits %#x, want %#x", i, bits, want)
		}
	}
}

func TestEncodingIsDeterministic(t *testing.T) {
	want := Append(nil, full())
	for range 50 { // map order changes from one range to the next
		if got := Append(nil, full()); !bytes.Equal(got, want) {
			t.Fatal("two encodings of one experience differ")
		}
	}
}

func TestDecodeRefusesEveryCut(t *testing.T) {
	both := several()
	both.Note = noted().Note
	buf := Append(nil, both)
	for n := range buf {
		if _, _, err := Decode(buf[:n]); err == nil {
			t.Errorf("the first %d of %d bytes decode without an error", n, len(buf))
		}
	}
	_, _, err := Decode([]byte{99})
	if err == nil || !strings.Contains(err.Error(), "version 99") {
		t.Errorf("error of another version = %v", err)
	}
	if _, _, err = Decode([]byte{1}); err == nil || !strings.Contains(err.Error(), "v0.2") {
		t.Errorf("error of version 1 = %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(Append(nil, full()))
	f.Add(Append(nil, several()))
	f.Add(Append(nil, noted()))
	f.Add(Append(nil, &Experience{}))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, _, err := Decode(data)
		if err != nil {
			return
		}
		once := Append(nil, e)
		again, rest, err := Decode(once)
		if err != nil || len(rest) != 0 {
			t.Fatalf("what Append wrote does not decode: %v, %d bytes left", err, len(rest))
		}
		if !bytes.Equal(Append(nil, again), once) {
			t.Fatal("encoding, decoding and encoding again changed bytes")
		}
	})
}

func TestEID(t *testing.T) {
	id := EID{Batch: "3", Task: "17", Run: 2, Step: 1, Suffix: "00a1f3"}
	for _, tt := range []struct{ name, got, want string }{
		{"TID", id.TID(), "3/17"},
		{"RID", id.RID(), "3/17/2"},
		{"SID", id.SID(), "3/17/1"},
		{"String", id.String(), "3/17/2/1/00a1f3"},
		{"Suffix", Suffix(0x1200a1f3), "00a1f3"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s = %q, want %q", tt.name, tt.got, tt.want)
		}
	}
}

func TestEIDCompare(t *testing.T) {
	ordered := []EID{
		{Batch: "2", Task: "10"},
		{Batch: "10", Task: "2"},
		{Batch: "10", Task: "10"},
		{Batch: "10", Task: "10", Run: 1},
		{Batch: "10", Task: "10", Run: 1, Step: 1},
		{Batch: "10", Task: "10", Run: 1, Step: 1, Suffix: "a"},
		{Batch: "10", Task: "word"},
		{Batch: "eval"},
	}
	for i, a := range ordered {
		for j, b := range ordered {
			if got := a.Compare(b); (got < 0) != (i < j) || (got > 0) != (i > j) {
				t.Errorf("%s compared with %s = %d", a, b, got)
			}
		}
	}
}

func TestValidate(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(*Experience)
		want  string // part of the error, empty for none
	}{
		{"as it should be", func(*Experience) {}, ""},
		{"not scored yet", func(e *Experience) { e.Advantages, e.Returns = nil, nil }, ""},
		{"prompt too long", func(e *Experience) { e.PromptLength = 14 }, "prompt length 14 with 13 tokens"},
		{"short mask", func(e *Experience) { e.ActionMask = e.ActionMask[1:] }, "9 entries in its action mask for 10"},
		{"short logprobs", func(e *Experience) { e.Logprobs = e.Logprobs[1:] }, "9 logprobs for 10"},
		{"long advantages", func(e *Experience) { e.Advantages = append(e.Advantages, 0) }, "11 advantages for 10"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := full()
			tt.spoil(e)
			err := e.Validate()
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("Validate() = %v, want %q", err, tt.want)
			}
		})
	}
}

func TestCloneSharesNothing(t *testing.T) {
	e := full()
	c := e.Clone()
	c.Tokens[0], c.Logprobs[0], c.ActionMask[0], c.Advantages[0], c.Metrics["accuracy"] = 99, 99, false, 99, 99
	*c.Reward = 99
	if !reflect.DeepEqual(e, full()) {
		t.Error("changing the clone changed the original")
	}
}

func TestTurnExperience(t *testing.T) {
	turn := Turn{Prompt: []int32{1, 2}, Response: []int32{3}, Logprobs: []float32{-1}, Text: "c", Stop: StopStop}
	e := turn.Experience(EID{Task: "a"})
	if err := e.Validate(); err != nil {
		t.Fatal(err)
	}
	if e.PromptLength != 2 || e.TrainableTokens() != 1 || e.StopReason != StopStop {
		t.Errorf("got %+v", e)
	}
	turn.Stop = StopPromptTruncated
	if e := turn.Experience(EID{}); e.TrainableTokens() != 0 || e.TruncateStatus != PromptTruncated {
		t.Errorf("a truncated prompt trains %d tokens with status %q", e.TrainableTokens(), e.TruncateStatus)
	}
}

func TestGroupBy(t *testing.T) {
	list := []*Experience{
		{EID: EID{Batch: "1", Task: "b", Run: 0}}, {EID: EID{Batch: "1", Task: "a", Run: 0}},
		{EID: EID{Batch: "1", Task: "b", Run: 1}},
	}
	got := GroupBy(list, EID.TID)
	want := []Group{{"1/b", []*Experience{list[0], list[2]}}, {"1/a", []*Experience{list[1]}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestRecord(t *testing.T) {
	e := full()
	e.Metrics["broken"] = math.NaN()
	got, err := json.Marshal(e.Record())
	if err != nil {
		t.Fatal(err)
	}
	want := `{"eid":{"batch":"3","task":"17","run":2,"step":1,"suffix":"00a1f3"},"type":"multi_turn",` +
		`"prompt_length":3,` +
		`"response_length":10,"info":{"is_expert":true,"model_version":7,"task_index":{"index":17,"taskset_id":1},` +
		`"use_count":2},` +
		`"metrics":{"a":0.3,"accuracy":1,"format_score":-0.1},"prompt_text":"\u003c|im_start|\u003euser\nhé",` +
		`"response_text":"36\u003c|im_end|\u003e","messages":[{"role":"user","content":"hé"}],"reward":1.1,` +
		`"truncate_status":"response_truncated","stop_reason":"length"}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
