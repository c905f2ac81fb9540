package jinja

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// split is str.split and str.rsplit.
func (r *run) split(s string, right bool, a args) (Value, error) {
	v, err := a.bind("split", "sep", "maxsplit")
	if err != nil {
		return nil, err
	}
	limit, err := integer(or(v[1], int64(-1)))
	if err != nil {
		return nil, err
	}
	sep := or(v[0], nil)
	cut := func(s string) (string, string, bool) { return cutSpace(s, right) }
	if sep != nil {
		x, err := text(sep)
		if err != nil || x == "" {
			return nil, fmt.Errorf("split needs a separator that is not empty")
		}
		cut = func(s string) (string, string, bool) { return cutText(s, x, right) }
	} else if right {
		s = strings.TrimRightFunc(s, pySpace)
	} else {
		s = strings.TrimLeftFunc(s, pySpace)
	}
	list := List{}
	for ; limit != 0; limit-- {
		piece, rest, found := cut(s)
		if !found {
			break
		}
		if err := r.spend("split", 1, pieceBytes); err != nil {
			return nil, err
		}
		list = append(list, piece)
		s = rest
	}
	if sep != nil || s != "" {
		list = append(list, s)
	}
	if right {
		slices.Reverse(list)
	}
	return list, nil
}

// cutText cuts off the piece of s before the first sep, or after the last.
func cutText(s, sep string, right bool) (piece, rest string, found bool) {
	if !right {
		return strings.Cut(s, sep)
	}
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[i+len(sep):], s[:i], true
}

// cutSpace cuts at a run of white space.
func cutSpace(s string, right bool) (piece, rest string, found bool) {
	if !right {
		i := strings.IndexFunc(s, pySpace)
		if i < 0 {
			return s, "", false
		}
		return s[:i], strings.TrimLeftFunc(s[i:], pySpace), true
	}
	i := strings.LastIndexFunc(s, pySpace)
	if i < 0 {
		return s, "", false
	}
	_, n := utf8.DecodeRuneInString(s[i:])
	return s[i+n:], strings.TrimRightFunc(s[:i], pySpace), true
}
