package chat_test

import (
	"fmt"
	"time"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
)

func Example() {
	const text = `{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{{ eos_token }}{% endfor %}{% if ` +
		`add_generation_prompt %}<|assistant|>{% endif %}`
	t, err := chat.New(text, &tokenizer.Config{EOSToken: "</s>"}, time.Time{})
	if err != nil {
		fmt.Println(err)
		return
	}
	prompt, err := t.Render([]chat.Message{{Role: "user", Content: "2+2?"}}, chat.Options{AddGenerationPrompt: true})
	fmt.Println(prompt, err)
	// Output: <|user|>2+2?</s><|assistant|> <nil>
}
