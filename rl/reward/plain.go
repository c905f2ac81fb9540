package reward

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Exact is exact_reward: 1 if the response is the truth, apart from white space at both ends.
func Exact(s Sample) (Scores, error) {
	return Scores{{"accuracy", oneIf(strings.TrimSpace(s.Response) == strings.TrimSpace(s.Truth))}}, nil
}

// Contains is contains_reward: 1 if the truth occurs in the response, in capitals or small letters. An empty truth
// occurs in no response.
func Contains(s Sample) (Scores, error) {
	truth := strings.ToLower(strings.TrimSpace(s.Truth))
	return Scores{{"accuracy", oneIf(truth != "" && strings.Contains(strings.ToLower(s.Response), truth))}}, nil
}

// JSON is json_reward: 1 if the first object or list in the response equals that in the truth. The order of keys and
// the white space do not count; numbers must have the same digits. A truth without
// either is met by no response.
func JSON(s Sample) (Scores, error) {
	want := firstJSON(s.Truth)
	return Scores{{"accuracy", oneIf(want != "" && firstJSON(s.Response) == want)}}, nil
}

// firstJSON is the first object or list in a text in one spelling, "" if there is none.
func firstJSON(text string) (spelled string) {
	FindJSON(text, func(raw []byte) bool {
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.UseNumber()
		var v any
		if dec.Decode(&v) != nil {
			return false
		}
		sorted, err := json.Marshal(v) // keys in their order
		spelled = string(sorted)
		return err == nil
	})
	return spelled
}
