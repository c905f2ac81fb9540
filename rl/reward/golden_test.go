package reward

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

type golden struct {
	Truth, Response string
	Accuracy        float64
	FormatScore     float64 `json:"format_score"`
	WithThink       bool    `json:"with_think"`
	Score           float64
}

func readGolden(t testing.TB, path string) []golden {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var rows []golden
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var row golden
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		rows = append(rows, row)
	}
	return rows
}

// TestMath compares with Trinity-RFT's rules over the real math_verify (testdata/math_reward.py).
func TestMath(t *testing.T) {
	rows := readGolden(t, "testdata/math_reward.jsonl")
	if len(rows) < 900 {
		t.Fatalf("the golden file has %d rows, want at least 900", len(rows))
	}
	for _, row := range rows {
		got, err := Math(Sample{Response: row.Response, Truth: row.Truth})
		if err != nil {
			t.Fatal(err)
		}
		want := Scores{{"accuracy", row.Accuracy}, {"format_score", row.FormatScore}}
		if got[0] != want[0] || got[1] != want[1] {
			t.Errorf("truth %q, response %q:\n got %v, want %v", tail(row.Truth), tail(row.Response), got, want)
		}
	}
}

func tail(s string) string {
	if len(s) > 120 {
		return "…" + strings.ToValidUTF8(s[len(s)-120:], "")
	}
	return s
}
