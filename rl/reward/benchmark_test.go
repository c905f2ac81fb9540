package reward

import "testing"

// A truth without box, announcement and #### is the answer as it stands; its last number counts where it is a number,
// or words stand beside it.
func TestBareTruths(t *testing.T) {
	for _, tt := range []struct {
		solution, truth string
		want            bool
	}{
		{`\boxed{\frac{14}{3}}`, `\frac{14}{3}`, true},
		{`\boxed{14/3}`, `\frac{14}{3}`, true},
		{`\boxed{3}`, `\frac{14}{3}`, false},
		{"so 3", `\frac{14}{3}`, false},
		{`\boxed{p-q}`, "p - q", true},
		{`\boxed{\left(3, \frac{\pi}{2}\right)}`, `\left( 3, \frac{\pi}{2} \right)`, true},
		{`\boxed{(2,\frac{\pi}{2})}`, `\left( 3, \frac{\pi}{2} \right)`, false},
		{`\boxed{Evelyn}`, `\text{Evelyn}`, true},
		{`\boxed{C}`, "C", true},
		{`\boxed{D}`, "C", false},
		{`\boxed{2k+2}`, "2k+2", true},
		{`\boxed{2}`, "2k+2", false},
		{`\boxed{2}`, "sqrt(2)", false},
		{`\boxed{5.4}`, `5.4 \text{ cents}`, true},
		{`\boxed{18}`, "18 dollars", true},
		{`\boxed{18}`, "She makes 9 * 2 = $18 every day.", true},
		{`\boxed{18}`, "9 * 2 = 18\n#### 18", true},
		{`\boxed{50}`, "50 km/h", true},
		{`\boxed{90}`, `90^\circ`, true},
		{`\boxed{36}`, `\$36`, true},
		{`\boxed{1000}`, "1,000", true},
		{`\boxed{-0.5}`, `-\frac{1}{2}`, true},
		{`\boxed{0.25}`, `25\%`, true},
		{`\boxed{x^2+2x+1}`, "(x+1)^2", true},
		{"I do not know", "C", false},
	} {
		if got := SameAnswer(tt.solution, tt.truth); got != tt.want {
			t.Errorf("SameAnswer(%q, %q) = %v, want %v", tt.solution, tt.truth, got, tt.want)
		}
	}
}

// The cases of Trinity-RFT's own tests of its evaluation code, in other words.
func TestExtractAnswer(t *testing.T) {
	for text, want := range map[string]string{
		`so it is \boxed{42}`:             "42",
		`\boxed{\frac{1}{2}} at last`:     `\frac{1}{2}`,
		"The final answer is 100.":        "100",
		"Hence the final answer is: 3.14": "3.14",
		"所以答案是 x^2":                       "x^2",
		"first 10, then 20":               "20",
		"from 1,000 up to 2,000":          "2000",
		"about 0.75 of it":                "0.75",
		"The final answer is:\n\n42":      "42",
		"The final answer is:\n$42$\nyes": "$42$",
		"The answer is : 42":              "42",
		"答案是 ：\n42。":                      "42。",
		"So 7. The answer is:\n":          "7",
	} {
		if got, ok := ExtractAnswer(text); got != want || !ok {
			t.Errorf("ExtractAnswer(%q) = %q, %v, want %q", text, got, ok, want)
		}
	}
	for _, text := range []string{"nothing here", `\boxed{}`, ""} {
		if got, ok := ExtractAnswer(text); ok {
			t.Errorf("ExtractAnswer(%q) = %q, want none", text, got)
		}
	}
}

func TestSameAnswer(t *testing.T) {
	for _, tt := range []struct {
		solution, truth string
		want            bool
	}{
		{`\boxed{42}`, "42", true},
		{"The answer is 1,000.", "1000", true},
		{"it drops to -50", "-50", true},
		{"The answer is 5", "x=5", true},
		{"The final answer is:\n\n42", "42", true},
		{"The final answer is:\n$42$", "42", true},
		{"The answer is : 42", "42", true},
		{`\boxed{42}`, "43", false},
		{`\boxed{x+1}`, `\boxed{x-1}`, false},
		{`\boxed{\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}}`, `\boxed{\begin{pmatrix} 1 & 2 \\ 3 & 5 \end{pmatrix}}`,
			false},
		{`\boxed{\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}}`, `\boxed{\begin{bmatrix}1&2\\3&4.0\end{bmatrix}}`,
			true},
		{"The answer is 50 km/h", "50", true},
		{`\boxed{\frac{1}{2}}`, "0.5", true},
		{`\boxed{(1, 2]}`, `\boxed{(1,2.0]}`, true},
		{`\boxed{(1, 2]}`, `\boxed{[1,2]}`, false},
		{`\boxed{25\%}`, "0.25", true},
		{`\boxed{x^2+2x+1}`, `\boxed{(x+1)^2}`, true},
		{"no number", "5", false},
		{"36 it is, then 36", "36", true},
		{"36.0", "36", true},
		{"42", "36", false},
		{"The answer is 36, but perhaps not", "36", false},
		{`Hence $x = \frac{14}{3}$.`, "3", false},
		{`Hence $x = \frac{14}{3}$.`, `\frac{14}{3}`, true},
		{`so it is 10^{6}`, "6", false},
		{`so it is 10^{6}.`, "1000000", true},
		{`It grows to $72$ with $a_1$`, "1", false},
	} {
		if got := SameAnswer(tt.solution, tt.truth); got != tt.want {
			t.Errorf("SameAnswer(%q, %q) = %v, want %v", tt.solution, tt.truth, got, tt.want)
		}
	}
}

func TestMathDAPO(t *testing.T) {
	overlong := map[string]any{"enable_overlong_penalty": true, "penalty_factor": 1.0, "max_response_length": 20,
		"cache_length": 10}
	for _, tt := range []struct {
		response, truth  string
		tokens           int
		args             map[string]any
		accuracy, format float64
	}{
		{`<think> \boxed{1} </think> \boxed{36}`, "36", 5, nil, 1, 0},
		{`<think> \boxed{36} </think> \boxed{35}`, "36", 5, nil, -1, 0},
		{"36", "36", 5, nil, 1, 0},
		{`\boxed{36.0}`, "36", 5, nil, 1, 0},
		{`\boxed{36.1}`, "36", 5, nil, -1, 0},
		{`\boxed{2 million}`, "2000000", 5, nil, -1, 0}, // 2 *10^6: nothing is computed
		{`\fbox{36}`, "36", 5, nil, 1, 0},
		{`\boxed{36\%}`, "36", 5, nil, 1, 0},
		{`\boxed{36\,}`, "36", 5, nil, 1, 0},
		{`\boxed{36`, "36", 5, nil, 1, 0},
		{`\boxed{0.25}`, `\frac{1}{4}`, 5, nil, -1, 0},
		{`\boxed{(1/2,3/4)}`, `(\frac{1}{2}, \frac34)`, 5, nil, 1, 0},
		{`\boxed{0.5}`, `\frac{1}{2}`, 5, nil, 1, 0},
		{"Two cases, so\nAnswer: 6\n**Answer: $36$**", "36", 5, nil, 1, 0},
		{"answer : 36\nas the last Answer: 35 shows", "36", 5, nil, -1, 0},
		{"Answer: 35, so \\boxed{36}", "36", 5, nil, 1, 0},
		{"36", "36", 9, overlong, 1, 0},
		{"36", "36", 15, overlong, 1, -0.5},
		{"36", "36", 20, overlong, 1, -1},
		{"36", "36", 21, overlong, 1, -1},
	} {
		got, err := MathDAPO(Sample{Response: tt.response, Truth: tt.truth, ResponseTokens: make([]int32, tt.tokens),
			Args: tt.args})
		if err != nil {
			t.Fatal(err)
		}
		if got[0].Value != tt.accuracy || got[1].Value != tt.format {
			t.Errorf("MathDAPO(%q, %q, %d tokens) = %v, want %g and %g", tt.response, tt.truth, tt.tokens, got,
				tt.accuracy, tt.format)
		}
	}
	for _, tt := range []struct {
		response string
		want     float64
	}{{"36", 1}, {"35", 0}, {"Answer: 36", 0}} {
		if got, err := Before06("math_dapo_reward")(Sample{Response: tt.response, Truth: "36"}); err != nil ||
			got[0].Value != tt.want {
			t.Errorf("in 0.5.2 %q scores %v, %v, want %v", tt.response, got, err, tt.want)
		}
	}
	if _, err := MathDAPO(Sample{Args: map[string]any{"enable_overlong_penalty": true}}); err == nil {
		t.Error("a penalty without its lengths is accepted")
	}
}

// The penalty of Trinity-RFT 0.6.0's own function, float32 aside.
func TestOverlongPenalty(t *testing.T) {
	for _, tt := range []struct {
		most, cache float64
		penalties   map[int]float64
	}{
		{20480, 4096, map[int]float64{0: 0, 16383: 0, 16384: 0, 16385: -0.000244140625, 18432: -0.5, 20480: -1,
			20481: -1}},
		{100, 20, map[int]float64{79: 0, 80: 0, 90: -0.5, 100: -1, 101: -1}},
		{100, 0, map[int]float64{99: 0, 100: 0, 101: -1}},
	} {
		for tokens, want := range tt.penalties {
			got, err := MathDAPO(Sample{ResponseTokens: make([]int32, tokens), Args: map[string]any{
				"enable_overlong_penalty": true, "penalty_factor": 1, "max_response_length": tt.most,
				"cache_length": tt.cache}})
			if err != nil || got[1].Value != want {
				t.Errorf("%d of %v tokens, the last %v of them penalised: %v, %v; want %v", tokens, tt.most, tt.cache,
					got, err, want)
			}
		}
	}
}
