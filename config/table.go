package config

// AlgorithmRow is one line of the table of algorithm types: what an algorithm uses where the configuration leaves it
// open. An empty name means that the algorithm has no such function.
type AlgorithmRow struct {
	RepeatTimes    int // rollouts per task
	Advantage      string
	AdvantageArgs  map[string]any
	SampleStrategy string
	PolicyLoss     string
	KLLoss         string
	EntropyLoss    string
	LossAggMode    string // empty: token-mean
	Schema         string // of what is trained on: experience, sft or dpo
	InTrainer      bool   // advantages are computed by the trainer, from logprobs of the current model
	Critic         bool
	Reference      bool // a reference model enters the loss
}

// Algorithms is the table of algorithm types, after Trinity-RFT 0.5.2, with dapo, gigpo and m2po of its later versions,
// remax as a type of its own, and three repairs: raft has no advantage function (upstream falls back to one that cannot
// run), grpo_verl computes its advantage where it says, and gspo keeps its own aggregation. Package algorithm has the
// functions, and a test compares the two tables.
func Algorithms() map[string]AlgorithmRow {
	group := AlgorithmRow{RepeatTimes: 2, Advantage: "grpo", SampleStrategy: "default", PolicyLoss: "ppo",
		KLLoss: "k2", EntropyLoss: "default", Schema: "experience", Reference: true}
	with := func(row AlgorithmRow, change func(*AlgorithmRow)) AlgorithmRow { change(&row); return row }
	inTrainer := func(advantage string) AlgorithmRow {
		return with(group, func(r *AlgorithmRow) { r.Advantage, r.InTrainer = advantage, true })
	}
	loss := func(name string) AlgorithmRow {
		return with(group, func(r *AlgorithmRow) { r.PolicyLoss = name })
	}
	bare := func(n int, advantage, policy string) AlgorithmRow { // no reference, KL or entropy
		return AlgorithmRow{RepeatTimes: n, Advantage: advantage, SampleStrategy: "default", PolicyLoss: policy,
			KLLoss: "none", EntropyLoss: "none", Schema: "experience"}
	}
	mix := func(policy string) AlgorithmRow {
		return AlgorithmRow{RepeatTimes: 8, Advantage: "grpo", SampleStrategy: "mix", PolicyLoss: policy,
			KLLoss: "k2", EntropyLoss: "mix", Schema: "experience", Reference: true}
	}
	distill := func(advantage string, args map[string]any) AlgorithmRow {
		return with(bare(8, advantage, "ppo"), func(r *AlgorithmRow) { r.AdvantageArgs, r.InTrainer = args, true })
	}
	return map[string]AlgorithmRow{
		"ppo":               with(inTrainer("ppo"), func(r *AlgorithmRow) { r.RepeatTimes, r.Critic = 1, true }),
		"grpo":              group,
		"grpo_verl":         inTrainer("grpo_verl"),
		"reinforceplusplus": inTrainer("reinforceplusplus"),
		"rloo":              inTrainer("rloo"),
		"opmd":              with(loss("opmd"), func(r *AlgorithmRow) { r.Advantage = "opmd" }),
		"asymre":            bare(2, "asymre", "opmd"),
		"topr":              with(loss("topr"), func(r *AlgorithmRow) { r.Advantage = "reinforce" }),
		"cispo":             loss("cispo"),
		"gspo":              with(loss("gspo"), func(r *AlgorithmRow) { r.LossAggMode = "seq-mean-token-mean" }),
		"sapo":              loss("sapo"),
		"mix":               mix("mix"),
		"mix_chord":         mix("mix_chord"),
		"raft":              bare(1, "", "sft"),
		"sppo":              bare(2, "opmd", "sppo"),
		"rec":               with(loss("rec"), func(r *AlgorithmRow) { r.Advantage = "rec" }),
		"dapo": with(group,
			func(r *AlgorithmRow) { r.RepeatTimes, r.KLLoss, r.Reference = 16, "none", false }),
		"gigpo":             with(group, func(r *AlgorithmRow) { r.RepeatTimes, r.Advantage = 8, "gigpo" }),
		"m2po":              loss("m2po"),
		"remax":             inTrainer("remax"),
		"multi_step_grpo":   with(group, func(r *AlgorithmRow) { r.RepeatTimes, r.Advantage = 8, "step_wise_grpo" }),
		"on_policy_distill": distill("on_policy_distill", map[string]any{"kl_coef": 1.0}),
		"jsd":               distill("jsd", map[string]any{"kl_coef": 1.0, "lambda_coef": 0.5}),
		"sft":               with(bare(1, "", "sft"), func(r *AlgorithmRow) { r.Schema = "sft" }),
		"dpo":               with(loss("dpo"), func(r *AlgorithmRow) { r.Advantage, r.Schema = "", "dpo" }),
	}
}

// The names that each choice of section algorithm may have.
func advantageFns() []string {
	return []string{"ppo", "grpo", "grpo_verl", "reinforceplusplus", "rloo", "remax", "opmd", "opmd_verl", "asymre",
		"asymre_verl",
		"reinforce", "rec", "step_wise_grpo", "gigpo", "clipb", "clipv", "on_policy_distill", "jsd"}
}

func policyLossFns() []string {
	return []string{"ppo", "gspo", "cispo", "topr", "opmd", "sppo", "sapo", "rec", "importance_sampling", "sft",
		"sft_is", "sft_phi",
		"dpo", "mix", "mix_chord", "m2po"}
}

func klFns() []string {
	return []string{"none", "k1", "k2", "k3", "low_var_kl", "abs", "corrected_k3"}
}

func entropyLossFns() []string { return []string{"default", "mix", "none"} }

func sampleStrategies() []string { return []string{"default", "warmup", "staleness_control", "mix"} }

func aggregations() []string {
	return []string{"token-mean", "seq-mean-token-sum", "seq-mean-token-mean", "seq-mean-token-sum-norm"}
}
