package game

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/rng/python"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
)

// The variants of the WikiGame: what a player may do besides following a link.
const (
	noRegrets = iota // nothing
	oneBack          // go back to the page before, not twice in a row
	freeNav          // go back, any number of times
	eidetic          // go to any page that was linked to in this episode
)

// The rewards of the WikiGame. Unlike in the other games an answer without a move does not end the episode.
const (
	wikiStep    = -0.05
	wikiInvalid = -0.2
)

// back is the answer that goes back.
const back = "<PREV_PAGE>"

// wikiGame: follow links from one page of an encyclopedia to another. Pages come from a dump, never from the network.
type wikiGame struct {
	p       env.Params
	wiki    *wiki
	turn    int
	playing bool
	goal    string
	trail   []string // pages from the start to the present one
	bounced bool     // the last move went back
	seen    []string // for eidetic: links seen in this episode
}

func newWikiGame(w *wiki) func(env.Params) (env.Env, error) {
	return func(p env.Params) (env.Env, error) {
		if w == nil {
			return nil, fmt.Errorf("there is no dump of an encyclopedia; put %s into the data folder, a line for "+
				"each page: %s",
				wikiFile, `{"title": "…", "text": "…", "links": ["…"]}`)
		}
		if p["max_turns"] == env.Drawn {
			return nil, errors.New("max_turns must be given")
		}
		return &wikiGame{p: p, wiki: w}, check(p, turns, limits{"variant", noRegrets, eidetic, false},
			limits{"page_summary_length", 1, 1 << 20, false})
	}
}

// Reset begins an episode.
func (g *wikiGame) Reset(seed uint64) (env.Observation, error) {
	start, goal := g.wiki.draw(python.New(seed))
	g.turn, g.playing, g.goal, g.bounced = 0, true, goal, false
	g.trail, g.seen = []string{start}, nil
	g.look()
	extra := [...]string{
		"You cannot go back.",
		`You may go back to the page before with \boxed{` + back + `}, but not twice in a row.`,
		`You may go back to the page before with \boxed{` + back + `}.`,
		"You may go to any page that was a neighboring page in this game.",
	}[g.p["variant"]]
	return env.Observation{Suffix: g.suffix(), Text: fmt.Sprintf(`You are playing the Wikipedia Game: get from one `+
		`page to another by following links.
A page's neighboring pages are those that it links to. Reach the target page within %d turns.
Put the EXACT title of a neighboring page inside \boxed{}, for example \boxed{Python_(programming_language)}.
%s
You started at '%s' and your target page is '%s'.
Here is a summary of the target page:
%s...
You see at most %d pages: think about which neighboring pages lead nearer to the target, say why, then answer.
Enter your first guess to start the game.
`, g.p["max_turns"], extra, start, goal, g.summary(goal), g.p["max_turns"])}, nil
}

// Step plays an action.
func (g *wikiGame) Step(action string) (env.Transition, error) {
	if !g.playing {
		return env.Transition{}, env.ErrOver
	}
	g.turn++
	var t env.Transition
	title := lastBoxed(action)
	if title == "" {
		t.Text, t.Reward = fmt.Sprintf("At turn %d, you did not provide a valid page title.", g.turn), wikiInvalid
	} else {
		t = g.play(title)
	}
	if g.turn >= g.p["max_turns"] && !t.Terminated {
		if t.Truncated = true; title != "" {
			t.Reward, t.Terminated = 0, true
			t.Text = fmt.Sprintf("At turn %d, you have reached the maximum number of turns without reaching the "+
				"target page '%s'.", g.turn, g.goal)
		}
	}
	g.playing = !t.Done()
	t.Suffix = g.suffix()
	return t, nil
}

// play answers a title.
func (g *wikiGame) play(title string) (t env.Transition) {
	if title == back {
		return g.goBack()
	}
	if links := g.links(); !slices.Contains(links, title) {
		t.Text, t.Reward = g.miss(title, links), wikiInvalid
		return t
	}
	g.trail, g.bounced = append(g.trail, title), false
	if title == g.goal {
		t.Text = fmt.Sprintf("Congratulations! You have reached the target page '%s' in %d turns.", title, g.turn)
		t.Reward, t.Terminated = 1, true
		return t
	}
	g.look()
	if len(g.links()) == 0 {
		return g.deadEnd(title)
	}
	t.Text, t.Reward = g.arrival("navigated"), wikiStep
	return t
}

// miss answers a title that is not a link.
func (g *wikiGame) miss(title string, links []string) string {
	hint := "and nothing like it is one. "
	for _, l := range links {
		if strings.Contains(strings.ToLower(l), strings.ToLower(title)) {
			hint = "Did you mean '" + l + "'? "
			break
		}
	}
	return fmt.Sprintf("At turn %d, you guessed '%s', which is not a neighboring page of '%s', %sYou must match "+
		"**exactly** one of the neighboring page titles to navigate there.", g.turn, title, g.here(), hint)
}

func (g *wikiGame) arrival(how string) string {
	return fmt.Sprintf("At turn %d, you %s to the '%s' page. Here is a summary of the page:\n%s...\n", g.turn, how,
		g.here(), g.summary(g.here()))
}

// goBack answers the wish to go back.
func (g *wikiGame) goBack() (t env.Transition) {
	variant := g.p["variant"]
	if len(g.trail) < 2 || variant == noRegrets || variant == eidetic || variant == oneBack && g.bounced {
		t.Text = fmt.Sprintf("At turn %d, you tried to go back, which is not allowed here.", g.turn)
		t.Reward = wikiInvalid
		return t
	}
	g.trail, g.bounced = g.trail[:len(g.trail)-1], true
	t.Text, t.Reward = g.arrival("went back"), wikiStep
	return t
}

// deadEnd answers the arrival at a page without links: the end, or a turn more to come back.
func (g *wikiGame) deadEnd(title string) (t env.Transition) {
	if g.p["variant"] == noRegrets || g.p["variant"] == eidetic {
		t.Text = fmt.Sprintf("At turn %d, you navigated to the '%s' page, which has no neighboring pages. The game "+
			"is over.", g.turn, title)
		t.Terminated = true
		return t
	}
	g.turn++
	g.trail, g.bounced = g.trail[:len(g.trail)-1], true
	t.Text = fmt.Sprintf("The '%s' page has no neighboring pages. ", title) + g.arrival("went back")
	t.Reward = 2 * wikiStep
	return t
}

// here is the title of the present page.
func (g *wikiGame) here() string { return g.trail[len(g.trail)-1] }

func (g *wikiGame) summary(title string) string {
	return g.wiki.page(title).summary(g.p["page_summary_length"])
}

// look remembers the links of the present page.
func (g *wikiGame) look() {
	if g.p["variant"] != eidetic {
		return
	}
	for _, l := range g.wiki.page(g.here()).links {
		if !slices.Contains(g.seen, l) {
			g.seen = append(g.seen, l)
		}
	}
}

// links are the pages that may be gone to.
func (g *wikiGame) links() []string {
	if g.p["variant"] == eidetic {
		return g.seen
	}
	return g.wiki.page(g.here()).links
}

func (g *wikiGame) suffix() string {
	var b strings.Builder
	fmt.Fprintf(&b, "You are currently on the '%s' page. Your target page is '%s'.\nHere is a summary of the "+
		"page:\n%s...\nThis page has the following neighboring pages: \n", g.here(), g.goal, g.summary(g.here()))
	for _, l := range g.links() {
		b.WriteString("- " + boxedText(l) + "\n")
	}
	b.WriteString("Enter the title of the neighboring page you want to navigate to.")
	return b.String()
}

// Fork copies the game.
func (g *wikiGame) Fork() env.Env {
	c := *g
	c.trail, c.seen = slices.Clone(g.trail), slices.Clone(g.seen)
	return &c
}

// SampleAction draws a neighboring page.
func (g *wikiGame) SampleAction(s env.Draws) string {
	links := g.links()
	return boxedText(links[s.IntN(len(links))])
}

// lastBoxed is the content of the last \boxed{} of a text, braces inside it matched; "" if it is not closed.
func lastBoxed(text string) string {
	const open = `\boxed{`
	at := strings.LastIndex(text, `\boxed`)
	if at < 0 || !strings.HasPrefix(text[at:], open) {
		return ""
	}
	inside := text[at+len(open):]
	depth := 1
	for i, c := range []byte(inside) {
		switch c {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return inside[:i]
			}
		}
	}
	return ""
}
