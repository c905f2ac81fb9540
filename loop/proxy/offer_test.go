package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// gate samples when it is told to, or not at all.
type gate struct {
	foreign
	asked, open chan struct{}
}

func (g *gate) Sample(ctx context.Context, req tinker.SampleRequest) (*tinker.Future[tinker.SampleResponse], error) {
	close(g.asked)
	select {
	case <-g.open:
		return g.foreign.Sample(ctx, req)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// offering is a server of offered rollouts.
func offering(t *testing.T, work bool) (*Offers, string) {
	t.Helper()
	o := NewOffers(OfferOptions{Name: "tiny", Text: linewise(t), Now: time.Now, Work: work})
	s := httptest.NewServer(o.Handler())
	t.Cleanup(s.Close)
	return o, s.URL
}

// A workflow's rollout is handed out once, with its row, samples with its own weights, and ends with its reward.
func TestOfferedRollouts(t *testing.T) {
	o, url := offering(t, true)
	if status, _, body := requested(t, "POST", url+"/rollouts/next", "", ""); status != 204 || body != "" {
		t.Errorf("nothing to do: %d %s", status, body)
	}
	var wait sync.WaitGroup
	defer wait.Wait()
	sampler := &foreign{text: "abab"}
	params := tinker.DefaultSampling()
	params.MaxTokens = 9
	opening := workflow.Opening{Name: "3-0-1", Row: dataset.Row{{Key: "question", Value: "2+2?"}}, Eval: true,
		Sampler: sampler, Version: 5, Params: params, Context: 200, Seed: 11}
	one, err := o.Open(opening)
	if err != nil {
		t.Fatal(err)
	}
	wait.Go(func() {
		defer one.Close()
		e, err := one.Wait(t.Context())
		if err != nil || e.RewardOr(0) != 0.5 || e.Info.ModelVersion != 5 || e.TrainableTokens() != 4 {
			t.Errorf("%+v, %v", e, err)
		}
	})
	var got struct {
		ID   string          `json:"rollout_id"`
		Base string          `json:"base_url"`
		Task json.RawMessage `json:"task"`
		Eval bool            `json:"is_eval"`
	}
	_, _, body := requested(t, "POST", url+"/rollouts/next", "", `{"wait":30}`)
	err = json.Unmarshal([]byte(body), &got)
	if err != nil || string(got.Task) != `{"question":"2+2?"}` || !got.Eval ||
		got.Base != url+"/rollouts/"+got.ID+"/v1" || !strings.HasPrefix(got.ID, "3-0-1-") {
		t.Fatalf("%v %s", err, body)
	}
	if status, _, _ := requested(t, "POST", url+"/rollouts/next", "", ""); status != 204 {
		t.Errorf("it is handed out twice: %d", status)
	}
	for _, c := range []struct {
		path, session, body string
		status              int
		want                string
	}{
		{"/rollouts/" + got.ID + "/feedback", "", `{"reward":1}`, 409, "no call yet"},
		{"/v1/chat/completions", "", question, 404, "base_url"},
		{"/v1/chat/completions", "other", question, 404, "rollout_workflow opens"},
		{"/rollouts/other/v1/chat/completions", "", question, 404, "POST /rollouts/next"},
		{"/sessions", "", `{"session_id":"mine"}`, 404, "POST /rollouts/next"},
		{"/rollouts/" + got.ID + "/v1/chat/completions", "", question, 200, "abab"},
		{"/proxy/rollout/" + got.ID + "/attempt/0/mode/val/openai/v1/chat/completions", "",
			`{"n":2,` + question[1:], 400, `"param":"n"`},
		{"/rollouts/" + got.ID + "/feedback", "", `{"reward":0.5}`, 200, "success"},
		{"/rollouts/" + got.ID + "/feedback", "", `{"reward":0.5}`, 409, "rollout_finished"},
		{"/v1/chat/completions", got.ID, question, 409, "rollout_finished"},
	} {
		if status, _, body := requested(t, "POST", url+c.path, c.session, c.body); status != c.status ||
			!strings.Contains(body, c.want) {
			t.Errorf("%s %s: %d %s, want %d %s", c.path, c.body, status, body, c.status, c.want)
		}
	}
	_, other := offering(t, false)
	if status, _, body := requested(t, "POST", other+"/rollouts/x/v1/chat/completions", "", question); status != 404 ||
		!strings.Contains(body, "default_workflow_type: rollout_workflow") {
		t.Errorf("%d %s", status, body)
	}
}

// A program that asks for work before there is any waits for it, and hears of it at once.
func TestOfferedRolloutIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := NewOffers(OfferOptions{Name: "tiny", Text: linewise(t), Now: time.Now, Work: true})
		heard, handler := httptest.NewRecorder(), o.Handler()
		begin, answered := time.Now(), make(chan struct{})
		go func() {
			handler.ServeHTTP(heard, httptest.NewRequest("POST", "/rollouts/next", strings.NewReader(`{"wait":30}`)))
			close(answered)
		}()
		time.Sleep(10 * time.Second)
		one, err := o.Open(workflow.Opening{Name: "n", Params: tinker.DefaultSampling()})
		if err != nil {
			t.Fatal(err)
		}
		defer one.Close()
		<-answered
		if d := time.Since(begin); heard.Code != http.StatusOK || d != 10*time.Second {
			t.Errorf("after %v: %d %s", d, heard.Code, heard.Body)
		}
	})
}

// A rollout that is given up or has no reward in time fails its attempt, and its calls end.
func TestOfferedRolloutsEnd(t *testing.T) {
	o, url := offering(t, true)
	g := &gate{foreign{text: "ab"}, make(chan struct{}), make(chan struct{})}
	open := func() (workflow.Offered, string) {
		one, err := o.Open(workflow.Opening{Name: "n", Sampler: g, Params: tinker.DefaultSampling()})
		if err != nil {
			t.Fatal(err)
		}
		return one, one.(*offer).id
	}
	one, id := open()
	status := make(chan int)
	go func() {
		resp, err := http.Post(url+"/rollouts/"+id+"/v1/chat/completions", "application/json",
			strings.NewReader(question))
		if err != nil {
			status <- 0
			return
		}
		resp.Body.Close()
		status <- resp.StatusCode
	}()
	late := errors.New("late")
	<-g.asked
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(late)
	if _, err := one.Wait(ctx); !errors.Is(err, late) {
		t.Errorf("Wait: %v", err)
	}
	one.Close()
	if got := <-status; got != http.StatusNotFound {
		t.Errorf("the call under way ended with %d", got)
	}
	if status, _, body := requested(t, "POST", url+"/rollouts/"+id+"/feedback", "", `{"reward":1}`); status != 404 ||
		!strings.Contains(body, "not open any more") {
		t.Errorf("%d %s", status, body)
	}
	two, id := open()
	if status, _, body := requested(t, "DELETE", url+"/sessions/"+id, "", ""); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	if _, err := two.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "gave it up") {
		t.Errorf("Wait: %v", err)
	}
	two.Close()
	if n := len(o.handler.calls.open) + len(o.handler.calls.waiting) + o.handler.calls.bytes; n != 0 {
		t.Errorf("%d rollouts and bytes are left", n)
	}
}

// FuzzRolloutBodies: no body or path makes a fault of the server or an answer that is not JSON.
func FuzzRolloutBodies(f *testing.F) {
	o := NewOffers(OfferOptions{Name: "tiny", Text: linewise(f), Now: time.Now, Work: true})
	one, err := o.Open(workflow.Opening{Name: "n", Sampler: &foreign{text: "ab"}, Params: tinker.DefaultSampling()})
	if err != nil {
		f.Fatal(err)
	}
	id := one.(*offer).id
	for _, c := range [][2]string{{"/rollouts/next", `{"wait":0}`}, {"/rollouts/ID/feedback", `{"reward":"x"}`},
		{"/api/rollouts/ID/attempt/1/events", `{"event_type":"reward","data":{"value":null}}`}, {"/sessions", `{}`},
		{"/rollouts/ID/v1/chat/completions", question}, {"/traces/query", `{"session_ids":[""]}`},
		{"/proxy/rollout/a/attempt//mode//openai/v1/completions", `{"prompt":[1,2]}`}, {"/sessions//v1/v1/", `[]`}} {
		f.Add(c[0], c[1])
	}
	h := o.Handler()
	f.Fuzz(func(t *testing.T, path, body string) {
		if !strings.HasPrefix(path, "/") || strings.ContainsAny(path, "?#%") || strings.Contains(body, "wait") &&
			!strings.Contains(body, `{"wait":0}`) {
			t.Skip()
		}
		r, err := http.NewRequest("POST", "http://host/", strings.NewReader(body))
		if err != nil {
			t.Skip()
		}
		r.URL.Path = strings.ReplaceAll(path, "ID", id)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code >= 500 || w.Code == 200 && !json.Valid(w.Body.Bytes()) &&
			!strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream") {
			t.Fatalf("%s: %d %s", path, w.Code, w.Body)
		}
	})
}
