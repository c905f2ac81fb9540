package dataset

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
	pq "github.com/parquet-go/parquet-go/format"
)

// leafValue returns how a leaf's values become a Field's: numbers keep their digits, times are written as ISO 8601,
// bytes that are no text as base64. A number that is none is missing, as pandas means it.
func leafValue(t parquet.Type) func(parquet.Value) any {
	var logical any
	if l := t.LogicalType(); l != nil {
		logical = l.Value
	}
	switch l := logical.(type) {
	case *pq.IntType:
		if !l.IsSigned {
			return unsigned(l.BitWidth)
		}
	case *pq.DateType:
		return func(v parquet.Value) any { return time.Unix(int64(v.Int32())*86400, 0).UTC().Format(time.DateOnly) }
	case *pq.TimestampType:
		return timestamp(unit(l.Unit), l.IsAdjustedToUTC)
	case *pq.TimeType:
		return timeOfDay(unit(l.Unit))
	case *pq.DecimalType:
		return decimal(int(l.Scale))
	case *pq.UUIDType:
		return func(v parquet.Value) any {
			b := v.ByteArray()
			if len(b) != 16 {
				return textOf(b)
			}
			return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
		}
	}
	return plainValue
}

// plainValue is a value of a physical type.
func plainValue(v parquet.Value) any {
	switch v.Kind() {
	case parquet.Boolean:
		return v.Boolean()
	case parquet.Int32:
		return json.Number(strconv.FormatInt(int64(v.Int32()), 10))
	case parquet.Int64:
		return json.Number(strconv.FormatInt(v.Int64(), 10))
	case parquet.Int96: // nanoseconds of the day, and the Julian day
		i := v.Int96()
		return instant((int64(i[2])-2440588)*86400, int64(i[0])|int64(i[1])<<32, false)
	case parquet.Float:
		return floating(float64(v.Float()), 32)
	case parquet.Double:
		return floating(v.Double(), 64)
	case parquet.ByteArray, parquet.FixedLenByteArray:
		return textOf(v.ByteArray())
	}
	return nil
}

func textOf(b []byte) any {
	if utf8.Valid(b) {
		return string(b)
	}
	return base64.StdEncoding.EncodeToString(b)
}

// floating writes a float as Python does: the shortest digits that mean it, and never without a point or an exponent.
func floating(x float64, bits int) any {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	s := strconv.FormatFloat(x, 'g', -1, bits)
	if a := math.Abs(x); a >= 1e-4 && a < 1e16 || x == 0 {
		s = strconv.FormatFloat(x, 'f', -1, bits)
	}
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return json.Number(s)
}

func unsigned(width int8) func(parquet.Value) any {
	return func(v parquet.Value) any {
		if width == 64 {
			return json.Number(strconv.FormatUint(v.Uint64(), 10))
		}
		return json.Number(strconv.FormatUint(uint64(v.Uint32()), 10))
	}
}

// unit is a time unit's part of a second.
func unit(u pq.TimeUnit) int64 {
	switch u.Value.(type) {
	case *pq.MilliSeconds:
		return 1e3
	case *pq.MicroSeconds:
		return 1e6
	}
	return 1e9
}

func timestamp(perSecond int64, utc bool) func(parquet.Value) any {
	return func(v parquet.Value) any {
		n := v.Int64()
		return instant(n/perSecond, n%perSecond*(1e9/perSecond), utc)
	}
}

func instant(seconds, nanos int64, utc bool) any {
	layout := "2006-01-02T15:04:05.999999999"
	if utc {
		layout += "Z"
	}
	return time.Unix(seconds, nanos).UTC().Format(layout)
}

func timeOfDay(perSecond int64) func(parquet.Value) any {
	return func(v parquet.Value) any {
		n := v.Int64()
		if v.Kind() == parquet.Int32 {
			n = int64(v.Int32())
		}
		return time.Unix(n/perSecond, n%perSecond*(1e9/perSecond)).UTC().Format("15:04:05.999999999")
	}
}

// decimal writes value·10^−scale with all its digits.
func decimal(scale int) func(parquet.Value) any {
	return func(v parquet.Value) any {
		n := new(big.Int)
		switch v.Kind() {
		case parquet.Int32:
			n.SetInt64(int64(v.Int32()))
		case parquet.Int64:
			n.SetInt64(v.Int64())
		default: // two's complement, the highest byte first
			b := v.ByteArray()
			n.SetBytes(b)
			if len(b) > 0 && b[0]&0x80 != 0 {
				n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
			}
		}
		if scale <= 0 || scale > 1000 {
			return json.Number(n.String())
		}
		digits := new(big.Int).Abs(n).String()
		if len(digits) <= scale {
			digits = strings.Repeat("0", scale+1-len(digits)) + digits
		}
		sign := ""
		if n.Sign() < 0 {
			sign = "-"
		}
		return json.Number(sign + digits[:len(digits)-scale] + "." + digits[len(digits)-scale:])
	}
}
