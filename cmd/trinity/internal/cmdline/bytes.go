package cmdline

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Bytes is a flag's number of bytes with a unit, such as 512MiB or 8G.
type Bytes int64

// units are the powers of 1024 by their first letter.
const units = "KMGT"

// UnmarshalText implements encoding.TextUnmarshaler for the flag parser. It accepts a number, possibly with a fraction,
// and K, M, G or T, optionally followed by iB or B; all are powers of 1024.
func (b *Bytes) UnmarshalText(text []byte) error {
	s := strings.ToUpper(strings.TrimSpace(string(text)))
	number := strings.TrimSuffix(strings.TrimSuffix(s, "B"), "I")
	scale := 1.0
	if n := len(number); n > 0 {
		if at := strings.IndexByte(units, number[n-1]); at >= 0 {
			scale, number = math.Pow(1024, float64(at+1)), number[:n-1]
		} else if number != strings.TrimSuffix(s, "B") {
			number = s // an I without a unit
		}
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || !(v >= 0) || v*scale >= math.MaxInt64 {
		return fmt.Errorf("%q is not a number of bytes; write for example 512MiB or 8G", text)
	}
	*b = Bytes(v * scale)
	return nil
}
