package gguf

// EndsOfTurn are the texts of tokens that end an answer, and EndsOfCall those that end a call of a tool, as llama.cpp
// knows them (llama-vocab.cpp).
func EndsOfTurn() []string {
	return []string{"<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>", "<|endoftext|>"}
}

// EndsOfCall see [EndsOfTurn].
func EndsOfCall() []string { return []string{"<|eom_id|>"} }
