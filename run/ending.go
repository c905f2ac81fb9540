package run

import (
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/loop/trainer"
)

// endless says that a model has not learned to end its answers, and the remedy; "" where it has, or where that is not
// known. An adapter that leaves the head as it is cannot tell apart tokens that have nearly one row in it.
func endless(l config.LoRA, e trainer.Ending) string {
	const remedy = "the adapter leaves the head as it is, and in some models all special tokens have nearly one row " +
		"there, so that no adapter below it can tell the end token from them: adapt the head too, with " +
		"model.tinker.train_unembed: true, or lm_head in model.lora_configs[0].target_modules"
	headless := l.Rank > 0 && !l.TrainUnembed
	switch {
	case e.Examples > 0 && e.Probability < 0.5:
		text := fmt.Sprintf("where the examples of the last step end, the end token has a probability of %.3g in the "+
			"mean, so sampled answers run on; ", e.Probability)
		if headless {
			return text + remedy
		}
		return text + "train more steps, and check that the rows end with the tokens that end an answer"
	case 2*e.Cut > e.Sampled:
		text := fmt.Sprintf("%d of the %d answers of the last step did not end, but were cut at the maximum length; ",
			e.Cut, e.Sampled)
		if headless {
			return text + "raise model.max_response_tokens if they are too long; if they run on after what they had " +
				"to say: " + remedy
		}
		return text + "raise model.max_response_tokens, or train first on examples that end"
	}
	return ""
}
