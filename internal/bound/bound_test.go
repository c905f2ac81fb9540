package bound

import (
	"errors"
	"runtime"
	"strings"
	"testing"
)

func TestLimits(t *testing.T) {
	small := Of(1 << 16) // 4096 values
	for _, tt := range []struct{ name, text, want string }{
		{"a message", `{"a": [1, "}]{[,:", null]}`, ""},
		{"texts with signs", `["` + strings.Repeat(`,{[\"`, 10000) + `"]`, ""},
		{"many numbers", "[" + strings.Repeat("1,", 4000) + "1]", ""},
		{"too many numbers", "[" + strings.Repeat("1,", 4100) + "1]", "more than 4096 values"},
		{"on lines", "[" + strings.Repeat("1,\n", 4100) + "1]", "more than 4096 values"},
		{"too many objects", "[" + strings.Repeat("{},", 600) + "1]", "more than 4096 values"},
		{"behind a text with a backslash", `["\\",` + strings.Repeat("{},", 600) + "1]", "more than 4096 values"},
		{"too deep", strings.Repeat("[", 257) + strings.Repeat("]", 257), "more than 256 levels of nesting"},
		{"deep", strings.Repeat("[", 256) + strings.Repeat("]", 256), ""},
		{"too long", `"` + strings.Repeat("x", 1<<16) + `"`, "more than 65536 bytes"},
	} {
		var to any
		err := small.Decode(strings.NewReader(tt.text), &to)
		var much *Error
		if tt.want == "" && err != nil || tt.want != "" && (!errors.As(err, &much) ||
			!strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
	if err := Of(16 << 20).TooLong(); err.Error() != "a message of more than 16 MiB" {
		t.Error(err)
	}
}

// endless is a reader without an end.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) { e.read += len(p); return len(p), nil }

func TestReadStops(t *testing.T) {
	r := new(endless)
	if _, err := Of(1 << 20).Read(r); err == nil || r.read > 2<<20 {
		t.Errorf("%d bytes were read: %v", r.read, err)
	}
}

// The costliest messages within the limits take a few times their size, and those beyond take next to nothing.
func TestMemory(t *testing.T) {
	limits := Of(1 << 20)
	for _, one := range []string{"{},", "[],", `{"":0},`, `{"a":[{}]},`, "1.5,", "[[]],", `"",`} {
		for _, size := range []int{1 << 16, 1 << 20} {
			text := []byte("[" + strings.Repeat(one, (size-3)/len(one)) + "0]")
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			var to any
			err := limits.Unmarshal(text, &to)
			runtime.GC()
			runtime.ReadMemStats(&after)
			if n := int64(after.HeapAlloc) - int64(before.HeapAlloc); n > 5<<20 {
				t.Errorf("%d bytes of %s take %d bytes of memory (%v)", size, one, n, err)
			}
			runtime.KeepAlive(to)
		}
	}
}

// Messages that follow each other on lines of their own are counted one by one.
func TestScan(t *testing.T) {
	s := Of(1 << 16).Scan()
	for range 100 {
		for _, piece := range []string{`{"a": [`, `{}, {}, "\`, `"`, `["`, `]}`, "\n"} {
			if err := s.Feed([]byte(piece)); err != nil {
				t.Fatal(err)
			}
		}
	}
}
