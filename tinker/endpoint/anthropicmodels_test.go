package endpoint

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/param"
)

// shelves has that many models.
type shelves struct {
	Models
	n int
}

func (s shelves) List(context.Context, string) (list []Card, err error) {
	for i := range s.n {
		list = append(list, Card{ID: fmt.Sprintf("m%d", i), Created: time.Unix(1e9, 0)})
	}
	return list, nil
}

// Pages of models follow each other in both directions, as Anthropic's clients walk them.
func TestAnthropicModels(t *testing.T) {
	for _, c := range []struct {
		n    int
		q    string
		want string // the ids of the page, and + if there is more
	}{
		{0, "", ""}, {2, "", "m0 m1"},
		{21, "", "m0 m1 m2 m3 m4 m5 m6 m7 m8 m9 m10 m11 m12 m13 m14 m15 m16 m17 m18 m19+"},
		{5, "limit=2", "m0 m1+"}, {5, "limit=2&after_id=m1", "m2 m3+"}, {5, "limit=2&after_id=m3", "m4"},
		{5, "limit=2&after_id=m2", "m3 m4"}, {5, "after_id=m4", ""}, {5, "limit=2&before_id=m3", "m1 m2+"},
		{5, "limit=3&before_id=m3", "m0 m1 m2"}, {5, "before_id=m0", ""}, {5, "limit=1000", "m0 m1 m2 m3 m4"},
	} {
		q, _ := url.ParseQuery(c.q)
		w := httptest.NewRecorder()
		if err := New(shelves{n: c.n}, time.Now).ListAnthropic(t.Context(), w, "me", q); err != nil {
			t.Fatal(err)
		}
		var page struct {
			Data []struct {
				Type, ID, Name string
				Display        string    `json:"display_name"`
				Created        time.Time `json:"created_at"`
			}
			More  bool    `json:"has_more"`
			First *string `json:"first_id"`
			Last  *string `json:"last_id"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil {
			t.Fatalf("%v: %s", err, w.Body)
		}
		var ids []string
		for _, m := range page.Data {
			ids = append(ids, m.ID)
			if m.Type != "model" || m.Display != m.ID || m.Created.Unix() != 1e9 {
				t.Errorf("%s: %+v", c.q, m)
			}
		}
		got := strings.Join(ids, " ")
		if page.More {
			got += "+"
		}
		if got != c.want || (page.First != nil) != (len(ids) > 0) ||
			len(ids) > 0 && (*page.First != ids[0] || *page.Last != ids[len(ids)-1]) {
			t.Errorf("%d models, %q: %s, want %q", c.n, c.q, w.Body, c.want)
		}
	}
	for _, q := range []string{"limit=0", "limit=1001", "limit=x", "after_id=absent", "before_id=absent",
		"after_id=m0&before_id=m1"} {
		v, _ := url.ParseQuery(q)
		err := New(shelves{n: 2}, time.Now).ListAnthropic(t.Context(), httptest.NewRecorder(), "me", v)
		if err == nil || param.ErrorOf(err).Status != 400 {
			t.Errorf("%s: %v", q, err)
		}
	}
}
