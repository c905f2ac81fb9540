package ownmodel

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
)

// score is the mean of an evaluation with a 95 % interval: of accuracy if the reward has this part, else of the
// reward.
type score struct {
	mean, low, high float64
	n               int
}

func (s score) String() string {
	return fmt.Sprintf("%.3f (95 %% interval %.3f to %.3f, %d rows)", s.mean, s.low, s.high, s.n)
}

// readScore reads the rewards of the evaluation in the folder of a stage.
func readScore(job string) (score, error) {
	path := filepath.Join(job, "rollouts", "bench_"+heldSet+"_step_000000.jsonl")
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return scoreOf(nil)
	}
	if err != nil {
		return score{}, err
	}
	defer f.Close()
	var rewards []float64
	lines := bufio.NewReader(f)
	for {
		raw, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return scoreOf(rewards)
		}
		if err != nil {
			return score{}, err
		}
		var line struct {
			Reward *float64
			Parts  map[string]float64 `json:"reward_parts"`
		}
		if err := json.Unmarshal(raw, &line); err != nil {
			return score{}, fmt.Errorf("train: %s: %w", path, err)
		}
		if right, ok := line.Parts["accuracy"]; ok {
			rewards = append(rewards, right)
		} else if line.Reward != nil {
			rewards = append(rewards, *line.Reward)
		}
	}
}

// scoreOf is the mean of rewards: with Wilson's interval if each is 0 or 1, else the normal one.
func scoreOf(rewards []float64) (s score, err error) {
	const z = 1.96
	s.n = len(rewards)
	if s.n == 0 {
		return s, errors.New("train: no row was evaluated; the lines above say why")
	}
	n, sum, squares, yesNo := float64(s.n), 0.0, 0.0, true
	for _, r := range rewards {
		sum += r
		squares += float64(r * r)
		yesNo = yesNo && (r == 0 || r == 1)
	}
	s.mean = sum / n
	spread := max(0, squares/n-float64(s.mean*s.mean))
	if !yesNo {
		half := float64(z * math.Sqrt(spread/max(1, n-1)))
		s.low, s.high = s.mean-half, s.mean+half
		return s, nil
	}
	middle := (s.mean + z*z/(2*n)) / (1 + z*z/n)
	half := float64(z / (1 + z*z/n) * math.Sqrt(spread/n+float64(z*z/(4*n*n))))
	s.low, s.high = max(0, middle-half), min(1, middle+half)
	return s, nil
}

// report prints the rewards before and after, and what to do next.
func (p *plan) report(out io.Writer) error {
	before, err := readScore(p.job("before"))
	if err != nil {
		return err
	}
	after, err := readScore(p.job("after"))
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\nbefore   %v\nafter    %v\n", before, after)
	if after.low <= before.high {
		fmt.Fprintln(out, "         the intervals overlap: more rows or --minutes, with another --out, tell more")
	}
	job := p.shown(p.job(p.last()))
	fmt.Fprintf(out, "\nchat     trinity chat %s\n", job)
	fmt.Fprintf(out, "export   trinity convert -c %s --gguf q8_0 -o %s\n", job,
		p.shown(filepath.Join(p.out, "model.gguf")))
	fmt.Fprintf(out, "look     trinity studio %s\n", p.shown(p.out))
	return nil
}
