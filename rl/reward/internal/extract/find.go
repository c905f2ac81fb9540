package extract

// The ranks at which answers are looked for, most telling first; boxes take the rank the reading gives them.
const (
	hopedFor  = 0   // "final answer is … I hope"
	announced = 50  // "final answer … is …"
	colon     = 100 // "answer: …"
	mentioned = 200 // "answer … …"
	anywhere  = 300
)

// found is one match: what was read, where.
type found struct {
	start, end int
	latex      bool
	groups     []group
}

// group is a part of a match by name; one without name is none.
type group struct {
	name       string
	start, end int
}

// finder is a way to look for answers, with its rank. It hands its matches, from left to right and apart from each
// other, to keep; their groups last until keep returns.
//
// The finders are math_verify's regular expressions written out, and agree with them match for match (TestFinders holds
// them together): an environment ends at its closing mark, wherever it begins, so that nothing is tried twice.
type finder struct {
	priority int
	latex    bool
	boxed    bool
	find     func(t *scanned, keep func(found))
}

// then tells whether what must follow a match is there, and where the match ends with it.
type then func(t *scanned, i int) (end int, ok bool)

func accept(_ *scanned, i int) (int, bool) { return i, true }

// hope is `\.?\s?I hope`.
func hope(t *scanned, i int) (int, bool) {
	if t.at(i) == '.' {
		i++
	}
	if t.space(i) {
		i++
	}
	return i + len("I hope"), t.follows(i, "I hope")
}

// noEquals is `(?!\s*=)`.
func noEquals(t *scanned, i int) (int, bool) { return i, t.at(t.skipSpaces(i)) != '=' }

// answerAt reads what a pattern looks for at a place.
type answerAt func(t *scanned, i int, f *found) bool

// afterEach looks behind each of the places for an answer, as try says, which sets the end of the match.
func afterEach(t *scanned, where places, keep func(found), try func(start int, f *found) bool) {
	end := 0
	var f found
	for _, at := range where.all {
		if int(at) < end {
			continue
		}
		f.start, f.groups = int(at), f.groups[:0]
		if try(f.start, &f) {
			end = f.end
			keep(f)
		}
	}
}

// hoped is `(?i:final answer is):?\s*…`.
func (t *scanned) hoped(keep func(found), read answerAt) {
	afterEach(t, t.finals, keep, func(start int, f *found) bool {
		if !t.folds(start+12, " is") {
			return false
		}
		return t.afterIs(start+15, f, read)
	})
}

// afterIs is `:?\s*…`. A reading that begins with a space gives the last one back.
func (t *scanned) afterIs(i int, f *found, read answerAt) bool {
	if t.at(i) == ':' {
		i++
	}
	q := t.skipSpaces(i)
	return read(t, q, f) || q > i && read(t, q-1, f)
}

// announced is `(?i:final answer.{0,100}?)\s+is…`; the point matches newlines too if across is set. The text
// after "is" is the same for all announcements before it, so it is read once.
func (t *scanned) announced(keep func(found), across bool, read answerAt) {
	unread := make([]bool, len(t.is.all))
	afterEach(t, t.finals, keep, func(start int, f *found) bool {
		from := start + len("final answer")
		last := from + 100
		if !across {
			last = min(last, t.lineEnd(from))
		}
		for k := t.is.index(from + 1); k < len(unread) && int(t.isFrom[k]) <= last; k++ {
			if unread[k] {
				continue
			}
			if read(t, int(t.is.all[k])+len("is"), f) {
				return true
			}
			unread[k] = true
		}
		return false
	})
}
