package chat

import "strings"

// Sequence is a conversation as a model has read and written it so far: token ids, and their text. The zero value
// is a conversation that has not begun. [Sequence.Next] decides which ids the model reads when the conversation
// continues. All sampling in several turns uses it, so that training uses the ids that were sampled.
type Sequence struct {
	// Tokens are the ids that the model has read and written, up to the last one that it wrote.
	Tokens []int32
	// Text is the text of Tokens: rendered prompts and additions as they were encoded, answers as they were
	// decoded for the reader, without special tokens and with U+FFFD for bytes that are not UTF-8.
	Text string
	// Ended says that the model ended its last answer itself. It is false for an answer that was cut.
	Ended bool
}

// Next returns the ids that the model reads next. text is the whole conversation, rendered up to where the model
// continues; encode gives the ids of a text without adding any.
//
//  1. Before the first answer the ids are text's, and continues is false.
//  2. If text begins with s.Text, the conversation continues: the ids are s.Tokens, then the ids of the
//     rest, encoded separately. No token spans the boundary, and nothing that was sampled is encoded again,
//     however a tokenizer would split it. If the model ended its answer itself and the rest begins with the
//     very token that it wrote, that token is not repeated. An answer that was cut has no such token: the rest
//     brings it.
//  3. Otherwise the template shows earlier turns differently from how the model saw them: it dropped their
//     thoughts, trimmed them, or left messages out. The ids are text's, and continues is false: a new
//     sequence begins, and the record stays as it is. In the new one, earlier answers are part of the
//     prompt, and not trained.
//
// Texts are compared and ids are not: a template cannot tell which ids an answer had, and other ids for the
// same text are no reason to start over. The comparison does not see special tokens that the model wrote within
// an answer, since nobody hears them; they stay in the ids. A token that templates put in front of everything,
// such as a BOS, is in the first text alone. Replaced bytes compare as U+FFFD, and the ids keep them.
//
// The result does not share memory with s.
func (s *Sequence) Next(text string, encode func(string) ([]int32, error)) (tokens []int32, continues bool, err error) {
	rest, ok := strings.CutPrefix(text, s.Text)
	if len(s.Tokens) == 0 || !ok {
		tokens, err = encode(text)
		return tokens, false, err
	}
	more, err := encode(rest)
	if err != nil {
		return nil, false, err
	}
	if s.Ended && len(more) > 0 && more[0] == s.Tokens[len(s.Tokens)-1] {
		more = more[1:]
	}
	tokens = append(make([]int32, 0, len(s.Tokens)+len(more)), s.Tokens...)
	return append(tokens, more...), true, nil
}

// Record takes up an answer: the model read the ids that Next gave for text and wrote answer, which was heard
// as heard. The ids are copied.
func (s *Sequence) Record(read []int32, text string, answer []int32, heard string, ended bool) {
	tokens := make([]int32, 0, len(read)+len(answer))
	s.Tokens = append(append(tokens, read...), answer...)
	s.Text, s.Ended = text+heard, ended
}
