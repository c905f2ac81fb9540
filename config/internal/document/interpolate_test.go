package document

import (
	"strings"
	"testing"
)

// filled returns the key after interpolation of a text, as an untyped value.
func filled(text, key string) (any, Problems) {
	lookup := variables("HOME=/home/me", "EMPTY=", "NUMBER=7", "LIST=[1, 2]", "NAME=HOME", "JSON={a: 1}")
	root, found := Read("t", []byte(text), nil, lookup, func() *Node {
		const defaults = "model: {temperature: 1.0, max_prompt_tokens: null}\nexplorer: {rollout_model: {seed: 42}}"
		return parseValue(&source{text: defaults}, new(Problems))
	})
	if root == nil {
		return nil, found
	}
	if n := root.Get(key); n != nil {
		return n.Value(), found
	}
	return nil, found
}

func TestInterpolation(t *testing.T) {
	for _, tt := range []struct {
		text string
		want any
	}{
		{`x: ${oc.env:HOME}`, "/home/me"},
		{`x: ${oc.env:HOME}/data`, "/home/me/data"},
		{`x: ${oc.env:NUMBER}`, "7"},
		{`x: ${oc.env:EMPTY,default}`, ""},
		{`x: ${oc.env:UNSET,./checkpoints}`, "./checkpoints"},
		{`x: "${oc.env:UNSET,   spaced text }"`, "spaced text"},
		{`x: ${oc.env:UNSET,''}`, ""},
		{`x: ${oc.env:UNSET,}`, ""},
		{`x: ${oc.env:UNSET,3}`, "3"},
		{`x: ${oc.env:UNSET,null}`, nil},
		{`x: ${oc.env:UNSET,${oc.env:HOME}}`, "/home/me"},
		{`x: ${oc.env:UNSET,${oc.env:HOME}/a}`, "/home/me/a"},
		{`x: ${oc.env:${oc.env:NAME}}`, "/home/me"},
		{`x: ${oc.decode:${oc.env:UNSET,null}}`, nil},
		{`x: ${oc.decode:${oc.env:NUMBER}}`, 7},
		{`x: "${oc.decode:'${oc.env:NUMBER}'}"`, "7"},
		{"a: {b: 3}\nx: ${a.b}", 3},
		{"a: {b: 3}\nx: v${a.b}-${a.b}", "v3-3"},
		{"a: [{c: p}]\nx: ${a[0].c}${a.0.c}", "pp"},
		{"x: ${y}\ny: ${z}\nz: 1.5", 1.5},
		{`x: ${model.temperature}`, 1.0},
		{`x: ${explorer.rollout_model.seed}`, 42},
		{`x: ${model.max_prompt_tokens}`, nil},
		{`x: '\${not}'`, "${not}"},
		{`x: "{{ a }} {% b %} $c }"`, "{{ a }} {% b %} $c }"},
	} {
		got, found := filled(tt.text, "x")
		if len(found) > 0 || got != tt.want {
			t.Errorf("%s: got %#v, want %#v; %v", tt.text, got, tt.want, found.Err())
		}
	}
}

func TestInterpolationOfContainers(t *testing.T) {
	got, found := filled("a: {b: [1, '${n}']}\nn: 2\nx: ${a}", "x")
	m, _ := got.(map[string]any)
	if list, _ := m["b"].([]any); len(found) > 0 || len(list) != 2 || list[1] != 2 {
		t.Errorf("reference to a mapping: got %#v; %v", got, found.Err())
	}
	got, found = filled("a: ${oc.decode:${oc.env:JSON}}\nx: ${a.a}", "x")
	if len(found) > 0 || got != 1 {
		t.Errorf("reference into a decoded mapping: got %#v; %v", got, found.Err())
	}
}

func TestInterpolationRefuses(t *testing.T) {
	bomb := "x0: [1,1,1,1,1,1,1,1,1,1]\n"
	long := "x0: 0123456789\n"
	for _, d := range "12345678" {
		name := string(d)
		before := string(d - 1)
		bomb += "x" + name + ": [" + strings.TrimSuffix(strings.Repeat("\"${x"+before+"}\",", 10), ",") + "]\n"
		long += "x" + name + ": \"" + strings.Repeat("${x"+before+"}", 10) + "\"\n"
	}
	for _, tt := range []struct{ text, want string }{
		{`x: ${oc.env:UNSET}`, "UNSET is not set"},
		{"x: ${y}\ny: ${x}", "refers to itself: x → y → x"},
		{`x: ${x}`, "refers to itself: x → x"},
		{`x: {y: "${x}"}`, "refers to itself"},
		{`x: ${a.b}`, "names no key"},
		{`x: ${`, "without its }"},
		{`x: ${}`, "is not a key"},
		{`x: ${a[z]}`, "unreadable index"},
		{"a: {b: 1}\nx: v${a}", "cannot be part of a text"},
		{`x: ${oc.dict:a}`, "is not known"},
		{bomb, "references expand to more than"},
		{long, "references expand to more than"},
		{"a: " + strings.Repeat("x", 1<<17) + "\nx: " + strings.Repeat("${a}", 9), "grows beyond"},
	} {
		_, found := filled(tt.text, "x")
		if len(found) == 0 || !strings.Contains(found.Err().Error(), tt.want) {
			t.Errorf("%.60s: got %v, want %q", tt.text, found.Err(), tt.want)
		}
	}
}
