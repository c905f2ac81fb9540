package algorithm

// Row is one line of Trinity-RFT's table of algorithm types: which functions an algorithm uses when the configuration
// does not choose others.
type Row struct {
	Advantage      string // key of Advantages or LateAdvantages, empty when the algorithm scores nothing
	SampleStrategy string // key of SampleStrategies
	PolicyLoss     string // key of PolicyLosses
	KLLoss         string // key of KLs
	Entropy        string // key of Entropies
	Aggregation    Aggregation
	Schema         string // what a training example is: "experience", "sft", "dpo"
}

// Algorithms is the table of algorithm types, by the value of algorithm.algorithm_type: those of Trinity-RFT 0.5.2, and
// dapo, gigpo and m2po of its later versions. Repaired are raft, which scores nothing (upstream falls back to an
// advantage that cannot run), grpo_verl, which scores in the trainer as its name says, and gspo, which keeps the
// aggregation it is defined with.
func Algorithms() map[string]Row {
	full := func(advantage, policy string) Row { // with a reference in the loss
		return Row{Advantage: advantage, SampleStrategy: "default", PolicyLoss: policy, KLLoss: "k2",
			Entropy: "default", Aggregation: TokenMean, Schema: "experience"}
	}
	bare := func(advantage, policy string) Row { // without reference and entropy
		return Row{Advantage: advantage, SampleStrategy: "default", PolicyLoss: policy, KLLoss: "none", Entropy: "none",
			Aggregation: TokenMean, Schema: "experience"}
	}
	mixed := func(policy string) Row {
		r := full("grpo", policy)
		r.SampleStrategy, r.Entropy = "mix", "mix"
		return r
	}
	dataset := func(r Row, schema string) Row { r.Schema = schema; return r }
	bySequence := func(r Row) Row { r.Aggregation = SeqMeanTokenMean; return r }
	noKL := func(r Row) Row { r.KLLoss = "none"; return r }
	return map[string]Row{
		"ppo":               full("ppo", "ppo"),
		"grpo":              full("grpo", "ppo"),
		"grpo_verl":         full("grpo_verl", "ppo"),
		"dapo":              noKL(full("grpo", "ppo")),
		"gigpo":             full("gigpo", "ppo"),
		"multi_step_grpo":   full("step_wise_grpo", "ppo"),
		"reinforceplusplus": full("reinforceplusplus", "ppo"),
		"rloo":              full("rloo", "ppo"),
		"remax":             full("remax", "ppo"),
		"gspo":              bySequence(full("grpo", "gspo")),
		"cispo":             full("grpo", "cispo"),
		"sapo":              full("grpo", "sapo"),
		"m2po":              full("grpo", "m2po"),
		"topr":              full("reinforce", "topr"),
		"opmd":              full("opmd", "opmd"),
		"rec":               full("rec", "rec"),
		"asymre":            bare("asymre", "opmd"),
		"sppo":              bare("opmd", "sppo"),
		"on_policy_distill": bare("on_policy_distill", "ppo"),
		"jsd":               bare("jsd", "ppo"),
		"raft":              bare("", "sft"),
		"mix":               mixed("mix"),
		"mix_chord":         mixed("mix_chord"),
		"sft":               dataset(bare("", "sft"), "sft"),
		"dpo":               dataset(full("", "dpo"), "dpo"),
	}
}
