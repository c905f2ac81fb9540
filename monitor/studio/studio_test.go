package studio

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-d9ad8ee0/trinity/monitor/studio/source"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// job copies the job of testdata, which trinity run wrote, to a folder of its own.
func job(t testing.TB, root, name string) string {
	t.Helper()
	dir := filepath.Join(root, "project", name)
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "job"))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// opened is a studio over folders, which has looked once.
func opened(t testing.TB, o Options) (*Studio, *httptest.Server) {
	t.Helper()
	o.Model = func(string) (string, error) { return filepath.Join("..", "..", "examples", "tiny", "model"), nil }
	s := New(o)
	if err := s.Look(context.Background()); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return s, server
}

// get asks for JSON and checks the status.
func get[T any](t testing.TB, server *httptest.Server, path string, status int) (out T) {
	t.Helper()
	res, err := http.Get(server.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != status {
		t.Fatalf("%s answered %s, want %d: %s", path, res.Status, status, data)
	}
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatalf("%s: %v: %.300s", path, err, data)
	}
	return out
}

type rows struct {
	Samples []Row
	Total   *int
	Cursor  *string
	Scanned int
	Of      int
}

// first is the id of the only run.
func first(t testing.TB, server *httptest.Server) string {
	t.Helper()
	list := get[struct{ Runs []Run }](t, server, "/api/runs", 200)
	if len(list.Runs) == 0 {
		t.Fatal("there is no run")
	}
	return list.Runs[0].ID
}

// What takes much memory is let go of, but not the metrics that the next look at a running run reads.
func TestDropKeepsRunning(t *testing.T) {
	root := t.TempDir()
	job(t, root, "a")
	s, server := opened(t, Options{Dirs: []string{root}})
	e := s.runs.get(first(t, server))
	for state, want := range map[source.State]bool{source.Running: true, source.Finished: false} {
		e.curves()
		e.opened()
		e.now.look.State = state
		e.drop()
		if kept := e.log != nil; kept != want || e.index != nil {
			t.Errorf("%s: metrics are kept: %v; the index is: %v", state, kept, e.index != nil)
		}
	}
}

// A run whose numbers broke has a page, and its lights say so.
func TestNotFinite(t *testing.T) {
	root := t.TempDir()
	line := `{"step":%d,"actor/entropy":NaN,"grad_norm":NaN,"train/kl_sample_train_v1":null,"critic/rewards/mean":1}` +
		"\n"
	text := fmt.Sprintf(line, 1) + fmt.Sprintf(line, 2)
	if err := os.WriteFile(filepath.Join(job(t, root, "a"), "metrics.jsonl"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	_, server := opened(t, Options{Dirs: []string{root}})
	run := get[struct{ Health []Light }](t, server, "/api/runs/"+first(t, server), 200)
	want := map[string]string{"sampler–trainer gap": bad, "gradient norm": bad, "entropy": unknown}
	for _, l := range run.Health {
		if state, ok := want[l.Name]; ok && l.State != state {
			t.Errorf("%s is %s (%s), want %s", l.Name, l.State, l.Reason, state)
		}
	}
}

func TestRun(t *testing.T) {
	root := t.TempDir()
	job(t, root, "a")
	_, server := opened(t, Options{Dirs: []string{root}})
	id := first(t, server)
	run := get[struct {
		Run
		Config  []source.Setting
		Health  []Light
		Metrics []struct{ Name, Group string }
	}](t, server, "/api/runs/"+id, 200)
	if run.State != source.Finished || run.Algorithm != "grpo" || run.Step != 4 || *run.Steps != 4 ||
		run.Model != "examples/tiny/model" || len(run.Reward) != 4 || len(run.Config) != 9 {
		t.Errorf("the run is %+v", run.Run)
	}
	lights := map[string]string{}
	for _, l := range run.Health {
		lights[l.Name] = l.State
	}
	if lights["sampler–trainer gap"] != good || lights["groups without signal"] == unknown || len(lights) != 8 {
		t.Errorf("the lights are %v", lights)
	}
	curves := get[struct {
		Series map[string]struct {
			Step  []int
			Value []float64
		}
	}](t, server, "/api/runs/"+id+"/metrics?name=critic/rewards/mean&points=2&from=1", 200)
	if got := curves.Series["critic/rewards/mean"]; len(got.Step) != 2 || got.Step[1] != 4 {
		t.Errorf("the curve is %+v", got)
	}
	line := get[struct{ Steps []span }](t, server, "/api/runs/"+id+"/timeline", 200)
	if len(line.Steps) < 4 || len(line.Steps[0].Parts) < 2 {
		t.Errorf("the timeline is %+v", line.Steps)
	}
}

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

func TestGuard(t *testing.T) {
	root := t.TempDir()
	_, server := opened(t, Options{Dirs: []string{root}, Token: "secret", Hosts: []string{"box.example"}})
	send := func(method, path string, header map[string]string) *http.Response {
		t.Helper()
		req, err := http.NewRequest(method, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range header {
			req.Header.Set(name, value)
		}
		if host := header["Host"]; host != "" {
			req.Host = host
		}
		client := http.Client{CheckRedirect: func(*http.Request,
			[]*http.Request) error {
			return http.ErrUseLastResponse
		}}
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res
	}
	key := "Bearer secret"
	for _, c := range []struct {
		name   string
		path   string
		header map[string]string
		status int
	}{
		{"no token", "/api/runs", nil, 401},
		{"a wrong token", "/api/runs", map[string]string{"Authorization": "Bearer other"}, 401},
		{"the token", "/api/runs", map[string]string{"Authorization": key}, 200},
		{"the token in the address", "/?token=secret", nil, 303},
		{"a wrong one there", "/?token=other", nil, 401},
		{"a foreign host", "/api/runs", map[string]string{"Authorization": key, "Host": "evil.example"}, 403},
		{"a host that is allowed", "/api/runs", map[string]string{"Authorization": key, "Host": "box.example:80"}, 200},
		{"a foreign origin", "/api/runs", map[string]string{"Authorization": key, "Origin": "http://evil.example"},
			403},
		{"no origin", "/api/runs", map[string]string{"Authorization": key, "Origin": "null"}, 403},
		{"a foreign page", "/api/runs", map[string]string{"Authorization": key, "Sec-Fetch-Site": "cross-site"}, 403},
	} {
		res := send("GET", c.path, c.header)
		if res.StatusCode != c.status {
			t.Errorf("%s: %s, want %d", c.name, res.Status, c.status)
		}
		if p := res.Header.Get("Content-Security-Policy"); !strings.HasPrefix(p, "default-src 'none'") ||
			strings.Contains(p, "unsafe") {
			t.Errorf("%s: the policy is %q", c.name, p)
		}
	}
	res := send("GET", "//evil.example/?token=secret", nil)
	if to := res.Header.Get("Location"); strings.HasPrefix(to, "//") || strings.Contains(to, "secret") {
		t.Errorf("the token leads to %q", to)
	}
	cookie := send("GET", "/?token=secret", nil).Cookies()[0]
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode {
		t.Errorf("the cookie is %v", cookie)
	}
	if res := send("GET", "/api/runs", map[string]string{"Cookie": cookie.String()}); res.StatusCode != 200 {
		t.Errorf("with the cookie: %s", res.Status)
	}
}

// A token may have characters that mean something in an address or that no cookie may have, and studios on two ports of
// a host do not take each other's cookies for theirs.
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

// A sample may have anything in it.
func TestHostile(t *testing.T) {
	root := t.TempDir()
	dir := job(t, root, "a")
	evil := "<script>alert(1)</script>\u202eشر\x00\u2028😀</pre>"
	quoted, err := json.Marshal(evil)
	if err != nil {
		t.Fatal(err)
	}
	lines := fmt.Sprintf(`{"id":"9/0/0/0/a","prompt":%s,"response":%s,"reward":1,"tokens":[-1,999999,1],`+
		`"logprobs":[1],`+
		`"stop_reason":%s,"metrics":{"<b>":1}}`+"\n", quoted, quoted, quoted)
	lines += `{"id":"9/0/1/0/a","prompt":"` + "\xff\xfe" + `","response":"` + "\xc3" + `","reward":1e999}` + "\n" +
		"not JSON\n" + `{"id":5}` + "\n" + `{"id":"9/0/2/0/a","v":99,"response":"new"}` + "\n" + `{"id":"half`
	if err := os.WriteFile(filepath.Join(dir, "rollouts", "step_000009.jsonl"), []byte(lines), 0o644); err != nil {
		t.Fatal(err)
	}
	s, server := opened(t, Options{Dirs: []string{root}})
	run := "/api/runs/" + first(t, server)
	got := get[rows](t, server, run+"/samples?step=9", 200)
	if len(got.Samples) < 3 {
		t.Fatalf("there are %d samples", len(got.Samples))
	}
	if one := get[Sample](t, server, run+"/samples/step_000009.0", 200); one.Response != evil || len(one.Tokens) != 3 {
		t.Errorf("the hostile sample is %+v", one)
	}
	get[map[string]any](t, server, run+"/samples/step_000009.4", 410)
	for _, query := range []string{"?step=9&q=%00", "?step=9&q=%FF", "?step=9&regex=.%2B", "?step=9&q=%E2%80%AE"} {
		get[rows](t, server, run+"/samples"+query, 200)
	}
	var page strings.Builder
	if err := s.Report(&page, "new"); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(page.String(), "<script") || !strings.Contains(page.String(), "&lt;script&gt;") {
		t.Error("the report has the script of a sample, or not its text")
	}
}

// What a run writes is seen, also when it writes again what it had written.
func TestLive(t *testing.T) {
	root := t.TempDir()
	dir := job(t, root, "a")
	s, server := opened(t, Options{Dirs: []string{root}})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	id := first(t, server)
	if got := get[rows](t, server, "/api/runs/"+id+"/samples?step=3", 200); len(got.Samples) != 0 {
		t.Fatal("there is a third step already")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/api/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	events := bufio.NewScanner(res.Body)
	events.Scan() // the greeting
	time.Sleep(2 * lookEvery)
	data, err := os.ReadFile(filepath.Join(dir, "rollouts", "step_000002.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "rollouts", "step_000003.jsonl"), data, 0o644); err != nil {
		t.Fatal(err)
	}
	for events.Scan() {
		var e event
		text, ok := strings.CutPrefix(events.Text(), "data: ")
		if ok && json.Unmarshal([]byte(text), &e) == nil && e.Type == "run" && e.Run == id {
			if got := get[rows](t, server, "/api/runs/"+id+"/samples?step=3", 200); len(got.Samples) == 16 {
				return
			}
		}
	}
	t.Error("the stream ended and the step was not told:", events.Err())
}

func TestTags(t *testing.T) {
	root := t.TempDir()
	dir := job(t, root, "a")
	_, server := opened(t, Options{Dirs: []string{root}})
	id := first(t, server)
	put := func(body string) int {
		req, err := http.NewRequest(http.MethodPut, server.URL+"/api/runs/"+id+"/tags", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode
	}
	if put(`{"tags":["good"," good ",""]}`) != 200 || put(`nothing`) != 400 ||
		put(`{"tags":["`+strings.Repeat("x", 101)+`"]}`) != 400 {
		t.Error("tags are not taken or refused as they should be")
	}
	if _, err := os.Stat(filepath.Join(dir, ".studio", "tags.json")); err != nil {
		t.Error(err)
	}
	_, again := opened(t, Options{Dirs: []string{root}})
	if list := get[struct{ Runs []Run }](t, again, "/api/runs", 200); len(list.Runs[0].Tags) != 1 {
		t.Errorf("the tags are %v", list.Runs[0].Tags)
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

// scripted answers with words that a test gives.
type scripted struct {
	asked Question
	err   error
}

func (s *scripted) Ask(_ context.Context, q Question, drawn func(Drawn) error) (Answer, error) {
	s.asked = q
	for _, id := range []int32{50, 43} {
		if err := drawn(Drawn{ID: id, Logprob: -1}); err != nil {
			return Answer{}, err
		}
	}
	return Answer{Text: "2+", Stop: "length"}, s.err
}

func (s *scripted) Score(_ context.Context, _ Weights, tokens []int32, _ int) ([]Scored, error) {
	return make([]Scored, len(tokens)), s.err
}

func TestAsk(t *testing.T) {
	root := t.TempDir()
	job(t, root, "a")
	asker := &scripted{}
	s, server := opened(t, Options{Dirs: []string{root}, Ask: asker})
	id := first(t, server)
	for _, e := range s.runs.all() {
		e.refresh(t.Context(), s.events)
	}
	post := func(body string) (int, string) {
		res, err := http.Post(server.URL+"/api/runs/"+id+"/ask", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		data, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(data)
	}
	status, stream := post(`{"sample":"step_000001.0","checkpoint":"base","seed":3}`)
	if status != 200 || strings.Count(stream, `data: {"token"`) != 2 || !strings.Contains(stream, `"stop":"length"`) ||
		len(asker.asked.Tokens) != 46 || *asker.asked.Seed != 3 {
		t.Errorf("the stream is %d %s of %+v", status, stream, asker.asked)
	}
	for body, want := range map[string]int{`{}`: 400, `{"prompt":"a","temperature":-1}`: 400,
		`{"prompt":"a","max_tokens":-1}`:     400,
		`{"prompt":"a","checkpoint":"none"}`: 404, `{"sample":"none"}`: 404} {
		if status, text := post(body); status != want {
			t.Errorf("%s: %d %s, want %d", body, status, text, want)
		}
	}
	asker.err = errors.New("out of memory")
	if _, stream := post(`{"messages":[{"role":"user","content":"hi"}]}`); !strings.Contains(stream, "out of memory") {
		t.Errorf("a failure is told as %s", stream)
	}
	asker.err = nil
	scores := get[struct{ Logprobs []*float64 }](t, server,
		"/api/runs/"+id+"/samples/step_000001.0/score?checkpoint=base", 200)
	if len(scores.Logprobs) < 47 || scores.Logprobs[0] != nil || scores.Logprobs[1] == nil {
		t.Errorf("the scores are %v", scores.Logprobs)
	}
}

// A run of trinity gem on a server cannot be asked here.
func TestAskGem(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{"gem_state.json": `{"steps_done":4}`, "config.json": `{"model_name":"m"}`,
		"checkpoints.jsonl": `{"name":"000002","policy_iteration_step":2,"sampler_path":"tinker://r/w/2"}` + "\n"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s, server := opened(t, Options{Dirs: []string{root}, Ask: &scripted{}})
	id := first(t, server)
	s.runs.get(id).refresh(t.Context(), s.events)
	got := get[struct {
		Checkpoints []source.Checkpoint
		Ask         bool
		Why         string
	}](t, server, "/api/runs/"+id+"/checkpoints", 200)
	if got.Ask || len(got.Checkpoints) > 0 || !strings.Contains(got.Why, "no checkpoint") {
		t.Errorf("it may be asked: %+v", got)
	}
}

// Every route is described and every description is of a route.
func TestOpenAPI(t *testing.T) {
	s, server := opened(t, Options{Dirs: []string{t.TempDir()}})
	api := get[struct {
		Paths map[string]map[string]any
	}](t, server, "/api/openapi.json", 200)
	n := 0
	for path, methods := range api.Paths {
		for method := range methods {
			n++
			probe := strings.NewReplacer("{", "", "}", "").Replace(path)
			r := httptest.NewRequest(strings.ToUpper(method), probe, nil)
			if _, pattern := s.mux.Handler(r); pattern != strings.ToUpper(method)+" "+path {
				t.Errorf("%s %s is described and served as %q", method, path, pattern)
			}
		}
	}
	if n != len(descriptions()) || n != s.served {
		t.Errorf("%d routes are described, %d served", n, s.served)
	}
}

func FuzzAPI(f *testing.F) {
	root := f.TempDir()
	job(f, root, "a")
	s := New(Options{Dirs: []string{root}})
	if err := s.Look(context.Background()); err != nil {
		f.Fatal(err)
	}
	id := s.runs.all()[0].id
	f.Add("samples", "step=1&q=a&sort=-reward&cursor=MTpzdGVw")
	f.Add("histogram", "bins=3&set=*")
	f.Add("samples/step_000001.0", "from=5&count=-1")
	f.Add("groups/1/0", "set=held-out")
	f.Add("metrics", "name=critic/rewards/mean&points=0&from=-1")
	f.Fuzz(func(t *testing.T, path, query string) {
		u := url.URL{Scheme: "http", Host: "localhost", Path: "/api/runs/" + id + "/" + path, RawQuery: query}
		r := &http.Request{Method: http.MethodGet, URL: &u, Host: "localhost", Header: http.Header{}, Body: http.NoBody}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r.WithContext(t.Context()))
		if w.Code >= 500 {
			t.Fatalf("%s?%s: %d %s", path, query, w.Code, w.Body)
		}
	})
}
