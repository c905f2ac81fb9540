package config

import (
	"os"
	"path/filepath"
	"testing"
)

// Whatever the text, Parse returns: a configuration that can be printed and read again, or an error.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.yml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		if len(text) < 1000 {
			f.Add(string(text), "buffer.batch_size=3")
		}
	}
	f.Add("a: &a [*a]\n<<: *a\n? [x]\n: !!map {}", "a[0].b={c: 1}")
	f.Fuzz(func(t *testing.T, text, override string) {
		c, err := Parse("fuzz.yml", []byte(text), []string{override}, env("HOME=/home/me", "A=${HOME}"))
		if err != nil {
			_ = err.Error()
			return
		}
		if _, err := Parse("again.yml", []byte(c.Resolved()), nil, env()); err != nil {
			t.Errorf("the resolved text does not load: %v\n%s", err, c.Resolved())
		}
	})
}
