package jinja

import (
	"fmt"
	"strconv"
	"strings"
)

// formatBraces is str.format: {}, {0}, {name}, {0.a[b]}, {!r} and {:spec}.
func formatBraces(r *run, s string, a args) (Value, error) {
	next := 0
	text, err := r.braces(s, a, &next, 0)
	return text, err
}

// braces puts arguments in place of the fields of s; next is the argument of
// the next field without a name. Fields may nest, in a specification, once.
func (r *run) braces(s string, a args, next *int, depth int) (string, error) {
	b := r.buffer()
	for {
		i := strings.IndexAny(s, "{}")
		if i < 0 {
			err := b.write(s)
			return string(b.text), err
		}
		if err := b.write(s[:i]); err != nil {
			return "", err
		}
		s = s[i:]
		if len(s) > 1 && s[0] == s[1] {
			b.put(s[:1])
			s = s[2:]
			continue
		}
		end := fieldEnd(s)
		if end < 0 || depth > 1 {
			return "", fmt.Errorf("format: a single %c", s[0])
		}
		item, err := r.field(s[1:end], a, next, depth)
		if err != nil {
			return "", err
		}
		b.put(item)
		s = s[end+1:]
	}
}

// fieldEnd returns the place of the brace that closes the one s begins with, -1
// if there is none.
func fieldEnd(s string) int {
	if s[0] == '}' {
		return -1
	}
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '{':
			depth++
		case '}':
			depth--
		}
		if depth == 0 {
			return i
		}
	}
	return -1
}

// field is the text of name!conversion:specification.
func (r *run) field(field string, a args, next *int, depth int) (string, error) {
	name, spec, _ := strings.Cut(field, ":")
	name, conversion, converted := strings.Cut(name, "!")
	if err := r.spend("format", 1+len(a.named)/8, 0); err != nil {
		return "", err
	}
	v, err := r.lookUp(a, name, next)
	if err != nil {
		return "", err
	}
	if spec, err = r.braces(spec, a, next, depth+1); err != nil {
		return "", err
	}
	if converted {
		b := r.buffer()
		switch conversion {
		case "r", "a":
			err = r.repr(b, v, 0)
			v = string(b.text)
		case "s":
			v, err = r.str(v)
		default:
			err = fmt.Errorf("format: conversion !%s is not known", conversion)
		}
		if err != nil {
			return "", err
		}
	}
	return r.formatValue(v, spec)
}

// lookUp finds the argument of a field and follows its .attributes and [items].
func (r *run) lookUp(a args, name string, next *int) (Value, error) {
	end := strings.IndexAny(name, ".[")
	if end < 0 {
		end = len(name)
	}
	v, err := a.argument(name[:end], next)
	for rest := name[end:]; rest != "" && err == nil; {
		if rest[0] == '.' {
			end = 1 + span(rest[1:], func(c byte) bool { return c != '.' && c != '[' })
			if end == 1 {
				return nil, fmt.Errorf("format: the field {%s} has an empty attribute", name)
			}
			v, err = r.getAttr(v, rest[1:end])
			rest = rest[end:]
			continue
		}
		key, after, found := strings.Cut(rest[1:], "]")
		if !found || rest[0] != '[' {
			return nil, fmt.Errorf("format: the field {%s} is not well formed", name)
		}
		index := Value(key)
		if i, err := strconv.ParseInt(key, 10, 64); err == nil {
			index = i
		}
		v, err = r.getItem(v, index)
		rest = after
	}
	return v, err
}

// argument is the one a field names: by place, by name, or the next.
func (a args) argument(name string, next *int) (Value, error) {
	i, err := strconv.Atoi(name)
	if name == "" {
		i, err = *next, nil
		*next++
	}
	if err == nil {
		if i < 0 || i >= len(a.pos) {
			return nil, fmt.Errorf("format: there is no argument %d", i)
		}
		return a.pos[i], nil
	}
	for _, n := range a.named {
		if n.name == name {
			return n.v, nil
		}
	}
	return nil, fmt.Errorf("format: there is no argument {%s}", name)
}
