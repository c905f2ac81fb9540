package job

import (
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
)

// CoD's advantage is refused by name, unless a program brings its own.
func TestAdvantageOfCoD(t *testing.T) {
	own := map[string]func(algorithm.Args) (algorithm.Advantage, error){"cod": nil}
	for _, p := range []Plugins{{}, {Advantages: own}} {
		_, err := config.Parse("job.yaml", nil, []string{"algorithm.advantage_fn=cod"}, nil, p.Names())
		refused := err != nil && strings.Contains(err.Error(), "Python research package")
		if refused != (p.Advantages == nil) {
			t.Errorf("with %d advantages of its own: %v", len(p.Advantages), err)
		}
	}
}
