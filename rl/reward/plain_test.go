package reward

import "testing"

func TestPlain(t *testing.T) {
	for _, tt := range []struct {
		name, response, truth string
		want                  float64
	}{
		{"exact_reward", " card_arrival\n", "card_arrival", 1},
		{"exact_reward", "card arrival", "card_arrival", 0},
		{"exact_reward", "Card_arrival", "card_arrival", 0},
		{"contains_reward", "It is Card_Arrival.", "card_arrival", 1},
		{"contains_reward", "card", "card_arrival", 0},
		{"contains_reward", "anything", " ", 0},
		{"json_reward", "Here: {\"b\": 2, \"a\": [1, \"x\"]} done", `{"a":[1,"x"],"b":2}`, 1},
		{"json_reward", `{"a": 1}`, `{"a": 1, "b": 2}`, 0},
		{"json_reward", "no JSON", `{"a": 1}`, 0},
		{"json_reward", "no JSON", "no JSON", 0},
		{"json_reward", `[{"a": 1}]`, `{"a": 1}`, 0},
	} {
		got, err := Funcs()[tt.name](Sample{Response: tt.response, Truth: tt.truth})
		if err != nil || got.Total() != tt.want {
			t.Errorf("%s of %q for %q: got %v, %v, want %v", tt.name, tt.response, tt.truth, got, err, tt.want)
		}
	}
}
