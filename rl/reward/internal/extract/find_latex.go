package extract

import "strings"

// latexParts are the prefixes of the groups of up to six environments joined by commas, "and" or "or".
var latexParts = []string{"first", "next1", "next2", "next3", "next4", "next5"}

// latexEnvironments are the groups' names after the prefix.
var latexEnvironments = []string{"DoubleDollar", "Bracket", "Dollar", "Parenthesis", "Square", "Fraction", "Boxed"}

// latexFinders look for $…$, $$…$$, \[…\], \(…\), [ … ], a bare \frac{1}{2} and \boxed{…}.
func latexFinders() []finder {
	return []finder{
		{priority: hopedFor, latex: true,
			find: func(t *scanned, keep func(found)) { t.hoped(keep, environmentsThen(hope)) }},
		{priority: announced, latex: true, find: func(t *scanned, keep func(found)) {
			t.announced(keep, true, func(t *scanned, i int, f *found) bool {
				return t.afterIs(i, f, environmentsThen(accept))
			})
		}},
		{priority: colon, latex: true, find: func(t *scanned, keep func(found)) { t.mentioned(keep, true) }},
		{priority: mentioned, latex: true, find: func(t *scanned, keep func(found)) { t.mentioned(keep, false) }},
		{priority: anywhere, latex: true, find: func(t *scanned, keep func(found)) { t.everywhere(keep, false) }},
		{latex: true, boxed: true, find: func(t *scanned, keep func(found)) { t.everywhere(keep, true) }},
		{latex: true, boxed: true, find: (*scanned).outerBox},
	}
}

func environmentsThen(follow then) answerAt {
	return func(t *scanned, i int, f *found) bool { return t.environments(i, 0, false, f, follow) }
}

// everywhere finds all environments, or all with a box in them.
func (t *scanned) everywhere(keep func(found), boxed bool) {
	if boxed && len(t.boxes.all) == 0 {
		return
	}
	afterEach(t, t.starts, keep, func(start int, f *found) bool { return t.environments(start, 0, boxed, f, accept) })
}

// mentioned is `(?i:answer).{0,50}?…`, with a colon after the word if asked for.
func (t *scanned) mentioned(keep func(found), withColon bool) {
	afterEach(t, t.answers, keep, func(start int, f *found) bool {
		from := start + len("answer")
		if withColon {
			if t.at(from) != ':' {
				return false
			}
			from++
		}
		for _, i := range t.starts.between(from, from+50) {
			if t.environments(int(i), 0, false, f, accept) {
				return true
			}
		}
		return false
	})
}

// outerBox is `\\boxed{.+}`: from the first box to the last brace.
func (t *scanned) outerBox(keep func(found)) {
	if len(t.boxes.all) == 0 || len(t.braces.all) == 0 {
		return
	}
	start, last := int(t.boxes.all[0]), int(t.braces.all[len(t.braces.all)-1])
	if last > start+len(`\boxed{`) {
		keep(found{start: start, end: last + 1, groups: []group{{"firstBoxed", start, last + 1}}})
	}
}

// environments reads the environment at i, which has nth before it, and those joined to it; follow must hold after
// them.
func (t *scanned) environments(i, nth int, boxed bool, f *found, follow then) bool {
	env, ok := t.environment(i, boxed)
	if !ok {
		return false
	}
	mark := len(f.groups)
	f.groups = append(f.groups, group{latexParts[nth] + env.name, env.from, env.to})
	after := t.skipSpaces(env.end)
	for _, word := range []string{`\%`, "%", "ercent", "ercentage", "ct", ""} {
		end, ok := t.percentWord(after, word)
		if !ok {
			continue
		}
		if end > after {
			f.groups = append(f.groups, group{latexParts[nth] + "percent", after, end})
		}
		if boxed && nth < len(latexParts)-1 {
			end = t.skipSpaces(end)
		}
		if nth < len(latexParts)-1 && t.joined(end, nth+1, boxed, f, follow) {
			return true
		}
		if f.end, ok = follow(t, end); ok {
			return true
		}
		f.groups = f.groups[:mark+1]
	}
	f.groups = f.groups[:mark]
	return false
}

// percentWord reads a percent sign, or a word given without its first letter, a p in either case; no word is always
// there.
func (t *scanned) percentWord(i int, word string) (end int, ok bool) {
	if word == "" || !strings.HasPrefix(word, "e") && !strings.HasPrefix(word, "c") {
		return i + len(word), t.follows(i, word)
	}
	c := t.at(i)
	return i + 1 + len(word), (c == 'p' || c == 'P') && t.follows(i+1, word)
}

// joined reads `\s*(?:,?and|,?or|,)\s*` and the environment after it.
func (t *scanned) joined(i, nth int, boxed bool, f *found, follow then) bool {
	i = t.skipSpaces(i)
	comma := t.at(i) == ','
	if comma {
		i++
	}
	switch {
	case t.follows(i, "and"):
		i += 3
	case t.follows(i, "or"):
		i += 2
	case !comma:
		return false
	}
	q := t.skipSpaces(i)
	return t.environments(q, nth, boxed, f, follow) || q > i && t.environments(q-1, nth, boxed, f, follow)
}
