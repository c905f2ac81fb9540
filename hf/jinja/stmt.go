package jinja

import "fmt"

// stmt is a statement of the syntax tree.
type stmt interface {
	exec(r *run) error
}

type (
	textStmt   struct{ text string }
	outputStmt struct {
		e    expr
		line int
	}
	branch struct { // test is nil in an else
		test expr
		body []stmt
	}
	ifStmt  struct{ branches []branch }
	setStmt struct {
		target target
		e      expr
		line   int
	}
	setBlock struct { // {% set x %}...{% endset %}
		target  target
		body    []stmt
		filters filterChain
		line    int
	}
	withStmt struct {
		targets []target
		values  []expr
		body    []stmt
		line    int
	}
	filterBlock struct { // {% filter upper %}...{% endfilter %}
		body    []stmt
		filters filterChain
		line    int
	}
	generationStmt struct{ body []stmt }
	jumpStmt       struct{ jump error }
)

// target is the target of an assignment: a name, an attribute of a namespace,
// or several targets that the value is spread over.
type target struct {
	name string
	attr string
	list []target
}

// assign sets a target in scope s.
func (r *run) assign(s *scope, t target, v Value) error {
	switch {
	case t.attr != "":
		ns, ok := r.scope.lookup(t.name).(*namespace)
		if !ok {
			return fmt.Errorf("'%s' is not a namespace, so %s.%s cannot be set", t.name, t.name, t.attr)
		}
		ns.attrs.set(t.attr, v)
		return r.spend("namespaces", 1, slotBytes)
	case t.list == nil:
		s.set(t.name, v)
		return nil
	}
	list, err := r.items(v)
	if err != nil {
		return err
	}
	if len(list) != len(t.list) {
		return fmt.Errorf("%d values for %d names", len(list), len(t.list))
	}
	for i := range list {
		if err := r.assign(s, t.list[i], list[i]); err != nil {
			return err
		}
	}
	return nil
}

func (s textStmt) exec(r *run) error { return r.out.write(s.text) }

func (s outputStmt) exec(r *run) error {
	v, err := r.eval(s.e)
	if err != nil {
		return at(s.line, err)
	}
	text, err := r.str(v)
	if err != nil {
		return at(s.line, err)
	}
	return at(s.line, r.out.write(text))
}

func (s ifStmt) exec(r *run) error {
	for _, b := range s.branches {
		if b.test != nil {
			v, err := r.eval(b.test)
			if err != nil {
				return err
			}
			if !truth(v) {
				continue
			}
		}
		return r.exec(b.body)
	}
	return nil
}

func (s setStmt) exec(r *run) error {
	v, err := r.eval(s.e)
	if err != nil {
		return at(s.line, err)
	}
	return at(s.line, r.assign(r.scope, s.target, v))
}

func (s setBlock) exec(r *run) error {
	text, err := r.capture(&scope{parent: r.scope}, s.body)
	if err != nil {
		return at(s.line, err)
	}
	v, err := s.filters.apply(r, text)
	if err != nil {
		return at(s.line, err)
	}
	return at(s.line, r.assign(r.scope, s.target, v))
}

func (s withStmt) exec(r *run) error {
	inner := &scope{parent: r.scope}
	for i, t := range s.targets {
		v, err := r.eval(s.values[i])
		if err != nil {
			return at(s.line, err)
		}
		if err := r.assign(inner, t, v); err != nil {
			return at(s.line, err)
		}
	}
	return r.inner(inner, s.body)
}

func (s filterBlock) exec(r *run) error {
	text, err := r.capture(&scope{parent: r.scope}, s.body)
	if err != nil {
		return at(s.line, err)
	}
	return outputStmt{e: chained{constant{text}, s.filters}, line: s.line}.exec(r)
}

// exec puts the body out and notes its place. Inside a macro the place is where
// the macro's text begins, as in transformers.
func (s generationStmt) exec(r *run) error {
	text, err := r.capture(&scope{parent: r.scope}, s.body)
	if err != nil {
		return err
	}
	start := len(r.root.text)
	r.spans = append(r.spans, Span{start, start + len(text)})
	return r.out.write(text)
}

func (s jumpStmt) exec(*run) error { return s.jump }

// filterChain is the filters of a block, applied in order.
type filterChain []filtering

func (c filterChain) apply(r *run, v Value) (Value, error) {
	for _, f := range c {
		f.x = constant{v}
		var err error
		if v, err = r.eval(f); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// chained is an expression with the filters of a block.
type chained struct {
	e       expr
	filters filterChain
}

func (c chained) eval(r *run) (Value, error) {
	v, err := r.eval(c.e)
	if err != nil {
		return nil, err
	}
	return c.filters.apply(r, v)
}
