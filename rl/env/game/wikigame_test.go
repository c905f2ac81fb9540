package game

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/seed-d9ad8ee0/trinity/rl/env"
)

// TestWikiGame plays from River to Food in the small dump of testdata. After each answer stands the reward, and the
// letters t and u where the episode is terminated or truncated.
func TestWikiGame(t *testing.T) {
	type turn struct {
		say    string
		reward float64
		flags  string
		text   string // a part of the observation
	}
	tests := []struct {
		name    string
		variant int
		limit   int
		turns   []turn
	}{
		{"the way", noRegrets, 30, []turn{{"Bridge", -.05, "", "At turn 1, you navigated to the 'Bridge' page."},
			{"Road", -.05, "", "'Road'"},
			{"Food", 1, "t", "Congratulations! You have reached the target page 'Food' in 3 turns."}}},
		{"no link", noRegrets, 30, []turn{{"Salt", -.2, "", "At turn 1, you guessed 'Salt'"},
			{"rid", -.2, "", "Did you mean 'Bridge'?"}, {"Bridge", -.05, "", ""}}},
		{"no title", noRegrets, 2, []turn{{"", -.2, "", "At turn 1, you did not provide a valid page title."},
			{"", -.2, "u", ""}}},
		{"the last turn", noRegrets, 2, []turn{{"Sea", -.05, "", ""}, {"Ship", 0, "tu", "At turn 2, you have reached " +
			"the maximum number of turns without reaching the target page 'Food'."}}},
		{"a dead end ends", noRegrets, 30, []turn{{"Water", -.05, "", ""}, {"Ice", 0, "t", "no neighboring pages"}}},
		{"no way back", noRegrets, 30, []turn{{"Sea", -.05, "", ""}, {back, -.2, "", "not allowed"}}},
		{"one way back", oneBack, 30, []turn{{back, -.2, "", ""}, {"Sea", -.05, "", ""}, {"Ship", -.05, "", ""},
			{back, -.05, "", "'Sea'"}, {back, -.2, "", ""}}},
		{"a dead end bounces", oneBack, 30,
			[]turn{{"Water", -.05, "", ""}, {"Ice", -.1, "", "At turn 3, you went back to the 'Water' page."},
				{back, -.2, "", ""}}},
		{"and may be left", freeNav, 30, []turn{{"Water", -.05, "", ""}, {"Ice", -.1, "", ""},
			{back, -.05, "", "At turn 4, you went back to the 'River' page."}, {back, -.2, "", ""}}},
		{"any page seen", eidetic, 30, []turn{{"Sea", -.05, "", ""}, {"Bridge", -.05, "", ""}, {"Ship", -.05, "", ""},
			{"Food", -.2, "", ""}}},
	}
	registry := newRegistry(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, err := registry.Make("game:WikiGame-v0-easy", env.Params{"variant": tt.variant, "max_turns": tt.limit})
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // nothing is left of the first episode
				if _, err := e.Reset(0); err != nil {
					t.Fatal(err)
				}
				g := e.(*wikiGame)
				g.trail, g.goal, g.seen = []string{"River"}, "Food", nil
				g.look()
				for i, want := range tt.turns {
					got, err := e.Step("Let me see: " + boxedText(want.say))
					if err != nil {
						t.Fatal(err)
					}
					if got.Reward != want.reward || flags(got) != want.flags || !strings.Contains(got.Text, want.text) {
						t.Errorf("turn %d, %q: got %v %q %q, want %v %q and %q in it", i+1, want.say, got.Reward,
							flags(got), got.Text, want.reward, want.flags, want.text)
					}
				}
			}
		})
	}
}

func flags(t env.Transition) (s string) {
	if t.Terminated {
		s += "t"
	}
	if t.Truncated {
		s += "u"
	}
	return s
}

func TestWikiSuffix(t *testing.T) {
	e, err := newRegistry(t).Make("game:WikiGame-v0-easy", env.Params{"page_summary_length": 7})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Reset(0); err != nil {
		t.Fatal(err)
	}
	g := e.(*wikiGame)
	g.trail, g.goal = []string{"Ship"}, "Food"
	want := `You are currently on the 'Ship' page. Your target page is 'Food'.
Here is a summary of the page:
A ship ...
This page has the following neighboring pages: 
- \boxed{Sea}
- \boxed{Bridge}
Enter the title of the neighboring page you want to navigate to.`
	if got := g.suffix(); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

func TestLoadRefuses(t *testing.T) {
	page := func(title, links string) string {
		return `{"title": "` + title + `", "text": "x", "links": [` + links + `]}` + "\n"
	}
	tests := []struct{ name, file, text, want string }{
		{"another word list", "en-basic", "a\nb\n", "NLTK's has b00de5c6"},
		{"a clue list that is none", "words_clues.jsonl", "{\"word\": \"a b\"}\n", `line 1: the word "a b"`},
		{"a dump with a page twice", "wiki.jsonl", page("A", `"A"`) + page("A", ""), `line 2: the title "A"`},
		{"a dump without links", "wiki.jsonl", page("A", `"B"`) + page("C", `"C"`), "has 0 pages with links"},
		{"a dump that is none", "wiki.jsonl", "A\n", "line 1: invalid character"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Load(fstest.MapFS{tt.file: {Data: []byte(tt.text)}})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the error is %v, want %q in it", err, tt.want)
			}
		})
	}
	d, err := Load(fstest.MapFS{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := env.NewRegistry(Table(d))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Make("game:WikiGame-v0-hard", nil); err == nil ||
		!strings.Contains(err.Error(), "put wiki.jsonl into the data folder") {
		t.Errorf("without a dump the error is %v", err)
	}
}

func TestLastBoxed(t *testing.T) {
	for text, want := range map[string]string{
		`\boxed{a{b}c}`: "a{b}c", `\boxed{1} \boxed{2}`: "2", `\boxed {7}`: "", `\boxed{1} \boxed{2`: "",
		`\fbox{3}`: "", `\boxed{}`: "", "none": "",
	} {
		if got := lastBoxed(text); got != want {
			t.Errorf("lastBoxed(%q) = %q, want %q", text, got, want)
		}
	}
}
