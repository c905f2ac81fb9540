package workflow

// BuiltIn is a workflow's own prompt. Its words are this project's, not Trinity-RFT's, so a model that was trained with
// the other words answers differently.
type BuiltIn struct {
	Text        string
	Replaceable bool // by format.system_prompt
}

// BuiltInPrompt returns a workflow's own prompt, given the configured system prompt and the rollout with the workflow's
// defaults; its text is empty if there is none.
func BuiltInPrompt(w Workflow, system string, r *Rollout) BuiltIn {
	switch w := w.(type) {
	case MathEval:
		return BuiltIn{Text: boxedPrompt}
	case FrozenLake:
		return BuiltIn{Text: lakeRules}
	case Sudoku:
		return BuiltIn{Text: sudokuRules}
	case ToolCall:
		return BuiltIn{Text: toolRules}
	case Math, Ruler, TrainableRuler:
		if r.RewardName != "math_reward" {
			return BuiltIn{}
		}
		return replaceable(system, thinkPrompt)
	case Boxed:
		return replaceable(system, w.builtIn(r.Args))
	case DistillMath:
		return replaceable(system, boxedPrompt)
	}
	return BuiltIn{}
}

func replaceable(system, text string) BuiltIn {
	if system != "" {
		return BuiltIn{}
	}
	return BuiltIn{Text: text, Replaceable: true}
}

// builtIn is the system prompt that goes with arguments.
func (Boxed) builtIn(args map[string]any) string {
	if think, _ := args["with_think"].(bool); think {
		return boxedThinkPrompt
	}
	return boxedPrompt
}
