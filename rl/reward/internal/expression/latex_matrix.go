package expression

import "strings"

// matrices are the environments that are matrices; a determinant, braces and double bars are not.
var matrices = map[string]bool{"matrix": true, "pmatrix": true, "bmatrix": true, "array": true}

// matrix reads \begin{pmatrix} rows \end{pmatrix}, and an array, whose columns' places count for nothing.
func (p *latex) matrix() (*Node, error) {
	env, err := p.environment(`\begin`)
	if err == nil && env == "array" {
		err = p.columns()
	}
	if err != nil {
		return nil, err
	}
	out := &Node{kind: matrixNode}
	for row := []*Node(nil); ; {
		n, err := p.expr()
		if err != nil {
			return nil, err
		}
		row = append(row, n)
		if p.take("&") != "" {
			continue
		}
		out.args = append(out.args, tuple(row))
		row = nil
		if p.take(`\\`) == "" || p.at(`\end`) {
			break
		}
	}
	end, err := p.environment(`\end`)
	if err != nil || end != env {
		return nil, errSyntax
	}
	return out, nil
}

func (p *latex) environment(command string) (string, error) {
	if p.take(command) == "" || p.take("{") == "" {
		return "", errSyntax
	}
	var name strings.Builder
	for p.peek().class == 's' {
		if name.WriteString(p.peek().text); name.Len() > 16 {
			return "", errSyntax
		}
		p.pos++
	}
	if p.take("}") == "" || !matrices[name.String()] {
		return "", errSyntax
	}
	return name.String(), nil
}

// columns reads the {ccc} of an array.
func (p *latex) columns() error {
	if p.take("{") == "" {
		return errSyntax
	}
	for t := p.peek(); t.class == 's' && strings.Contains("lcr", t.text); t = p.peek() {
		p.pos++
	}
	if p.take("}") == "" {
		return errSyntax
	}
	return nil
}
