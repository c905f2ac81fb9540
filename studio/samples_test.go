package studio

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/studio/source"
)

func TestSamples(t *testing.T) {
	root := t.TempDir()
	job(t, root, "a")
	_, server := opened(t, Options{Dirs: []string{root}})
	run := "/api/runs/" + first(t, server)
	for query, want := range map[string]int{"": 32, "?step=1": 16, "?step=1&step=2&task=0": 16, "?set=held-out": 8,
		"?set=*": 40, "?reward_min=1": -1, "?q=no+such+text": 0, "?regex=%5E%3Cthink": -1, "?step=9": 0} {
		got := get[rows](t, server, run+"/samples"+query, 200)
		if want >= 0 && len(got.Samples) != want || got.Total == nil || want < 0 && len(got.Samples) == 0 {
			t.Errorf("samples%s are %d, want %d", query, len(got.Samples), want)
		}
	}
	for _, bad := range []string{"?step=x", "?sort=color", "?regex=(", "?q=a&regex=b", "?key=zz", "?limit=x",
		"?signal=7"} {
		get[map[string]any](t, server, run+"/samples"+bad, 400)
	}
	seen := map[string]bool{}
	for cursor, pages := "", 0; ; pages++ {
		got := get[rows](t, server, run+"/samples?sort=-reward&limit=5&cursor="+url.QueryEscape(cursor), 200)
		for _, s := range got.Samples {
			if seen[s.ID] {
				t.Fatalf("sample %s is on two pages", s.ID)
			}
			seen[s.ID] = true
		}
		if got.Cursor == nil {
			break
		}
		cursor = *got.Cursor
	}
	if len(seen) != 32 {
		t.Errorf("all pages have %d samples, want 32", len(seen))
	}
	bins := get[struct{ Counts []int }](t, server, run+"/histogram?bins=4&reward_min=1", 200)
	sum := 0
	for _, n := range bins.Counts {
		sum += n
	}
	if sum != 32 {
		t.Errorf("the histogram counts %d samples, want 32", sum)
	}
}

func TestSample(t *testing.T) {
	root := t.TempDir()
	job(t, root, "a")
	_, server := opened(t, Options{Dirs: []string{root}})
	run := "/api/runs/" + first(t, server)
	s := get[Sample](t, server, run+"/samples/step_000001.0", 200)
	if !s.Decoded || s.TokenCount != len(s.Tokens) || s.Tokens[0].Text != "<|im_start|>" || !s.Tokens[0].Special ||
		!s.Tokens[0].Prompt || s.Tokens[0].Mask != 0 {
		t.Fatalf("the tokens begin with %+v", s.Tokens[0])
	}
	text := ""
	for _, token := range s.Tokens[s.PromptLen:] {
		if token.Mask != 1 || token.Logprob == nil || token.Advantage == nil {
			t.Fatalf("a token of the answer is %+v", token)
		}
		text += token.Text
	}
	if !strings.HasPrefix(text, s.Response) {
		t.Errorf("the tokens are %q, the answer is %q", text, s.Response)
	}
	if s.Grade == nil || s.Grade.Verdict == "unknown" || s.Grade.Reason == "" || s.Truth == nil {
		t.Errorf("the grade is %+v", s.Grade)
	}
	if n := len(s.Messages); n != 3 || s.Messages[2].Role != "assistant" || s.Messages[2].Thinking == nil {
		t.Errorf("the messages are %+v", s.Messages)
	}
	part := get[Sample](t, server, run+"/samples/step_000001.0?from=2&count=3", 200)
	if len(part.Tokens) != 3 || part.Tokens[0].ID != s.Tokens[2].ID {
		t.Errorf("three tokens from the second are %+v", part.Tokens)
	}
	for _, id := range []string{"nothing", "step_000001.999", "step_000001.-1", "..%2F..%2Fetc%2Fpasswd.0", "%00.1"} {
		get[map[string]any](t, server, run+"/samples/"+id, 404)
	}
	get[map[string]any](t, server, "/api/runs/none", 404)
	get[map[string]any](t, server, "/api/nothing", 404)
}

func TestGroupAndTask(t *testing.T) {
	root := t.TempDir()
	job(t, root, "a")
	job(t, root, "b")
	_, server := opened(t, Options{Dirs: []string{root}})
	list := get[struct{ Runs []Run }](t, server, "/api/runs", 200)
	run := "/api/runs/" + list.Runs[0].ID
	type groupAnswer struct {
		Samples []Sample
		Differs *difference `json:"differs_at"`
		Signal  bool
		Key     string
	}
	g := get[groupAnswer](t, server, run+"/groups/1/0", 200)
	if len(g.Samples) != 8 || g.Differs == nil {
		t.Fatalf("the group has %d samples, which differ at %v", len(g.Samples), g.Differs)
	}
	prefix := []rune(g.Samples[0].Response)[:g.Differs.Char]
	for _, s := range g.Samples {
		if !strings.HasPrefix(s.Response, string(prefix)) {
			t.Errorf("%q does not begin with %q", s.Response, string(prefix))
		}
	}
	get[map[string]any](t, server, run+"/groups/1/none", 404)
	across := get[struct {
		Runs []struct {
			Run   string
			Steps []struct{ Samples []Row }
		}
	}](t, server, "/api/tasks?run="+list.Runs[0].ID+"&run="+list.Runs[1].ID+"&task="+g.Key, 200)
	if len(across.Runs) != 2 || len(across.Runs[1].Steps) == 0 || len(across.Runs[1].Steps[0].Samples) != 8 {
		t.Errorf("the task across runs is %+v", across)
	}
	same := get[struct{ Config []any }](t, server, "/api/compare?run="+list.Runs[0].ID+"&run="+list.Runs[1].ID, 200)
	if len(same.Config) != 0 {
		t.Errorf("equal configurations differ in %v", same.Config)
	}
}

func TestOddToken(t *testing.T) {
	const token = `a+b&c#d%e;f"g\h i`
	s := New(Options{Dirs: []string{t.TempDir()}, Token: token})
	ask := func(host, address string, cookies ...*http.Cookie) *http.Response {
		r := httptest.NewRequest("GET", address, nil)
		r.Host = host
		for _, c := range cookies {
			r.AddCookie(c)
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w.Result()
	}
	res := ask("127.0.0.1:1234", "/?token="+url.QueryEscape(token))
	if res.StatusCode != http.StatusSeeOther || len(res.Cookies()) != 1 {
		t.Fatalf("the token is answered with %s and %v", res.Status, res.Cookies())
	}
	c := res.Cookies()[0]
	for host, want := range map[string]int{"127.0.0.1:1234": 200, "127.0.0.1:1235": 401} {
		if got := ask(host, "/api/runs", c).StatusCode; got != want {
			t.Errorf("with the cookie at %s: %d, want %d", host, got, want)
		}
	}
}

func TestExport(t *testing.T) {
	root := t.TempDir()
	dir := job(t, root, "a")
	_, server := opened(t, Options{Dirs: []string{root}})
	read := func(query string) string {
		res, err := http.Get(server.URL + "/api/runs/" + first(t, server) + "/export?" + query)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		data, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	want, err := os.ReadFile(filepath.Join(dir, "rollouts", "step_000001.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if got := read("format=jsonl&step=1"); got != string(want) {
		t.Error("the exported lines are not those of the file")
	}
	if got := read("format=csv&step=1"); strings.Count(got, "\nstep_000001.") != 16 {
		t.Errorf("the table has other rows: %.200s", got)
	}
}

// A studio of one table has it alone.
func TestOneTable(t *testing.T) {
	file := filepath.Join("..", "loop", "buffer", "testdata", "experiences-0.6.0.db")
	s := New(Options{Tables: []source.Table{{File: file, Name: "experience_buffer"}}})
	if err := s.Look(t.Context()); err != nil {
		t.Fatal(err)
	}
	runs := s.runs.all()
	if len(runs) != 1 || runs[0].run.Look().Name != "experiences-0.6.0.db experience_buffer" {
		t.Fatalf("the runs are %+v", runs)
	}
	for path, want := range map[string]string{"/api/runs": `"folders":["../loop/buffer/testdata/experiences-0.6.0.db"]`,
		"/api/runs/" + runs[0].id + "/samples": `"head":"seven"`} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil))
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}
