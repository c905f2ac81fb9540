package game

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/rng/python"
)

// wiki is a dump of an encyclopedia: pages and the links between them. It does not change.
type wiki struct {
	pages  []wikiPage
	index  map[string]int // by title
	starts []int          // pages that an episode may begin or end with
}

// wikiPage is a page with the titles of those pages of the dump that it links to.
type wikiPage struct {
	title, text string
	links       []string
}

// wikiFile is the dump in the folder of Load: one page a line, {"title": "…", "text": "…", "links": ["…"]}.
const wikiFile = "wiki.jsonl"

// readWiki reads a dump, nil if there is none.
func readWiki(folder fs.FS) (*wiki, error) {
	f, err := folder.Open(wikiFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("game: %w", err)
	}
	defer f.Close()
	w := &wiki{index: map[string]int{}}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	for n := 1; lines.Scan(); n++ {
		var row struct {
			Title, Text string
			Links       []string
		}
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			return nil, fmt.Errorf("game: %s: line %d: %w", wikiFile, n, err)
		}
		if _, twice := w.index[row.Title]; twice || row.Title == "" {
			return nil, fmt.Errorf("game: %s: line %d: the title %q is empty or was there before", wikiFile, n,
				row.Title)
		}
		w.index[row.Title] = len(w.pages)
		w.pages = append(w.pages, wikiPage{row.Title, row.Text, row.Links})
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("game: %s: %w", wikiFile, err)
	}
	return w, w.connect()
}

// connect drops the links that lead nowhere and finds the pages that episodes begin and end with.
func (w *wiki) connect() error {
	for i := range w.pages {
		p := &w.pages[i]
		kept := p.links[:0]
		seen := map[string]bool{p.title: true}
		for _, l := range p.links {
			if _, ok := w.index[l]; ok && !seen[l] {
				seen[l] = true
				kept = append(kept, l)
			}
		}
		p.links = kept
		if len(kept) > 0 && !strings.Contains(p.title, "disambiguation") {
			w.starts = append(w.starts, i)
		}
	}
	if len(w.starts) < 2 {
		return fmt.Errorf("game: %s has %d pages with links to others; an episode needs two", wikiFile, len(w.starts))
	}
	return nil
}

// page returns a page that is known to be there.
func (w *wiki) page(title string) *wikiPage { return &w.pages[w.index[title]] }

// draw draws two different pages.
func (w *wiki) draw(r *python.Random) (start, goal string) {
	two := r.Sample(len(w.starts), 2)
	return w.pages[w.starts[two[0]]].title, w.pages[w.starts[two[1]]].title
}

// summary is the beginning of a page's text.
func (p *wikiPage) summary(characters int) string {
	for i := range p.text {
		if characters == 0 {
			return p.text[:i]
		}
		characters--
	}
	return p.text
}
