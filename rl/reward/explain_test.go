package reward

import "testing"

func TestExplain(t *testing.T) {
	for _, c := range []struct{ name, response, truth, extracted, expected string }{
		{"math_reward", "<think>2+2</think><answer>4</answer>", "2 + 2 = 4\n#### 4", "4", "4"},
		{"math_reward", "I do not know", "7", "", "7"},
		{"math_boxed_reward", `so \boxed{\frac12}`, `\boxed{0.5}`, `\frac12`, "0.5"},
		{"accuracy_reward", `\boxed{3}`, "3", "3", "3"},
		{"math_dapo_reward", "so\nAnswer: $36$", "36", "$36$", "36"},
		{"countdown_reward", "<answer> 1+2 </answer>", `{"target":3}`, "1+2", `{"target":3}`},
	} {
		got, ok := Explain(c.name, c.response)
		if want := Expected(c.name, c.truth); !ok || got != c.extracted || want != c.expected {
			t.Errorf("%s of %q reads %q and expects %q, want %q and %q", c.name, c.response, got, want, c.extracted,
				c.expected)
		}
	}
	if _, ok := Explain("format_reward", "x"); ok {
		t.Error("format_reward compares something")
	}
}
