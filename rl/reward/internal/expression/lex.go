package expression

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/seed-d9ad8ee0/trinity/rl/reward/internal/tex"
)

// token is one LaTeX token: a number, letter, word such as \frac, or a mark. Words that mean one thing
// arrive under one spelling (\leq and ≤ as "<=").
type token struct {
	class byte // 'n' number, 'p' percentage, 's' symbol, 'o' anything else
	text  string
}

// spellings maps the ways to write an operator to one of them; "" is white space.
var spellings = map[string]string{
	`\,`: "", `\:`: "", `\;`: "", `\!`: "", `\ `: "", `\quad`: "", `\qquad`: "", `\$`: "",
	"~": "", `\negthinspace`: "", `\negmedspace`: "", `\negthickspace`: "", `\limits`: "",
	`\cdot`: "*", `\times`: "*", "×": "*", "⋅": "*", "∙": "*", "∗": "*", "−": "-",
	`\div`: "/", "÷": "/", ":": "/", "∕": "/",
	`\le`: "<=", `\leq`: "<=", `\leqslant`: "<=", "≤": "<=", `\lt`: "<",
	`\ge`: ">=", `\geq`: ">=", `\geqslant`: ">=", "≥": ">=", `\gt`: ">",
	`\ne`: "!=", `\neq`: "!=", "≠": "!=", `\mp`: `\pm`, "±": `\pm`, "∓": `\pm`, "∪": `\cup`, "∅": `\emptyset`,
	`\lbrace`: `\{`, `\rbrace`: `\}`,
	`\lbrack`: "[", `\rbrack`: "]", `\lgroup`: "(", `\rgroup`: ")", `\(`: "(", `\)`: ")",
	`\lvert`: "|", `\rvert`: "|", `\vert`: "|", `\mod`: `\mod`, `\dbinom`: `\binom`, `\tbinom`: `\binom`,
}

// operators are the words that are not symbols.
var operators = map[string]bool{
	`\sum`: true, `\prod`: true,
	`\frac`: true, `\sqrt`: true, `\binom`: true, `\over`: true, `\choose`: true, `\pm`: true, `\in`: true,
	`\cup`: true,
	`\cap`: true, `\setminus`: true, `\infty`: true, `\emptyset`: true, `\{`: true, `\}`: true, `\approx`: true,
	`\boxed`: true, `\begin`: true, `\end`: true, `\lfloor`: true, `\rfloor`: true, `\lceil`: true, `\rceil`: true,
	`\\`: true, `\%`: true, `\mod`: true, `\gcd`: true, `\lcm`: true, `\max`: true, `\min`: true, `\exp`: true,
	`\log`: true, `\ln`: true, `\mathbb`: true, `\circ`: true, `\degree`: true,
	`\sin`: true, `\cos`: true, `\tan`: true, `\csc`: true, `\sec`: true, `\cot`: true,
	`\arcsin`: true, `\arccos`: true, `\arctan`: true, `\sinh`: true, `\cosh`: true, `\tanh`: true,
}

// accents are the words whose argument is a name; the value wraps the name.
var accents = map[string]string{
	`\text`: "", `\mbox`: "", `\textbf`: "", `\textit`: "", `\textrm`: "", `\mathrm`: "math", `\mathbf`: "math",
	`\mathit`: "math",
	`\vec`:    "vec", `\overrightarrow`: "vec", `\bar`: "bar", `\overline`: "bar", `\hat`: "hat", `\widehat`: "hat",
	`\tilde`: "tilde", `\widetilde`: "tilde",
}

// names are the words that are variables; pi and gamma are constants.
var names = map[string]string{
	"α": "alpha", "β": "beta", "γ": "gamma", "Γ": "Gamma", "δ": "delta", "Δ": "delta", "ε": "epsilon", "ζ": "zeta",
	"η": "eta",
	"θ": "theta", "Θ": "theta", "κ": "kappa", "λ": "lambda", "Λ": "lambda", "μ": "mu", "ν": "nu", "ξ": "xi", "π": "pi",
	"Π": "pi",
	"ρ": "rho", "σ": "sigma", "Σ": "sigma", "τ": "tau", "φ": "phi", "Φ": "phi", "χ": "chi", "ψ": "psi", "Ψ": "psi",
	"ω": "omega", "Ω": "omega",
	`\alpha`: "alpha", `\beta`: "beta", `\gamma`: "gamma", `\Gamma`: "Gamma", `\delta`: "delta", `\Delta`: "delta",
	`\epsilon`: "epsilon", `\varepsilon`: "varepsilon", `\zeta`: "zeta", `\eta`: "eta", `\theta`: "theta",
	`\Theta`:    "theta",
	`\vartheta`: "vartheta", `\kappa`: "kappa", `\lambda`: "lambda", `\Lambda`: "lambda", `\mu`: "mu", `\nu`: "nu",
	`\xi`: "xi",
	`\pi`: "pi", `\Pi`: "pi", `\rho`: "rho", `\sigma`: "sigma", `\Sigma`: "sigma", `\tau`: "tau", `\phi`: "phi",
	`\Phi`:    "phi",
	`\varphi`: "varphi", `\chi`: "chi", `\psi`: "psi", `\Psi`: "psi", `\omega`: "omega", `\Omega`: "omega",
	`\varnothing`: "varnothing", `\angle`: "angle", `\triangle`: "triangle", `\ell`: "ell", `\hbar`: "hbar",
}

// lex splits LaTeX into tokens. Only what it knows is a token; anything else is an error, as it is upstream.
func lex(text string) ([]token, error) {
	var out []token
	for spaced := false; len(text) > 0; {
		t, n := next(text)
		if n == 0 || spaced && t.text == `\circ` { // upstream's degree takes no space before it
			return nil, errSyntax
		}
		spaced = text[n-1] == ' '
		text = text[n:]
		if t.class != 0 {
			out = append(out, t)
		}
	}
	return out, nil
}

// next reads one token and its length in bytes, 0 if there is none; white space has class 0.
func next(text string) (token, int) {
	r, size := utf8.DecodeRuneInString(text)
	switch {
	case unicode.IsSpace(r):
		return token{}, size
	case r < utf8.RuneSelf && tex.IsDigit(byte(r)), r == '.' && len(text) > 1 && tex.IsDigit(text[1]):
		return lexNumber(text)
	case r == '\\':
		return lexWord(text)
	}
	if name, ok := names[string(r)]; ok {
		return token{'s', name}, size
	}
	if s, ok := spellings[string(r)]; ok {
		return operator(s), size
	}
	if len(text) > 1 && text[1] == '=' && strings.IndexByte("<>!", text[0]) >= 0 {
		return token{'o', text[:2]}, 2
	}
	switch {
	case r == 'd' && len(text) > 1 && tex.IsLetter(text[1]):
		return token{'s', strings.ToLower(text[:2])}, 2
	case r < utf8.RuneSelf && tex.IsLetter(byte(r)):
		return token{'s', string(r)}, 1
	case strings.ContainsRune("+-*/=<>()[]{}|^_!,;&'", r):
		return token{'o', string(r)}, 1
	}
	return token{}, 0
}

// operator is the token of one of the spellings.
func operator(s string) token {
	if s == "" {
		return token{}
	}
	return token{'o', s}
}

func lexNumber(text string) (token, int) {
	n := tex.Digits(text)
	if n < len(text)-1 && text[n] == '.' && tex.IsDigit(text[n+1]) {
		n += 1 + tex.Digits(text[n+1:])
	}
	number := text[:n]
	if end := exponentEnd(text, n); end > n {
		return token{'n', text[:end]}, end
	}
	rest := strings.TrimLeft(text[n:], " ")
	for _, sign := range []string{"%", `\%`} {
		if strings.HasPrefix(rest, sign) {
			return token{'p', number}, len(text) - len(rest) + len(sign)
		}
	}
	return token{'n', number}, n
}

// exponentEnd is the end of the E3, E-3 or E+3 at n, n if there is none.
func exponentEnd(text string, n int) int {
	if n == len(text) || text[n] != 'E' {
		return n
	}
	at := n + 1
	if at < len(text) && (text[at] == '-' || text[at] == '+') {
		at++
	}
	if d := tex.Digits(text[at:]); d > 0 {
		return at + d
	}
	return n
}

var namedOperator = regexp.MustCompile(`^\\operatorname\*?\s*\{\s*([a-z]+)\s*\}`)

func lexWord(text string) (token, int) {
	n := 1
	for n < len(text) && tex.IsLetter(text[n]) {
		n++
	}
	if n == 1 && len(text) > 1 {
		n = 2
	}
	word := text[:n]
	if s, ok := spellings[word]; ok {
		return operator(s), n
	}
	if name, ok := names[word]; ok {
		return token{'s', name}, n
	}
	if m := namedOperator.FindStringSubmatch(text); m != nil && operators[`\`+m[1]] {
		return token{'o', `\` + m[1]}, len(m[0])
	}
	if wrap, ok := accents[word]; ok {
		return lexAccent(text, n, wrap)
	}
	if operators[word] {
		return token{'o', word}, n
	}
	return token{}, 0
}

// lexAccent reads the {name} after \text and its like: spaces count for nothing, nor do a text's parentheses.
func lexAccent(text string, n int, wrap string) (token, int) {
	rest := strings.TrimLeft(text[n:], " ")
	if !strings.HasPrefix(rest, "{") {
		return token{}, 0
	}
	end := strings.IndexByte(rest, '}')
	if end < 0 {
		return token{}, 0
	}
	name := strings.ReplaceAll(rest[1:end], " ", "")
	if wrap == "" {
		name = strings.NewReplacer("(", "", ")", "").Replace(name)
	} else {
		name = wrap + "{" + name + "}"
	}
	if name = strings.ToLower(name); name == "e" {
		name = "E" // the variable: only a bare e is Euler's number
	}
	return token{'s', name}, len(text) - len(rest) + end + 1
}
