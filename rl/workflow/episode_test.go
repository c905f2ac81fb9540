package workflow

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/internal/rng"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// byPrompt answers each request by a function of the text that it is shown, one byte a token.
type byPrompt func(prompt string) string

func (f byPrompt) Sample(_ context.Context, req tinker.SampleRequest) (*tinker.Future[tinker.SampleResponse], error) {
	var text []byte
	tokens, _ := req.Prompt.Tokens()
	for _, token := range tokens {
		text = append(text, byte(token))
	}
	answer := f(string(text))
	q := tinker.SampledSequence{StopReason: tinker.StopStop}
	if len(answer) > req.Params.MaxTokens {
		answer, q.StopReason = answer[:req.Params.MaxTokens], tinker.StopLength
	}
	for _, b := range []byte(answer) {
		q.Tokens, q.Logprobs = append(q.Tokens, int32(b)), append(q.Logprobs, -0.25)
	}
	return tinker.Resolved(tinker.SampleResponse{Sequences: []tinker.SampledSequence{q}}, nil), nil
}

// turnwise renders as bytewise does, and begins the model's turn.
type turnwise struct{ bytewise }

func (turnwise) Prompt(messages []chat.Message) (string, []int32, error) {
	text, _, err := bytewise{}.Prompt(messages)
	if err == nil && messages[len(messages)-1].Role != "assistant" {
		text += "assistant:"
	}
	tokens, err := bytewise{}.Encode(text)
	return text, tokens, err
}

func episodes(t *testing.T, w Workflow, r Rollout, task Task, model byPrompt) []*experience.Experience {
	t.Helper()
	r.Sampler, r.Renderer, r.Params = model, turnwise{}, tinker.DefaultSampling()
	if r.Params.MaxTokens <= 0 {
		r.Params.MaxTokens = 2000
	}
	list, err := w.Run(context.Background(), &r, task)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if err := e.Validate(); err != nil {
			t.Error(err)
		}
	}
	return list
}

// The maps come from upstream's generator with numpy 2.
func TestLakesAreUpstreams(t *testing.T) {
	for _, tt := range []struct {
		size  int
		p     float64
		seed  uint64
		steps int
		want  string
	}{
		{2, 0.8, 42, 8, "SF HG"},
		{3, 0.7, 7, 8, "FSH FFH GHH"},
		{4, 0.6, 123, 8, "HFSF FFFF FGHH HHFH"},
		{5, 0.85, 99999, 8, "FFFFF FGFHF FFFFH FFFFF HFSHF"},
		{5, 0.62, 5, 3, "HHFFS FGFFH HFFHH HFFHF FFHFH"},
		{8, 0.8, 0, 5, "FFFFHHFF FHHFHFFF HFFFFFFF FFHHFFFF FFFFFHHF FFFFFHFF FHFFHFFF FFSFFGFF"},
	} {
		got, err := makeLake(tt.size, tt.p, tt.seed, tt.steps)
		if err != nil || strings.Join(got, " ") != tt.want {
			t.Errorf("makeLake(%d, %g, %d, %d) = %s, %v, want %s", tt.size, tt.p, tt.seed, tt.steps,
				strings.Join(got, " "), err, tt.want)
		}
	}
}

// On slippery ice a third of the steps goes where it should. The draws are Gymnasium's with seed 42, after the
// one for the start: 0.438…, 0.858….
func TestSlippery(t *testing.T) {
	w := newWalker([]string{"FFF", "FSF", "FFG"}, 42, true)
	if got := w.slip; got == nil {
		t.Fatal("not slippery")
	}
	w.move(1) // down, 0.438…: as wanted
	if w.y != 2 || w.x != 1 {
		t.Errorf("at %d,%d, want 2,1", w.y, w.x)
	}
	w.move(3) // up, 0.858…: to the next side, left
	if w.y != 2 || w.x != 0 {
		t.Errorf("at %d,%d, want 2,0", w.y, w.x)
	}
}

func TestFrozenLake(t *testing.T) {
	desc := []any{"SFH", "FFF", "HFG"}
	path := []string{"```Down```", "I think ```right```", "```3```", "nonsense", "``` down ```"}
	turn := 0
	model := byPrompt(func(prompt string) string {
		turn++
		return path[turn-1]
	})
	list := episodes(t, FrozenLake{}, Rollout{Args: map[string]any{"desc": desc}}, Task{Repeat: 1, Seed: 5}, model)
	e := list[0]
	if *e.Reward != 1 || e.Metrics["env_steps"] != 5 || e.Metrics["env_done"] != 1 || turn != 5 {
		t.Fatalf("reward %g, metrics %v after %d turns", *e.Reward, e.Metrics, turn)
	}
	said := strings.Join(path, "")
	if got := e.TrainableTokens(); got != len(said) {
		t.Errorf("%d tokens are trained, want the %d that the model wrote", got, len(said))
	}
	var wrote []byte
	for i, token := range e.Response() {
		if e.ActionMask[i] {
			wrote = append(wrote, byte(token))
			if e.Logprobs[i] != -0.25 {
				t.Fatalf("token %d has the logprob %g", i, e.Logprobs[i])
			}
		}
	}
	if string(wrote) != said {
		t.Errorf("trained on %q, want %q", wrote, said)
	}
	if !strings.Contains(e.PromptText, "user:The lake after 0 steps:\n P \t _ \t O \t\n _ \t _ \t _ \t\n O \t _ \t G "+
		"\t\n") {
		t.Errorf("the first prompt is %q", e.PromptText)
	}
	whole := bytewise{}.Decode(e.Tokens)
	if strings.Count(whole, "did not move you") != 1 || !strings.Contains(whole, "You have 6 steps left.") {
		t.Errorf("the episode reads\n%s", whole)
	}
}

func TestFrozenLakeEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		desc   []any
		answer string
		limit  int
		reward float64
		steps  float64
		cut    bool
	}{
		"in a hole":        {[]any{"SH", "FG"}, "```Right```", 0, 0, 1, false},
		"after all turns":  {[]any{"SFFG", "FFFF"}, "```Up```", 0, 0, 10, false},
		"without room":     {[]any{"SFFG", "FFFF"}, "```Up```", 300, 0, 2, true},
		"at the goal":      {[]any{"SG"}, "```4``` no, ```Right```", 0, 1, 1, false},
		"an open backtick": {[]any{"SG"}, "```Right``` or ```", 0, 1, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := Rollout{Args: map[string]any{"desc": tt.desc},
				Sampler: byPrompt(func(string) string { return tt.answer }), Renderer: turnwise{},
				Params: tinker.DefaultSampling()}
			r.Params.MaxTokens = tt.limit
			list, err := FrozenLake{}.Run(context.Background(), &r, Task{Repeat: 1})
			if err != nil {
				t.Fatal(err)
			}
			e := list[0]
			if *e.Reward != tt.reward || e.Metrics["env_steps"] != tt.steps ||
				(e.TruncateStatus == experience.ResponseTruncated) != tt.cut {
				t.Errorf("reward %g, metrics %v, %q", *e.Reward, e.Metrics, e.TruncateStatus)
			}
		})
	}
}

func TestFrozenLakeRefuses(t *testing.T) {
	for want, args := range map[string]map[string]any{
		"workflow_args.size is not an arg":              {"size": 4},
		"workflow_args.agent_max_steps is 0":            {"agent_max_steps": 0},
		"workflow_args.desc is [SF F]; it must be rows": {"desc": []any{"SF", "F"}},
		"workflow_args.is_slippery is \"yes\"; it must": {"is_slippery": "yes"},
	} {
		if _, err := WithDefaults("frozen_lake_workflow", Rollout{Args: args}, Own{}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", args, err, want)
		}
	}
	for want, row := range map[string]string{"must be a number": `{"size": "big"}`,
		"whole size from 2": `{"size": 1}`} {
		if _, err := (FrozenLake{}).Run(context.Background(), &Rollout{}, Task{Row: rowOf(t, row)}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", row, err, want)
		}
	}
}

func TestSudokuBoards(t *testing.T) {
	puzzle, solution := drawSudoku(rng.New(7).Stream("sudoku"))
	empty := 0
	for y := range 9 {
		for x := range 9 {
			if puzzle[y][x] == 0 {
				empty++
			} else if puzzle[y][x] != solution[y][x] {
				t.Fatalf("cell %d,%d is %d in the puzzle and %d in the solution", y, x, puzzle[y][x], solution[y][x])
			}
			if solution[y][x] == 0 {
				t.Fatal("the solution has an empty cell")
			}
		}
	}
	if empty != 40 || !solution.valid() || !puzzle.valid() {
		t.Errorf("%d empty cells, valid %v and %v", empty, solution.valid(), puzzle.valid())
	}
	solution[0][0], solution[0][1] = solution[0][1], solution[0][0]
	if solution.valid() {
		t.Error("two cells exchanged are still valid")
	}
}

// A model that knows the solution fills five cells a step and wins with the eighth.
func TestSudokuSolved(t *testing.T) {
	_, solution := drawSudoku(rng.New(3).Stream("sudoku"))
	solver := byPrompt(func(prompt string) string {
		_, board, _ := strings.Cut(prompt, "The board:\n")
		numbers := strings.Fields(board)
		var lines []string
		for cell := range 81 {
			if numbers[cell] == "0" && len(lines) < 5 {
				lines = append(lines, fmt.Sprint(cell/9, cell%9, solution[cell/9][cell%9]))
			}
		}
		return strings.Join(lines, "\n")
	})
	list := episodes(t, Sudoku{}, Rollout{}, Task{Index: 3, Repeat: 2}, solver)
	var got []string
	for _, e := range list {
		got = append(got, fmt.Sprintf("%d/%d:%g", e.EID.Run, e.EID.Step, *e.Reward))
	}
	var want []string
	for run := range 2 {
		for step := range 8 {
			reward := 0
			if step == 7 {
				reward = 1
			}
			want = append(want, fmt.Sprintf("%d/%d:%d", run, step, reward))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

func TestSudokuMistakes(t *testing.T) {
	row := `{"puzzle": [[1,0,0,0,0,0,0,0,0],[0,0,0,0,0,0,0,0,0],[0,0,0,0,0,0,0,0,0],[0,0,0,0,0,0,0,0,0],[0,0,0,0,0,` +
		`0,0,0,0],[0,0,0,0,0,0,0,0,0],[0,0,0,0,0,0,0,0,0],[0,0,0,0,0,0,0,0,0],[0,0,0,0,0,0,0,0,0]],
		"solution": "[[0,0,0,0,0,0,0,0,0],[0,0,0,0,0,0,0,0,0],[0,0,0,0,0,0,0,0,0],[0,0,0,0,0,0,0,0,0],[0,0,0,0,0,0,` +
		`0,0,0],[0,0,0,0,0,0,0,0,0],[0,0,0,0,0,0,0,0,0],[0,0,0,0,0,0,0,0,0],[0,0,0,0,0,0,0,0,0]]"}`
	for answer, steps := range map[string]int{
		"0 0 2": 1, "0 1 1": 1, "1 1 1": 1, "": 1, "0 1": 1, "0 1 10": 1, "9 1 1": 1, "0 1 x": 1,
		"0 1 2\n0 2 3\n0 3 4\n0 4 5\n0 5 6\n0 6 7": 1,
		"0 1 2": 2, // right once; then the cell is taken
	} {
		list := episodes(t, Sudoku{}, Rollout{}, Task{Row: rowOf(t, row), Repeat: 1},
			func(string) string { return answer })
		if len(list) != steps || *list[len(list)-1].Reward != -1 {
			t.Errorf("%q: %d steps, the last with reward %g", answer, len(list), *list[len(list)-1].Reward)
		}
	}
}
