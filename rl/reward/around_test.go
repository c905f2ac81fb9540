package reward

import "testing"

// TestUnreadIsNoNumber: a number in mathematics that is not understood completely is not the answer.
func TestUnreadIsNoNumber(t *testing.T) {
	for _, row := range []struct{ text, number string }{
		{`$\int_0^2 1 dx$`, "1"}, {`$2 = \foo 3$`, "2"}, {`$\int_0^1 x dx = \foo 3$`, "3"},
		{`$ 3 = \foo$`, "3"}, {`\boxed{\lim_{x \to 0} \frac{\sin x}{x}}`, "0"}, {`$\lim_{x \to 3} 2x$`, "2"},
		{`$\sum_{i=1}^{n} i$`, "1"}, {`\boxed{\sum_{n=0}^{\infty} \frac{1}{2^n}}`, "0"},
		{`\sum_{i=1}^{10} i`, "1"},
		{`The answer is \prod_{k=2}^{5} k`, "2"}, {`The answer is \lim_{x \to 0} x\foo`, "0"},
		{`\sum_{i=1}^{4}\left(i^2\right)`, "1"},
		{`$3 \pmod{7}$`, "3"}, {`$3\pmod 7$`, "7"}, {`$x \equiv 3 \mod 7$`, "7"}, {`$x ≡ 3 (mod 7)$`, "7"},
		{`x ≡ 3 (mod 7)`, "7"},
		{`\boxed{2 \equiv 9}`, "9"}, {`$\nabla \cdot 2$`, "2"}, {`$\nabla 5$`, "5"},
		{`$\frac{d}{dx} x^2 |_{x=3}$`, "3"},
		{`$\begin{array}{ll} 1 & 2 \\ 3 & 4 \end{array}$`, "4"},
		{`$\begin{vmatrix}1 & 2 \\ 3 & 4\end{vmatrix}$`, "4"},
		{`$x<=2$`, "2"}, {`$x != 2$`, "2"}, {`$x \lesssim 2$`, "2"}, {`$\coth 2$`, "2"}, {`$\arccot 1$`, "1"},
		{`$\surd 9$`, "9"},
		{`$7\cdots$`, "7"}, {`$7^{\prime}$`, "7"}, {`$1∕2$`, "1"}, {`$3⋅3$`, "3"}, {`１２．５`, "１２"},
		{`³２`, "２"}, {`3²`, "3"},
		{`66\frac{2}{3}\%`, `$\frac{2}{3}$`}, {`\foo 3\frac{1}{2}`, `$\frac{1}{2}$`},
	} {
		for _, pair := range [][2]string{{row.text, row.number}, {row.number, row.text}} {
			scores, err := Math(Sample{Truth: pair[0], Response: pair[1]})
			if got, _ := scores.Get("accuracy"); got != 0 || err != nil {
				t.Errorf("math_reward gives %v, %v to %q for %q", got, err, pair[1], pair[0])
			}
		}
	}
}

// TestNumbersBesideWords: what is not mathematics does not keep a number from being the answer.
func TestNumbersBesideWords(t *testing.T) {
	for _, row := range []struct{ text, number string }{
		{"the answer is 5", "5"}, {"(1 hectare is 10000 m^2)?", "10000"},
		{"700cm³ = <<(700+280)=980>>980cm³", "980"}, {"We add them.\n#### 12", "12"}, {`\boxed{3}`, "3"},
		{"<answer> 72 </answer>", "72"},
		{`The answer is 5\text{ cm}.`, "5"}, {`The answer is 5\,\mathrm{cm}^2`, "5"},
		{`it is 30^\circ`, "30"}, {`the 7^{\text{th}} one`, "7"},
		{"It costs $18 per day. That is $2 more", "2"}, {"The answer is $18. That is $2 more", "18"},
		{"**x = 72**", "72"},
		{"$72.$", "72"}, {"$72 hours$", "72"}, {`\boxed{x=5.}`, "5"}, {`x \approx 5`, "5"},
		{`5\nSo it is.`, "5"}, {"it is 25 cm²", "25"},
		{"- 5 apples\n- 6 pears", "6"}, {`{"answer": 5}`, "5"}, {"The answer is 5!", "5"}, {"50%", "50"},
		{"it is -3", "-3"},
		{"$$\\begin{align*} 3x &= 15 \\cdot 1 \\\\ x &= 5 \\end{align*}$$", "5"}, {`7 \square`, "7"},
		{`\therefore 7`, "7"},
		{`$\int_0^2 x dx = 2$`, "2"}, {`\boxed{\dim V = 3}`, "3"},
		{`$\lim_{x \to 0} \frac{\sin x}{x} = 1$`, "1"}, {`\deg p = 3`, "3"},
		{`$\operatorname{gcd}(6,9)$`, "3"}, {`$\max\{1, 3\}$`, "3"},
		{`$\operatorname{lcm}\left(2,3\right)$`, "6"},
		{`$\sum_{i=1}^{10} i$`, "55"}, {`$\prod_{k=1}^{5} k$`, "120"}, {`\sum_{i=1}^{10} i`, "55"},
		{`$7 + \sum_{i=1}^{3} i^2$`, "21"},
		{`$\sum_{i=1}^{3} \sum_{j=1}^{3} 1$`, "9"}, {`$1∕2$`, "0.5"}, {`$1.5E+3$`, "1500"}, {`$3⋅3$`, "9"},
		{`$\left[\begin{array}{cc}1&2\\3&4\end{array}\right]$`, `$\begin{pmatrix}1&2\\3&4\end{pmatrix}$`},
		{`$x<=2$`, `$x\le 2$`},
	} {
		for _, pair := range [][2]string{{row.text, row.number}, {row.number, row.text}} {
			scores, err := Math(Sample{Truth: pair[0], Response: pair[1]})
			if got, _ := scores.Get("accuracy"); got != 1 || err != nil {
				t.Errorf("math_reward gives %v, %v to %q for %q", got, err, pair[1], pair[0])
			}
		}
	}
}
