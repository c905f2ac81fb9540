package tinker

import "time"

// LoRA selects the trained parameters. Rank 0 is full-parameter training, which only a local engine offers.
type LoRA struct {
	Rank         int     `json:"rank"`
	Alpha        float64 `json:"alpha,omitempty"` // 0 means 32, the hosted service's value
	Seed         *int64  `json:"seed,omitempty"`  // of the adapter's initial weights; nil is a random one
	TrainAttn    bool    `json:"train_attn"`
	TrainMLP     bool    `json:"train_mlp"`
	TrainUnembed bool    `json:"train_unembed"`
	// Modules, if not empty, names the linear layers that train, such as "q_proj,v_proj", and the flags are ignored.
	// Only a local engine offers it.
	Modules string `json:"target_modules,omitempty"`
}

// CreateModelRequest asks for a new training run.
type CreateModelRequest struct {
	SessionID  string `json:"session_id"` // "" is a random one
	ModelSeqID int64  `json:"model_seq_id"`
	BaseModel  string `json:"base_model"`
	LoRA       LoRA   `json:"lora_config"`
	// rank 0 only: begin from random weights, drawn from LoRA.Seed
	RandomInit   bool              `json:"random_init,omitempty"`
	UserMetadata map[string]string `json:"user_metadata,omitempty"`
	// OptimizerType is AdamW or, for LoRA, Dimuon; "" is AdamW.
	OptimizerType string `json:"optimizer_type,omitempty"`
	Owner         string `json:"owner,omitempty"` // the tenant: owners get equal shares; it changes no result
}

// CreateFromStateRequest asks for a new training run that continues from a saved state.
type CreateFromStateRequest struct {
	SessionID  string `json:"session_id"`
	ModelSeqID int64  `json:"model_seq_id"`
	Path       string `json:"path"`      // tinker://…/weights/<name>
	Optimizer  bool   `json:"optimizer"` // restore the optimizer too
	// OptimizerType is the new run's, as in CreateModelRequest. With Optimizer set it must be "" or the
	// checkpoint's.
	OptimizerType string `json:"optimizer_type,omitempty"`
	Owner         string `json:"owner,omitempty"` // as of CreateModelRequest
}

// SamplingClientRequest names the weights to sample from: a base model, or saved sampler weights by path.
type SamplingClientRequest struct {
	BaseModel string `json:"base_model,omitempty"`
	ModelPath string `json:"model_path,omitempty"`
	Owner     string `json:"owner,omitempty"` // as of CreateModelRequest
	// Inflight, with a ModelPath, asks for a [Mover]. Services that have none refuse it.
	Inflight bool `json:"inflight,omitempty"`
}

// ModelInput is the tokens that a model reads and, on services that accept them, images.
type ModelInput struct {
	Chunks []Chunk `json:"chunks"`
}

// Chunk is one piece of a ModelInput: text tokens or one image.
type Chunk struct {
	Tokens []int32 `json:"tokens,omitempty"`
	Image  *Image  `json:"image,omitempty"`
}

// Image is an encoded picture; ExpectedTokens is the number of positions it takes.
type Image struct {
	Data           []byte `json:"data"`
	Format         string `json:"format"` // png or jpeg
	ExpectedTokens int    `json:"expected_tokens"`
}

// Text makes a ModelInput of tokens, which it keeps.
func Text(tokens []int32) ModelInput { return ModelInput{Chunks: []Chunk{{Tokens: tokens}}} }

// Len is the number of positions.
func (m ModelInput) Len() int {
	n := 0
	for _, c := range m.Chunks {
		if c.Image != nil {
			n += c.Image.ExpectedTokens
		}
		n += len(c.Tokens)
	}
	return n
}

// Tokens returns the tokens of a text-only input; ok is false when there is anything else in it.
func (m ModelInput) Tokens() (tokens []int32, ok bool) {
	if len(m.Chunks) == 1 && m.Chunks[0].Image == nil {
		return m.Chunks[0].Tokens, true
	}
	for _, c := range m.Chunks {
		if c.Image != nil {
			return nil, false
		}
		tokens = append(tokens, c.Tokens...)
	}
	return tokens, true
}

// Datum is one training sequence. Position i of the input predicts LossFnInputs["target_tokens"][i].
type Datum struct {
	ModelInput   ModelInput        `json:"model_input"`
	LossFnInputs map[string]Tensor `json:"loss_fn_inputs"`
}

// Names of losses (see package loss for their formulas) and of their inputs.
const (
	CrossEntropy       = "cross_entropy"
	ImportanceSampling = "importance_sampling"
	PPO                = "ppo"
	CISPO              = "cispo"
	DRO                = "dro"
	GSPO               = "gspo"
	StableReinforce    = "stable_reinforce"
	TrinityPPO         = "trinity_ppo" // Trinity-RFT's, not of the official protocol

	TargetTokens = "target_tokens" // int64 [N] or [N,K]
	Weights      = "weights"       // float32, shape of target_tokens
	Logprobs     = "logprobs"      // float32 [N]: the sampler's
	Advantages   = "advantages"    // float32 [N]

	SequenceRatioMask = "sequence_ratio_mask" // float32 [N]: nonzero where gspo takes its sequence ratio
	SampledMask       = "sampled_mask"        // float32 [N]: nonzero where stable_reinforce's targets were sampled

	RefLogprobs = "ref_logprobs" // float32 [N]: the reference model's, of trinity_ppo
	Mask        = "mask"         // float32 [N]: trinity_ppo's response tokens, in place of weights

	// On a service with ExactEntropy, loss_fn_config may have EntropyCoef in addition to a loss's own settings.
	// EntropyCoef times the sum over positions of weight times entropy of the model's distribution is then subtracted
	// from the loss, with its gradient. The weights are EntropyWeights, or ones if there are none. An EntropyCoef of 0
	// only returns the entropies.
	EntropyCoef    = "entropy_coef"
	EntropyWeights = "entropy_weights" // float32 [N], an input
	Entropy        = "entropy"         // float32 [N], an output: nats, temperature 1
	// float32 [N], an output: the mean of p·(entropy + log p) over a draw with probability p
	EntropyCentre = "entropy_centre"
)

// ForwardRequest is a batch for Forward or ForwardBackward.
type ForwardRequest struct {
	SeqID        int64              `json:"seq_id"`
	Data         []Datum            `json:"data"`
	LossFn       string             `json:"loss_fn"`
	LossFnConfig map[string]float64 `json:"loss_fn_config,omitempty"`
}

// ForwardOutput has one record per datum, in request order, and metrics named name:reduction.
type ForwardOutput struct {
	// "logprobs": float32, shape of target_tokens, nats, temperature 1
	LossFnOutputs []map[string]Tensor `json:"loss_fn_outputs"`
	Metrics       map[string]float64  `json:"metrics"` // "loss:sum" is the loss of the request
}

// AdamParams are one step's settings of AdamW with decoupled weight decay.
type AdamParams struct {
	LearningRate float64 `json:"learning_rate"`
	Beta1        float64 `json:"beta1"`
	Beta2        float64 `json:"beta2"`
	Eps          float64 `json:"eps"`
	WeightDecay  float64 `json:"weight_decay"`
	GradClipNorm float64 `json:"grad_clip_norm"` // clip by the global L2 norm before the step; 0 is off
}

// DefaultAdam returns the SDK's defaults.
func DefaultAdam() AdamParams {
	return AdamParams{LearningRate: 1e-4, Beta1: 0.9, Beta2: 0.95, Eps: 1e-12}
}

// DimuonParams are one step's settings of Dimuon (see package optim).
type DimuonParams struct {
	LearningRate float64 `json:"learning_rate"`
	GradClipNorm float64 `json:"grad_clip_norm"` // clip by the global L2 norm before the step; 0 or less is off
	Beta1        float64 `json:"beta1"`
	Damping      float64 `json:"damping"`
	RankExponent float64 `json:"rank_lr_correction_exponent"`
}

// DefaultDimuon returns the SDK's defaults. The learning rate has no default and is 0 here.
func DefaultDimuon() DimuonParams {
	return DimuonParams{Beta1: 0.9, Damping: 1e-4, RankExponent: 0.175}
}

// The optimizers. A model never changes its optimizer.
const (
	AdamW  = "adamw" // also ""
	Dimuon = "dimuon"
)

// OptimStepRequest asks for one optimizer step, with the settings of the model's optimizer: of Dimuon if that is set,
// else of AdamW. Settings of another optimizer are refused, and the gradient stays.
type OptimStepRequest struct {
	SeqID  int64         `json:"seq_id"`
	Adam   AdamParams    `json:"adam_params"`
	Dimuon *DimuonParams `json:"dimuon_params,omitempty"`
}

// OptimStepOutput reports the step.
type OptimStepOutput struct {
	Metrics map[string]float64 `json:"metrics"` // "grad_norm": the gradient's global L2 norm before clipping
}

// SaveRequest names a checkpoint. Overwrite false refuses a name that is taken.
type SaveRequest struct {
	SeqID     int64         `json:"seq_id"`
	Name      string        `json:"name"`
	TTL       time.Duration `json:"ttl,omitempty"` // 0 keeps it; afterwards the checkpoint is ErrNotFound
	Overwrite bool          `json:"overwrite,omitempty"`
}

// SaveOutput is the path of the checkpoint.
type SaveOutput struct {
	Path string `json:"path"` // tinker://…
}

// LoadRequest names a saved state to load.
type LoadRequest struct {
	SeqID     int64  `json:"seq_id"`
	Path      string `json:"path"`
	Optimizer bool   `json:"optimizer"`
}

// LoadOutput names the loaded checkpoint.
type LoadOutput struct {
	Path string `json:"path"`
}
