package game

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// Data holds the words, clues and pages that games draw from. It does not change.
type Data struct {
	basic, english *lexicon
	clues          []clue
	wiki           *wiki // nil if there is none
}

// Basic returns the words of the basic list that have so many letters, all of them lower-case. Hangman and Wordle draw
// from these.
func (d *Data) Basic(letters int) []string { return slices.Clone(d.basic.ofLength(letters)) }

// lexicon is a list of words and, by length, those that have only lower-case letters.
type lexicon struct {
	all      []string
	byLength map[int][]string
}

// clue is a word of a crossword with its description.
type clue struct {
	word, text string
	hard       bool
}

//go:embed words
var shipped embed.FS

// Shipped returns the lists that the program carries. They are the project's own: a basic list, a list with long and
// rare words, and clues. Upstream uses the word lists of NLTK's corpus words; with them (see Load) the episodes are
// upstream's.
func Shipped() (*Data, error) {
	return read(shipped, nil, "words/basic.txt", "words/english.txt", "words/clues.jsonl")
}

// sums are the SHA-256 of NLTK's lists.
var sums = map[string]string{
	"en-basic": "b00de5c6438714a6abaa906ec85f063f63c0606f713cbe8728b21c42664e5fce",
	"en":       "69d1a74371b98676d3312727115b13fefaf57d561561b6ee347d13b1eea0d0c9",
}

// Load reads upstream's lists from a folder: en-basic and en of NLTK's corpus words, GEM's words_clues.jsonl, and for
// the WikiGame wiki.jsonl, a line for each page of an encyclopedia: {"title": "…", "text": "…", "links": ["…"]}. Lists
// that are not there are replaced by the shipped ones; a word list that is not upstream's is refused, since the
// episodes would be neither upstream's nor ours.
func Load(folder fs.FS) (*Data, error) {
	d, err := read(folder, sums, "en-basic", "en", "words_clues.jsonl")
	if err != nil {
		return nil, err
	}
	if d.wiki, err = readWiki(folder); err != nil {
		return nil, err
	}
	own, err := Shipped()
	if err != nil {
		return nil, err
	}
	return d.or(own), nil
}

func read(folder fs.FS, sums map[string]string, basic, english, clues string) (*Data, error) {
	d := &Data{}
	for _, l := range []struct {
		name string
		to   **lexicon
	}{{basic, &d.basic}, {english, &d.english}} {
		text, err := fs.ReadFile(folder, l.name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("game: %w", err)
		}
		if sum := sha256.Sum256(text); sums[l.name] != "" && hex.EncodeToString(sum[:]) != sums[l.name] {
			return nil, fmt.Errorf("game: the word list %s has the SHA-256 %x, NLTK's has %s; use the one of NLTK's "+
				"corpus words, or none", l.name, sum, sums[l.name])
		}
		*l.to = newLexicon(strings.Fields(string(text)))
	}
	text, err := fs.ReadFile(folder, clues)
	if err == nil {
		d.clues, err = readClues(text)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("game: %s: %w", clues, err)
	}
	return d, nil
}

// or fills up what d lacks from another.
func (d *Data) or(other *Data) *Data {
	c := *d
	c.basic = cmp.Or(c.basic, other.basic)
	c.english = cmp.Or(c.english, other.english)
	if c.clues == nil {
		c.clues = other.clues
	}
	return &c
}

func newLexicon(words []string) *lexicon {
	l := &lexicon{all: words, byLength: map[int][]string{}}
	for _, w := range words {
		if strings.Trim(w, "abcdefghijklmnopqrstuvwxyz") == "" {
			l.byLength[len(w)] = append(l.byLength[len(w)], w)
		}
	}
	return l
}

// ofLength returns the words of so many letters.
func (l *lexicon) ofLength(n int) []string { return l.byLength[n] }

// check says whether there are words of a length, or of each of drawn if the length is drawn.
func (l *lexicon) check(length int, drawn ...int) error {
	if length > 0 {
		drawn = []int{length}
	}
	for _, n := range drawn {
		if len(l.byLength[n]) == 0 {
			return fmt.Errorf("the word list has no word of %d letters", n)
		}
	}
	return nil
}

// readClues reads lines such as {"word": "dog", "hardcore": false, "clues": {"1": "It barks"}}.
func readClues(text []byte) ([]clue, error) {
	var all []clue
	for i, line := range bytes.Split(text, []byte("\n")) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var row struct {
			Word     string
			Hardcore bool
			Clues    map[string]string
		}
		if err := json.Unmarshal(line, &row); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		if row.Word == "" || strings.ContainsFunc(row.Word,
			func(r rune) bool { return r > 'z' || !isLetter(byte(r)) }) {
			return nil, fmt.Errorf("line %d: the word %q is not made of the letters a to z", i+1, row.Word)
		}
		all = append(all, clue{row.Word, row.Clues["1"], row.Hardcore})
	}
	return all, nil
}
