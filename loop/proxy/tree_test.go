package proxy

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint"
)

// grown asks for a prompt and records an answer of those ids, which stand for the text.
func grown(t *testing.T, tr *tree, prompt, heard string, sampled ...int32) *call {
	t.Helper()
	ids, parent, err := tr.next(prompt, bytesOnly)
	if err != nil {
		t.Fatal(err)
	}
	c := &call{id: fmt.Sprint(len(tr.calls)), parent: parent, prompt: ids, sampled: sampled, text: prompt, heard: heard,
		stop: tinker.StopStop, version: 7 + len(tr.calls)}
	for i := range sampled {
		c.logprobs = append(c.logprobs, -float32(10*len(tr.calls)+i+1))
	}
	tr.add(c)
	return c
}

// bytesOnly encodes a text as its bytes.
func bytesOnly(text string) (ids []int32, err error) {
	for _, b := range []byte(text) {
		ids = append(ids, int32(b))
	}
	return ids, nil
}

// A session that continues, branches and begins anew is one experience: a sequence for each leaf, with the ids that
// were sampled, each trained once.
func TestTreeIsOneExperience(t *testing.T) {
	var tr tree
	first := grown(t, &tr, "u:", "hi.", 900, '.')      // ids that no encoder gives
	second := grown(t, &tr, "u:hi.v:", "ho", 901)      // continues
	branch := grown(t, &tr, "u:hi.w:", "hm", 902, 903) // continues the first: a branch
	anew := grown(t, &tr, "u:HI.v:", "x", 904)         // another text: it continues nothing
	deep := grown(t, &tr, "u:hi.v:ho?", "y", 905)      // continues the longest, which is the second
	if again := first.sequence(); again.Text != "u:hi." {
		t.Errorf("the first call reads %q", again.Text)
	}
	for i, c := range []struct{ got, want *call }{{second.parent, first}, {branch.parent, first}, {anew.parent, nil},
		{deep.parent, second}, {tr.extended(append(slices.Clone(deep.prompt), 905, 1)), deep},
		{tr.extended([]int32{1}), nil}} {
		if c.got != c.want {
			t.Errorf("%d: the parent is %+v, want %+v", i, c.got, c.want)
		}
	}
	if want := []int32{'u', ':', 900, '.', 'v', ':'}; !slices.Equal(second.prompt, want) {
		t.Errorf("the second prompt is %v, want %v", second.prompt, want)
	}
	e := tr.experience()
	e.SetReward(1)
	if err := e.Validate(); err != nil {
		t.Fatal(err)
	}
	want := []struct {
		tokens []int32
		mask   string // of the whole sequence
	}{
		// in the order of the leaves: the branch is recorded before deep
		{[]int32{'u', ':', 900, '.', 'w', ':', 902, 903}, "..xx..xx"},
		{[]int32{'u', ':', 'H', 'I', '.', 'v', ':', 904}, ".......x"},
		{[]int32{'u', ':', 900, '.', 'v', ':', 901, '?', 905}, "......x.x"},
	}
	spans := e.Spans()
	if len(spans) != len(want) {
		t.Fatalf("%d sequences, want %d", len(spans), len(want))
	}
	byToken := map[int32]float32{}
	for _, c := range tr.calls {
		for i, id := range c.sampled {
			byToken[id] = c.logprobs[i]
		}
	}
	trained := 0
	for i, w := range want {
		from, to := spans[i][0], spans[i][1]
		mask := ""
		for j := from; j < to; j++ {
			x := "."
			if at := j - e.PromptLength; at >= 0 && e.ActionMask[at] {
				x = "x"
				if trained++; e.Logprobs[at] != byToken[e.Tokens[j]] {
					t.Errorf("token %d has logprob %v, want %v", e.Tokens[j], e.Logprobs[at], byToken[e.Tokens[j]])
				}
			}
			mask += x
		}
		if !slices.Equal(e.Tokens[from:to], w.tokens) || mask != w.mask {
			t.Errorf("sequence %d: %v %s, want %v %s", i, e.Tokens[from:to], mask, w.tokens, w.mask)
		}
	}
	if trained != 7 || e.PromptLength != 2 || e.Metrics[workflow.NewSequences] != 2 || e.Metrics["num_turns"] != 5 ||
		e.Info.ModelVersion != 7 || e.Metrics[experience.VersionDrift] != 4 ||
		!strings.HasPrefix(e.ResponseText, "hi.\nho\n") {
		t.Errorf("%d trained tokens; %+v", trained, e)
	}
}

// An answer that ended with the token that the next prompt begins with has it once.
func TestTreeDoesNotRepeatTheEnd(t *testing.T) {
	var tr tree
	grown(t, &tr, "q", "a", 'a', ';') // the end token, which nobody hears
	c := grown(t, &tr, "qa;r", "b", 'b')
	if want := []int32{'q', 'a', ';', 'r'}; !slices.Equal(c.prompt, want) || c.parent == nil {
		t.Errorf("the prompt is %v, want %v", c.prompt, want)
	}
	e := tr.experience()
	if len(e.Starts) != 0 || e.Metrics[workflow.NewSequences] != 0 || e.TrainableTokens() != 3 {
		t.Errorf("%+v", e)
	}
}

func askedOf(ids []int32) *endpoint.Asked { return &endpoint.Asked{Prompts: [][]int32{ids}} }
