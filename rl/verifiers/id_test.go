package verifiers

import (
	"reflect"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	p, err := Parse("verifiers:sums?dir=a/b&taskset.split=test&taskset.n=3&config.agent.harness.id=null&limit=5&" +
		"random=1|2")
	want := ID{Args: map[string]any{"env_id": "verifiers:sums", "dir": "a/b", "limit": uint64(5),
		"taskset": map[string]any{"split": "test", "n": uint64(3)}, "config": map[string]any{"agent": map[string]any{
			"harness": map[string]any{"id": "null"}}}}, Tasks: "verifiers:sums", Random: []string{"1", "2"}}
	if err != nil || !reflect.DeepEqual(p, want) {
		t.Errorf("%#v, %v\nwant %#v", p, err, want)
	}
	p, err = Parse(" verifiers:tcp://127.0.0.1:5000?tasks=sums ")
	if err != nil || p.Tasks != "verifiers:sums" || p.Args["env_id"] != "verifiers:tcp://127.0.0.1:5000" {
		t.Errorf("%+v, %v", p, err)
	}
	for id, want := range map[string]string{
		"verifiers:":                     `env_id is "verifiers:"; it must be verifiers:ID`,
		"verifiers:sums?limit=0":         "limit is 0",
		"verifiers:sums?limt=3":          "limt is not an argument",
		"verifiers:sums?env_id=x":        "env_id is no argument",
		"verifiers:sums?taskset=3&a.b=1": "taskset is 3",
		"verifiers:sums?dir=a&dir.b=c":   "dir",
		"verifiers:sums?taskset.a={":     "taskset.a={ is no value",
		"verifiers:sums?%zz=1":           "write name=value, with & between them",
		"verifiers:tcp://127.0.0.1:5000": "say with tasks=ID which environment they are of",
	} {
		if _, err := Parse(id); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.HasPrefix(err.Error(), "verifiers: ") {
			t.Errorf("%s: error %v, want %q", id, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("verifiers:sums?dir=a/b&taskset.split=test&limit=5")
	f.Add("verifiers:tcp://127.0.0.1:5000?tasks=sums&config.a.b=[1]")
	f.Fuzz(func(t *testing.T, id string) {
		p, err := Parse(id)
		if err == nil && (p.Args["env_id"] == nil || !Is(p.Tasks)) {
			t.Errorf("%q: %+v", id, p)
		}
	})
}
