package rollout

import (
	"fmt"
	"testing"
)

// benchSegment has the rows of a step.
func benchSegment() *Segment {
	s := &Segment{File: "step_000001.jsonl", Size: 1, Time: 2}
	for i := range 200 {
		line := fmt.Sprintf(`{"v":2,"id":"1/%d/%d/0/abc","task":"%d","model_version":3,"task_index":%d,`+
			`"prompt":"<|im_start|>user\nhow many?<|im_end|>","response":"seven","reward":1.1,"advantage":0.5,`+
			`"stop_reason":"stop","metrics":{"accuracy":1,"format_score":0.1},"prompt_tokens":[1,2],"tokens":[3,4],`+
			`"logprobs":[-1,-2]}`, i/8, i%8, i/8, i)
		row, parts, err := Describe([]byte(line))
		if err != nil {
			panic(err)
		}
		s.Add(row, parts)
	}
	return s
}

func BenchmarkSegments(b *testing.B) {
	data := benchSegment().Append(nil)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if len(segments(data)) != 1 {
			b.Fatal("the segment cannot be read")
		}
	}
}

func BenchmarkDescribe(b *testing.B) {
	line := []byte(`{"v":2,"id":"1/2/3/0/abc","task":"2","model_version":3,"task_index":4,` +
		`"prompt":"<|im_start|>user\n` +
		`how many?<|im_end|>","response":"seven","reward":1.1,"stop_reason":"stop","metrics":{"accuracy":1},` +
		`"prompt_tokens":[` + repeated("12345", 200) + `],"tokens":[` + repeated("12345", 500) + `],"logprobs":[` +
		repeated("-0.0123456", 500) + `]}`)
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		if _, _, err := Describe(line); err != nil {
			b.Fatal(err)
		}
	}
}

func repeated(s string, n int) string {
	out := s
	for range n - 1 {
		out += "," + s
	}
	return out
}
