// Package model computes decoder-only transformers of the Llama, Qwen2, Qwen3 and Mistral families from Hugging Face folders: forward,
// log-probabilities and, by hand, backward, of the full parameters or of LoRA adapters.
//
// There is one forward. Prefill, decoding and training run it over rows, the tokens of a call one after another, and a row's
// bits are a function of the weights, the adapter and the tokens before it: not of the other rows, of how a prompt is cut into
// calls, of the workers or of the kernels' path. Rounding of a bf16 model is in two places only, the input of each frozen
// linear and the stored keys and values; everything else is float32.
//
// The life of a training step: [Runner.Forward] with a [Tape], [Runner.Score] with the loss's gradient, [Runner.Backward] into
// [Grads]. That of a sampled token: [Runner.Forward] without a tape, [Runner.Logits].
package model
