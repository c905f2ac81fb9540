package game

import "strconv"

// appendBoard appends cells in rows of n, each as draw writes it.
func appendBoard[C any](b []byte, cells []C, n int, draw func(b []byte, cell C) []byte) []byte {
	for i, c := range cells {
		end := byte(' ')
		if (i+1)%n == 0 {
			end = '\n'
		}
		b = append(draw(b, c), end)
	}
	return b
}

// appendRight writes a number that is not negative at the right end of a field of so many bytes.
func appendRight(b []byte, n, width int) []byte {
	for digits := decimals(n); digits < width; digits++ {
		b = append(b, ' ')
	}
	if 0 <= n && n < 10 {
		return append(b, '0'+byte(n))
	}
	return strconv.AppendInt(b, int64(n), 10)
}

// decimals is how many digits a number has.
func decimals(n int) int {
	digits := 1
	for ; n > 9; n /= 10 {
		digits++
	}
	return digits
}
