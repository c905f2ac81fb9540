package gguf

// EndsOfTurn are the texts of tokens that end an answer, and EndsOfCall those that end a call of a tool, as llama.cpp
// knows them (llama-vocab.cpp).
func EndsOfTurn() []string {
	return []string{"<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>", "<|endoftext|>"}
}

// EndsOfCall see [EndsOfTurn].
func EndsOfCall() []string { return []string{"<|eom_id|>"} }

// OtherEnds are the texts of further tokens at which llama.cpp ends an answer.
func OtherEnds() []string {
	return []string{"<|return|>", "<|call|>", "<|flush|>", "<|calls|>", "</s>", "<EOT>", "_<EOT>", "[EOT]", "[EOS]",
		"<|end_of_text|>", "<end_of_utterance>", "<eos>", "<turn|>", "<|tool_response>", "<｜end▁of▁sentence｜>", "[e~["}
}

// EndsOfInfill are the texts of tokens beside code to fill in at which llama.cpp ends an answer too.
func EndsOfInfill() []string {
	return []string{"<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]", "<|fim_repo|>", "<|repo_name|>",
		"<fim-repo>", "<REPO>", "<reponame>", "<|file_sep|>"}
}
