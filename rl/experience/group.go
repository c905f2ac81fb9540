package experience

// Turn is one exchange of an episode: what the model was shown and what it answered.
type Turn struct {
	Prompt   []int32   // tokens shown, [P]
	Response []int32   // tokens sampled, [R]
	Logprobs []float32 // of the response at temperature 1, [R]
	Text     string    // the response decoded
	Stop     StopReason
}

// Experience makes a turn into an experience whose whole response is trained. The slices are copied.
func (t Turn) Experience(id EID) *Experience {
	e := &Experience{
		EID:          id,
		Tokens:       make([]int32, 0, len(t.Prompt)+len(t.Response)),
		PromptLength: len(t.Prompt),
		Logprobs:     append([]float32(nil), t.Logprobs...),
		ActionMask:   make([]bool, len(t.Response)),
		ResponseText: t.Text,
		StopReason:   t.Stop,
	}
	e.Tokens = append(append(e.Tokens, t.Prompt...), t.Response...)
	for i := range e.ActionMask {
		e.ActionMask[i] = t.Stop != StopPromptTruncated && t.Stop != StopError
	}
	if t.Stop == StopPromptTruncated {
		e.TruncateStatus = PromptTruncated
	}
	return e
}

// Group is the experiences of one task, the unit that advantages are computed over.
type Group struct {
	ID          string // the TID, RID or SID the members share
	Experiences []*Experience
}

// GroupBy splits a list into groups with equal key, in order of first appearance and keeping the order inside each;
// key is usually EID.TID.
func GroupBy(list []*Experience, key func(EID) string) []Group {
	var groups []Group
	at := make(map[string]int)
	for _, e := range list {
		k := key(e.EID)
		i, seen := at[k]
		if !seen {
			i = len(groups)
			at[k] = i
			groups = append(groups, Group{ID: k})
		}
		groups[i].Experiences = append(groups[i].Experiences, e)
	}
	return groups
}
