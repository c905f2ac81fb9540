package buffer

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/trxp"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// copied is the URL of a copy of a database in testdata.
func copied(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	path := filepath.Join(t.TempDir(), name)
	if err = errors.Join(err, os.WriteFile(path, data, 0o600)); err != nil {
		t.Fatal(err)
	}
	return "sqlite:///" + path
}

// What Trinity-RFT's own code wrote (testdata/experiences.py) is read, and added to.
func TestReadsUpstreamsExperiences(t *testing.T) {
	for _, version := range []string{"0.5.2", "0.6.0"} {
		s := openSQL(t, copied(t, "experiences-"+version+".db"), "experience_buffer", SQLOptions{})
		if n, err := s.Available(t.Context(), 0); n != 2 || err != nil {
			t.Fatalf("%s: %d experiences, %v", version, n, err)
		}
		if err := s.Put(t.Context(), "e", 1, full(1, 1)); err != nil {
			t.Fatal(err)
		}
		list, err := s.Read(t.Context(), 1, 3, 0)
		if err != nil {
			t.Fatal(err)
		}
		one, two := list[0], list[1]
		wantVersion := map[string]int{"0.5.2": 2, "0.6.0": 0}[version] // there it is null
		if one.EID.String() != "3/7/0/0/aaaaaa" || !slices.Equal(one.Tokens, []int32{5, 6, 7, 8}) ||
			one.PromptLength != 2 || !slices.Equal(one.Logprobs, []float32{-0.5, -1}) ||
			!slices.Equal(one.Advantages, []float32{-0.5, -1}) || *one.Reward != 1 || one.ResponseText != "seven" ||
			one.Metrics["accuracy"] != 1 || one.Metrics["info/judge"] != 0.25 || one.Info.ModelVersion != wantVersion ||
			one.Info.TaskIndex != 5 || one.Info.TasksetID != 1 || one.Info.UseCount != 1 {
			t.Errorf("%s: the first is %+v", version, one)
		}
		if two.EID.String() != "3/7/1/1/bbbbbb" || !slices.Equal(two.ActionMask, []bool{true, false, true}) ||
			two.TruncateStatus != experience.ResponseTruncated || two.StopReason != experience.StopLength ||
			two.Info.ModelVersion != 2 || *two.Reward != 0 || len(two.MessagesJSON) == 0 {
			t.Errorf("%s: the second is %+v", version, two)
		}
		if got, want := list[2].EID.String(), full(1, 1)[0].EID.String(); got != want {
			t.Errorf("%s: the third is %s, want %s", version, got, want)
		}
	}
}

// exact is an experience with something in each of its fields.
func exact() *experience.Experience {
	e := &experience.Experience{EID: experience.EID{Batch: "3", Task: "0/x", Run: 1, Step: 2, Suffix: "00000a"},
		Tokens: []int32{1, -2, 3, 1 << 30, 5, 6}, PromptLength: 2, Starts: []int{4},
		Logprobs: []float32{-0.1, float32(math.NaN()), 0, -3}, ActionMask: []bool{true, true, false, true},
		TokenRewards: []float32{0, 1, 0, -0.5}, Advantages: []float32{}, Returns: nil,
		PromptText: "p\xff", ResponseText: "größer", MessagesJSON: `[{"role": "user",  "content":"x"}]`,
		Metrics: map[string]float64{"a": math.Inf(1), "b": 0.1}, TruncateStatus: experience.ResponseTruncated,
		StopReason: experience.StopLength, Note: &experience.Note{Truth: "7", Parts: []experience.Part{}},
		Info: experience.Info{ModelVersion: 1, TaskIndex: 2, TasksetID: 3, UseCount: 4, IsExpert: true, Seed: -5}}
	e.SetReward(math.Inf(-1))
	return e
}

// A database gives back every bit, and what other versions of this program wrote.
func TestSerializesExactly(t *testing.T) {
	empty := &experience.Experience{Tokens: []int32{}, Logprobs: []float32{}, ActionMask: []bool{}}
	for i, e := range []*experience.Experience{exact(), {}, empty} {
		want := experience.Append(nil, e)
		for name, data := range map[string][]byte{"TRXP": serialize(e), "before": want} {
			got, err := deserialize(data, row{task: "not this"})
			if err != nil || !slices.Equal(experience.Append(nil, got), want) {
				t.Errorf("experience %d (%s) came back as %+v, %v", i, name, got, err)
			}
		}
	}
	items, err := trxp.Decode(serialize(exact()))
	if err != nil || len(items) != 1 || items[0].Fields["response_text"] != "größer" ||
		!reflect.DeepEqual(items[0].Fields["messages"], []any{map[string]any{"role": "user", "content": "x"}}) {
		t.Errorf("others read %+v, %v", items, err)
	}
}

// A table of this program from before, with the bytes in a column of its own, is continued.
func TestContinuesAnEarlierTable(t *testing.T) {
	address := "sqlite:///" + filepath.Join(t.TempDir(), "b.db")
	db, err := openDatabase(address)
	if err != nil {
		t.Fatal(err)
	}
	old := full(1, 1)[0]
	_, err = db.Exec(`CREATE TABLE x (id INTEGER PRIMARY KEY AUTOINCREMENT, timestamp TIMESTAMP DEFAULT ` +
		`CURRENT_TIMESTAMP, task_id VARCHAR(64), run_id INTEGER, msg_id VARCHAR(64), model_version INTEGER, ` +
		`experience_bytes BLOB, reward DOUBLE PRECISION, consumed INTEGER DEFAULT 0, item BIGINT, ` +
		`noise DOUBLE PRECISION DEFAULT 0, ready DOUBLE PRECISION DEFAULT 0, evicted INTEGER DEFAULT 0)`)
	if err == nil {
		_, err = db.Exec(`INSERT INTO x (task_id, run_id, model_version, experience_bytes) VALUES ('t', 0, 1, ?)`,
			experience.Append(nil, old))
	}
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	s := openSQL(t, address, "x", SQLOptions{})
	if err := s.Put(t.Context(), "e", 2, full(2, 1)); err != nil {
		t.Fatal(err)
	}
	got, err := s.Read(t.Context(), 1, 2, 0)
	want := names(slices.Concat(full(1, 1), full(2, 1)))
	if err != nil || !slices.Equal(names(got), want) {
		t.Errorf("%v, %v, want %v", names(got), err, want)
	}
}

func FuzzDeserialize(f *testing.F) {
	f.Add(serialize(exact()))
	f.Add(experience.Append(nil, exact()))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := deserialize(data, row{})
		if (e == nil) == (err == nil) {
			t.Errorf("%v, %v", e, err)
		}
	})
}
