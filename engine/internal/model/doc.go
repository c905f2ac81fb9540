// Package model computes decoder-only transformers of many families, with or without experts, from Hugging Face
// folders: forward, log-probabilities and, written by hand, backward, for the full parameters or LoRA adapters.
//
// There is one forward. Prefill, decoding and training run it over rows: the tokens of a call one after another. The
// bits of a row are a function of the weights, the adapter and the tokens before it. They do not depend on the other
// rows, on how a prompt is split into calls, on the workers or on the kernels' path. A bf16 model rounds in two
// places only, the input of each frozen linear and the stored keys and values; everything else is float32.
//
// A training step calls [Runner.Forward] with a [Tape], [Runner.Score] with the loss's gradient, and
// [Runner.Backward] into [Grads]. Sampling calls [Runner.Forward] without a tape and [Runner.Logits].
package model
