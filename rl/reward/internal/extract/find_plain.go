package extract

import "strings"

// plainFinders look for numbers and for arithmetic written as text: 48/2, -3.5, $1,200, 12%.
func plainFinders() []finder {
	return []finder{
		{priority: hopedFor, find: func(t *scanned, keep func(found)) { t.hoped(keep, (&plain{follow: hope}).either) }},
		{priority: announced, find: func(t *scanned, keep func(found)) {
			p := &plain{follow: accept}
			t.announced(keep, false, func(t *scanned, i int, f *found) bool {
				return t.at(i) == ':' && p.either(t, i+1, f) || p.either(t, i, f)
			})
		}},
		{priority: colon, find: func(t *scanned, keep func(found)) { t.plainAnswers(keep, true) }},
		{priority: mentioned, find: func(t *scanned, keep func(found)) { t.plainAnswers(keep, false) }},
		{priority: anywhere, find: func(t *scanned, keep func(found)) { t.plainEverywhere(keep, (*plain).expression) }},
		{priority: anywhere, find: func(t *scanned, keep func(found)) { t.plainEverywhere(keep, (*plain).number) }},
	}
}

// plainEverywhere tries every place that may precede a number, and the start of the text.
func (t *scanned) plainEverywhere(keep func(found), read func(*plain, *scanned, int, *found) bool) {
	p := &plain{follow: accept}
	afterEach(t, t.numbers, keep, func(start int, f *found) bool { return read(p, t, start, f) })
}

// plainAnswers is `(?i:answer):(?:.{0,100}=\s*|.{0,50}?)…(?!\s*=)`, and the same without the colon.
func (t *scanned) plainAnswers(keep func(found), withColon bool) {
	p := &plain{follow: noEquals}
	afterEach(t, t.answers, keep, func(start int, f *found) bool {
		from := start + len("answer")
		if withColon {
			if t.at(from) != ':' {
				return false
			}
			from++
		}
		line := t.lineEnd(from)
		signs := t.equals.between(from, min(from+100, line))
		for k := len(signs) - 1; k >= 0; k-- {
			i := int(signs[k]) + 1
			q := t.skipSpaces(i)
			if p.either(t, q, f) || q > i && p.either(t, q-1, f) {
				return true
			}
		}
		for _, i := range t.befores.between(from, min(from+50, line)) {
			if p.either(t, int(i), f) {
				return true
			}
		}
		return false
	})
}

const (
	operatorSigns = "+-*/×^()÷"
	currencies    = "$€£¥₹₽₪₩₫฿₡₢₣₤₥₦₧₨₭₮₯₰₱₲₳₴₵₶₷₸₺₻₼₾₿"
)

// startsNumber reports whether a space or = at i has what a number or arithmetic may begin with after it.
func (t *scanned) startsNumber(i int) bool {
	c := t.r[i]
	if c != '=' && !t.space(i) || i+1 == len(t.r) {
		return false
	}
	c = t.r[i+1]
	if strings.ContainsRune(currencies, c) {
		c = t.at(i + 2)
		return t.digit(i+2) || c == '-' || c == '.'
	}
	return t.digit(i+1) || strings.ContainsRune("-(.*", c)
}

// plain reads numbers and arithmetic that follow must hold after.
type plain struct {
	follow then

	run  int // the end of the run of arithmetic that was last looked through
	last int // the last end of an expression in it, -1 if there is none
	end  int // of the match there
}

// either is arithmetic, or else a number.
func (p *plain) either(t *scanned, i int, f *found) bool {
	return p.expression(t, i, f) || p.number(t, i, f)
}

// behind calls read for the places at which `(?:^|\s|=)(?:\*\*)?` at i can end.
func (t *scanned) behind(i int, read func(i int) bool) bool {
	stars := func(i int) int {
		if t.follows(i, "**") {
			i += 2
		}
		return i
	}
	if i == 0 && read(stars(0)) {
		return true
	}
	return (t.space(i) || t.at(i) == '=') && read(stars(i+1))
}

// number reads a number with a currency before it or percent after it.
func (p *plain) number(t *scanned, i int, f *found) bool {
	return t.behind(i, func(i int) bool {
		if c := t.at(i); c != 0 && strings.ContainsRune(currencies, c) {
			i++
		}
		sign := i
		if t.at(i) == '-' {
			i++
		}
		return p.grouped(t, sign, i, f) || p.pointed(t, sign, i, f) || p.fraction(t, sign, f) || p.whole(t, sign, i, f)
	})
}

// grouped is `-?[1-9]\d{0,2}(?:[ ,]\d{3})+(?:\.\d+)?`.
func (p *plain) grouped(t *scanned, sign, i int, f *found) bool {
	if c := t.at(i); c < '1' || c > '9' {
		return false
	}
	at := i + 1
	for at < i+3 && t.digit(at) {
		at++
	}
	var ends []int
	for (t.at(at) == ' ' || t.at(at) == ',') && t.digit(at+1) && t.digit(at+2) && t.digit(at+3) {
		at += 4
		ends = append(ends, at)
	}
	for k := len(ends) - 1; k >= 0; k-- {
		end := ends[k]
		if t.at(end) == '.' {
			for to := t.digits(end + 1); to > end+1; to-- {
				if p.percent(t, to, f, group{"integer", sign, end}, group{"decimal", end, to}) {
					return true
				}
			}
		}
		if p.percent(t, end, f, group{"integer", sign, end}, group{}) {
			return true
		}
	}
	return false
}

// pointed is `-?\d+[.,]\d+`.
func (p *plain) pointed(t *scanned, sign, i int, f *found) bool {
	at := t.digits(i)
	if c := t.at(at); at == i || c != '.' && c != ',' {
		return false
	}
	for to := t.digits(at + 1); to > at+1; to-- {
		if p.percent(t, to, f, group{"integer", sign, at}, group{"decimal", at, to}) {
			return true
		}
	}
	return false
}

// fraction is `\.\d+`.
func (p *plain) fraction(t *scanned, i int, f *found) bool {
	if t.at(i) != '.' {
		return false
	}
	for to := t.digits(i + 1); to > i+1; to-- {
		if p.percent(t, to, f, group{"decimal", i, to}, group{}) {
			return true
		}
	}
	return false
}

// whole is `-?\d+`.
func (p *plain) whole(t *scanned, sign, i int, f *found) bool {
	for to := t.digits(i); to > i; to-- {
		if p.percent(t, to, f, group{"integer", sign, to}, group{}) {
			return true
		}
	}
	return false
}

// percent is `(?:\s*(?:%|[Pp]ercent|\s*[Pp]ercentage|\s*[Pp]ct))?` and what must follow.
func (p *plain) percent(t *scanned, i int, f *found, one, other group) bool {
	after := t.skipSpaces(i)
	for _, word := range []string{"%", "ercent", "ercentage", "ct"} {
		end, ok := t.percentWord(after, word)
		if !ok {
			continue
		}
		if f.end, ok = p.follow(t, end); ok {
			f.groups = append(f.groups[:0], one, other, group{"percent", i, end})
			return true
		}
	}
	end, ok := p.follow(t, i)
	if ok {
		f.end, f.groups = end, append(f.groups[:0], one, other)
	}
	return ok
}
