package python

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// Float is a number that may be NaN or infinite, in arguments and results: JSON has no such numbers, so they are the
// strings "NaN", "Infinity" and "-Infinity", which Python's float reads.
type Float float64

// MarshalJSON implements json.Marshaler.
func (f Float) MarshalJSON() ([]byte, error) {
	switch v := float64(f); {
	case math.IsNaN(v):
		return []byte(`"NaN"`), nil
	case math.IsInf(v, 0):
		return []byte(map[bool]string{true: `"Infinity"`, false: `"-Infinity"`}[v > 0]), nil
	default:
		return json.Marshal(v)
	}
}

// UnmarshalJSON implements json.Unmarshaler. It takes numbers and the three strings.
func (f *Float) UnmarshalJSON(data []byte) error {
	switch text := string(data); text {
	case `"NaN"`:
		*f = Float(math.NaN())
	case `"Infinity"`:
		*f = Float(math.Inf(1))
	case `"-Infinity"`:
		*f = Float(math.Inf(-1))
	default:
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("python: %.40s is no number", text)
		}
		*f = Float(v)
	}
	return nil
}
