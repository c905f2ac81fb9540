package cmdline

import "testing"

func TestBytes(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "1024": 1024, "10B": 10, "4k": 4 << 10, "512MiB": 512 << 20,
		"8G": 8 << 30, "1.5GiB": 3 << 29, "2 TB": 2 << 40} {
		var b Bytes
		if err := b.UnmarshalText([]byte(text)); err != nil || int64(b) != want {
			t.Errorf("%q is %d, %v; want %d", text, b, err, want)
		}
	}
	for _, text := range []string{"", "G", "-1", "1I", "12iB", "nan", "inf", "9e30", "3X", "8GG"} {
		var b Bytes
		if err := b.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is %d; want an error", text, b)
		}
	}
}
