package disk

import "testing"

// A name keeps only characters that every file system accepts.
func TestName(t *testing.T) {
	for text, want := range map[string]string{
		"gsm8k-v1.2_a+b=c@d": "gsm8k-v1.2_a+b=c@d",
		"a/b\\c:d é":         "a_b_c_d__",
		"":                   "",
	} {
		if got := Name(text); got != want {
			t.Errorf("Name(%q) is %q, want %q", text, got, want)
		}
	}
}
