package schedule

import (
	"cmp"
	"slices"
)

// tenant is whose tasks they are. Of the tenants with pending tasks, the one goes first that was given the least cost.
// One that becomes active starts at the least of the active ones: being idle earns no credit.
type tenant struct {
	name  string
	given float64 // cost
	open  int     // tasks that are not done
}

// enter counts one more open task of a tenant.
func (p *Plan) enter(name string) {
	t := p.tenants[name]
	if t == nil {
		t = &tenant{name: name}
		for i, v := range p.active {
			if i == 0 || v.given < t.given {
				t.given = v.given
			}
		}
		p.tenants[name] = t
		p.active = append(p.active, t)
	}
	t.open++
}

// exit counts an open task of a tenant as done.
func (p *Plan) exit(name string) {
	t := p.tenants[name]
	if t.open--; t.open == 0 {
		delete(p.tenants, name)
		p.active = slices.DeleteFunc(p.active, func(o *tenant) bool { return o == t })
	}
}

// leastServed puts the tenants in the order in which they take their turns; ties go by name.
func (p *Plan) leastServed() []*tenant {
	if len(p.active) > 1 {
		slices.SortFunc(p.active, func(a, b *tenant) int {
			return cmp.Or(cmp.Compare(a.given, b.given), cmp.Compare(a.name, b.name))
		})
	}
	return p.active
}
