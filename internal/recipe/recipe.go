// Package recipe is the table of algorithm types: the functions that each one uses. Package config fills in from it
// what a configuration leaves open; package rl/algorithm implements the functions.
package recipe

// Recipe names the functions of an algorithm type. An empty name means that it has no such function.
type Recipe struct {
	RepeatTimes    int // rollouts per task
	Advantage      string
	AdvantageArgs  map[string]any
	SampleStrategy string
	PolicyLoss     string
	KLLoss         string
	EntropyLoss    string
	Aggregation    string // empty: token-mean
	Schema         string // of a training example: experience, sft, cpt or dpo
}

// Critic reports whether the algorithm learns values.
func (r Recipe) Critic() bool { return r.Advantage == "ppo" }

// Before06 returns the recipes of jobs that were begun when this program followed Trinity-RFT 0.5.2.
func Before06() map[string]Recipe {
	table := All()
	row := table["grpo"]
	row.PolicyLoss = "m2po"
	table["m2po"] = row
	return table
}

// All returns the recipes by algorithm.algorithm_type: Trinity-RFT 0.6.0's, m2po of a later branch, and remax. Three
// differ from upstream: raft has no advantage function (upstream falls back to one that cannot run), the trainer
// computes grpo_verl's advantage, as its name says, and gspo keeps the aggregation that defines it.
func All() map[string]Recipe {
	group := Recipe{RepeatTimes: 2, Advantage: "grpo", SampleStrategy: "default", PolicyLoss: "ppo",
		KLLoss: "k2", EntropyLoss: "default", Schema: "experience"}
	with := func(row Recipe, change func(*Recipe)) Recipe { change(&row); return row }
	advantage := func(name string) Recipe { return with(group, func(r *Recipe) { r.Advantage = name }) }
	loss := func(name string) Recipe { return with(group, func(r *Recipe) { r.PolicyLoss = name }) }
	bare := func(n int, advantage, policy string) Recipe { // no reference, KL or entropy
		return Recipe{RepeatTimes: n, Advantage: advantage, SampleStrategy: "default", PolicyLoss: policy,
			KLLoss: "none", EntropyLoss: "none", Schema: "experience"}
	}
	mix := func(policy string) Recipe {
		return Recipe{RepeatTimes: 8, Advantage: "grpo", SampleStrategy: "mix", PolicyLoss: policy,
			KLLoss: "k2", EntropyLoss: "mix", Schema: "experience"}
	}
	distill := func(advantage string, args map[string]any) Recipe {
		return with(bare(8, advantage, "ppo"), func(r *Recipe) { r.AdvantageArgs = args })
	}
	return map[string]Recipe{
		"ppo":               with(advantage("ppo"), func(r *Recipe) { r.RepeatTimes = 1 }),
		"grpo":              group,
		"grpo_verl":         advantage("grpo_verl"),
		"reinforceplusplus": advantage("reinforceplusplus"),
		"rloo":              advantage("rloo"),
		"opmd":              with(loss("opmd"), func(r *Recipe) { r.Advantage = "opmd" }),
		"asymre":            bare(2, "asymre", "opmd"),
		"topr":              with(loss("topr"), func(r *Recipe) { r.Advantage = "reinforce" }),
		"cispo":             loss("cispo"),
		"gspo":              with(loss("gspo"), func(r *Recipe) { r.Aggregation = "seq-mean-token-mean" }),
		"sapo":              loss("sapo"),
		"mix":               mix("mix"),
		"mix_chord":         mix("mix_chord"),
		"raft":              bare(1, "", "sft"),
		"sppo":              bare(2, "opmd", "sppo"),
		"rec":               with(loss("rec"), func(r *Recipe) { r.Advantage = "rec" }),
		"dapo":              with(group, func(r *Recipe) { r.RepeatTimes, r.KLLoss = 16, "none" }),
		"gigpo":             with(group, func(r *Recipe) { r.RepeatTimes, r.Advantage = 8, "gigpo" }),
		"m2po":              bare(8, "grpo", "m2po"),
		"remax":             advantage("remax"),
		"multi_step_grpo":   with(group, func(r *Recipe) { r.RepeatTimes, r.Advantage = 8, "step_wise_grpo" }),
		"on_policy_distill": distill("on_policy_distill", map[string]any{"kl_coef": 1.0}),
		"jsd":               distill("jsd", map[string]any{"kl_coef": 1.0, "lambda_coef": 0.5}),
		"sft":               with(bare(1, "", "sft"), func(r *Recipe) { r.Schema = "sft" }),
		"cpt":               with(bare(1, "", "sft"), func(r *Recipe) { r.Schema = "cpt" }),
		"dpo":               with(loss("dpo"), func(r *Recipe) { r.Advantage, r.Schema = "", "dpo" }),
	}
}
