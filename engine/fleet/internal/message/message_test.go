package message

import (
	"bytes"
	"strings"
	"testing"
)

func TestMessagesComeBack(t *testing.T) {
	id := strings.Repeat("ab", 32)
	in := Result{Task: id, Head: "h", Seconds: 1.5}
	data, err := Encode(in, []byte("body"))
	if err != nil {
		t.Fatal(err)
	}
	var out Result
	body, err := Decode(data, &out)
	if err != nil || string(body) != "body" || out != in {
		t.Errorf("%+v %q %v", out, body, err)
	}
}

func TestIDsDependOnEverything(t *testing.T) {
	need := Need{Hash: strings.Repeat("0", 64), Size: 3}
	seen := map[string]bool{}
	for _, id := range []string{ID("a", nil, []byte("b")), ID("ab", nil, nil), ID("", nil, []byte("ab")),
		ID("a", []Need{need}, []byte("b")), ID("a", []Need{need, need}, []byte("b"))} {
		if !IsHash(id) || seen[id] {
			t.Errorf("id %q is no hash or not the only one", id)
		}
		seen[id] = true
	}
}

func TestMalformedMessagesAreRefused(t *testing.T) {
	id := strings.Repeat("ab", 32)
	framed := func(header string, body int) []byte {
		return append(append([]byte{byte(len(header))}, header...), make([]byte, body)...)
	}
	for what, data := range map[string][]byte{
		"empty": nil, "length beyond the end": {5, '{'}, "length beyond the limit": {0xff, 0xff, 0xff, 0x7f},
		"endless length": bytes.Repeat([]byte{0xff}, 20), "no JSON": framed("nonsense", 0),
		"unknown field": framed(`{"task":"`+id+`","x":1}`, 0), "two values": framed(`{"task":"`+id+`"}{}`, 0),
		"no task": framed(`{}`, 0), "upper case": framed(`{"task":"`+strings.ToUpper(id)+`"}`, 0),
		"time": framed(`{"task":"`+id+`","seconds":-1}`, 0), "body": framed(`{"task":"`+id+`"}`, MaxInline+1),
	} {
		if _, err := Decode(data, new(Result)); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}

func FuzzDecode(f *testing.F) {
	id := strings.Repeat("ab", 32)
	for _, v := range []any{Task{ID: id, Kind: "k", Needs: []Need{{id, 1}}}, Result{Task: id},
		Beat{About: About{Slots: 1}},
		Announcement{About: About{Slots: 1}, Holds: []string{id}}, Want{Hash: id}, Order{Verb: "status"}} {
		data, err := Encode(v, []byte("body"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, v := range []any{&Task{}, &Result{}, &Beat{}, &Announcement{}, &Want{}, &Order{}, &Enrolment{},
			&Control{}} {
			body, err := Decode(data, v)
			if err != nil {
				continue
			}
			again, err := Encode(v, body)
			if err != nil {
				t.Fatalf("%T: what was decoded cannot be encoded: %v", v, err)
			}
			if b, err := Decode(again, v); err != nil || !bytes.Equal(b, body) {
				t.Fatalf("%T: %v", v, err)
			}
		}
	})
}
