package pickle

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// The pickles were made by Python and NumPy (testdata/make.py).
func TestValues(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "values.json"))
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]any
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	for protocol := 2; protocol <= 5; protocol++ {
		data, err := os.ReadFile(filepath.Join("testdata", fmt.Sprint("values.pickle", protocol)))
		if err != nil {
			t.Fatal(err)
		}
		v, err := Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(v)
		var got map[string]any
		if err == nil {
			err = json.Unmarshal(text, &got)
		}
		if err != nil {
			t.Fatal(err)
		}
		// what older protocols make by a call
		since := map[string]int{"bytes": 3, "set": 4, "frozen": 4, "array": 5}
		for key, v := range want {
			if protocol < since[key] {
				v = nil
			}
			if protocol == 2 && key == "np" { // the bytes in it are made by calls
				v = []any{nil, nil, nil, nil}
			}
			if !reflect.DeepEqual(got[key], v) {
				t.Errorf("protocol %d: %s is %v, want %v", protocol, key, got[key], v)
			}
		}
		if len(got) != len(want) {
			t.Errorf("protocol %d has %d values, want %d", protocol, len(got), len(want))
		}
	}
}

func TestRefuses(t *testing.T) {
	for name, c := range map[string]struct{ data, want string }{
		"nothing":             {"", "ends too soon"},
		"an end on nothing":   {"\x80\x04.", "too little"},
		"a text cut off":      {"\x80\x04\x8c\x05abc", "ends too soon"},
		"a length of 2^63":    {"\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\x7f.", "ends too soon"},
		"protocol 0":          {"(lp0\nI1\na.", "is not read here"},
		"a later protocol":    {"\x80\x06N.", "protocol"},
		"a persistent id":     {"\x80\x02NQ.", "is not read here"},
		"an extension":        {"\x80\x02\x82\x01.", "is not read here"},
		"a key alone":         {"\x80\x02}(K\x01u.", "too little"},
		"an item of a number": {"\x80\x02K\x01K\x02a.", "another kind"},
		"a call of a number":  {"\x80\x02K\x01)R.", "another kind"},
		"a memo of nothing":   {"\x80\x02h\x00.", "does not have"},
		"a pop below a mark":  {"\x80\x02N(0.", "too little"},
		"itself":              {"\x80\x02]q\x00h\x00a.", "nested too deeply"},
		"doubled 30 times":    {"\x80\x02" + doubled(30) + ".", "too many values"},
	} {
		if v, err := Decode([]byte(c.data)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v, want an error with %q", name, v, err, c.want)
		}
	}
}

// doubled is a list with twice the one before, n times.
func doubled(n int) string {
	return "]" + strings.Repeat("q\x00h\x00\x86", n)
}

// A call is not made.
func TestNothingRuns(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made")
	pickle := "\x80\x04cos\nmkdir\n\x8c" + string(rune(len(dir))) + dir + "\x85R."
	if len(dir) > 127 {
		t.Skip("the temporary folder has a long name")
	}
	v, err := Decode([]byte(pickle))
	if v != nil || err != nil {
		t.Errorf("a call is %v, %v", v, err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("a call was made")
	}
}

func FuzzDecode(f *testing.F) {
	names, err := filepath.Glob(filepath.Join("testdata", "values.pickle*"))
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("\x80\x02" + doubled(40) + "."))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := Decode(data)
		if err != nil && v != nil {
			t.Errorf("%v beside the error %v", v, err)
		}
	})
}

// What Append writes, Decode reads; Python reads it too (internal/trxp).
func TestAppend(t *testing.T) {
	want := map[string]any{"nil": nil, "yes": true, "no": false, "small": int64(-7), "large": int64(math.MinInt64),
		"float": -0.1, "text": "größer", "bytes": []byte{0, 255}, "empty": []any{}, "none": map[string]any{},
		"list": []any{int64(1), []any{"a"}, map[string]any{"k": 2.5}}}
	got, err := Decode(Append(nil, want))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	if v, err := Decode(Append(nil, 3)); v != int64(3) || err != nil {
		t.Errorf("an int is %v, %v", v, err)
	}
}
