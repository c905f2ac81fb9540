// Package fair shares the processor among tenants, and between training and sampling: who comes first (Shares, Clock),
// whose turn it is to compute (Turn), and how much may wait (Backlog).
package fair

import "cmp"

// Share is how much of one kind of work a tenant, or one of its training runs or sampling clients, has been given.
// Scheduling is start-time fair queueing: the tenant that has been given least comes first, and within it the member
// that has been given least. So a thousand requests of one tenant do not delay the first request of another. A member
// that becomes active starts at the least share of the active ones: being idle earns no credit.
//
// Source: Goyal, Vin and Cheng, "Start-time Fair Queueing", SIGCOMM 1996.
type Share struct {
	Owner   *Share // the tenant's; nil for a tenant itself
	Name    string // of a tenant
	spent   int64  // tokens, or other work in tokens of the same cost
	wants   int    // requests that wait or run; active if there are any
	Running int    // of a tenant: sampling requests that have begun
	Room    int    // of a tenant: tokens it may still have in the current sampling step
	number  uint64 // order of activation, to break ties
}

// Shares is the active shares of one kind of work. The caller's lock guards it and them. The zero value is ready
// to use.
type Shares struct {
	owners  map[string]*Share
	Present []*Share // active tenants and members
	numbers uint64
}

// NewShare returns the share of a new member of a tenant.
func NewShare(owner string) *Share { return &Share{Owner: &Share{Name: owner}} }

// Enter counts one more request of a member.
func (s *Shares) Enter(p *Share) {
	if p.wants == 0 {
		if known := s.owners[p.Owner.Name]; known != nil {
			p.Owner = known
		} else {
			if s.owners == nil {
				s.owners = map[string]*Share{}
			}
			s.owners[p.Owner.Name] = p.Owner
		}
		s.come(p.Owner)
		s.come(p)
	}
	p.wants++
	p.Owner.wants++
}

// come activates a share that is not active.
func (s *Shares) come(p *Share) {
	if p.wants > 0 {
		return
	}
	first := true
	least := int64(0)
	for _, q := range s.Present {
		if q.Owner == p.Owner && (first || q.spent < least) {
			least, first = q.spent, false
		}
	}
	s.numbers++
	p.spent, p.number = max(p.spent, least), s.numbers
	s.Present = append(s.Present, p)
}

// Leave counts a request of a member as ended.
func (s *Shares) Leave(p *Share) {
	for _, q := range []*Share{p, p.Owner} {
		if q.wants--; q.wants > 0 {
			continue
		}
		for i := range s.Present {
			if s.Present[i] == q {
				s.Present = append(s.Present[:i], s.Present[i+1:]...)
				break
			}
		}
	}
	if p.Owner.wants == 0 {
		delete(s.owners, p.Owner.Name)
	}
}

// Charge adds n to what a member was given.
func (p *Share) Charge(n int64) {
	p.spent += n
	p.Owner.spent += n
}

// Compare is negative if p comes before q.
func (p *Share) Compare(q *Share) int {
	if p.Owner != q.Owner {
		return cmp.Or(cmp.Compare(p.Owner.spent, q.Owner.spent), cmp.Compare(p.Owner.number, q.Owner.number))
	}
	return cmp.Or(cmp.Compare(p.spent, q.spent), cmp.Compare(p.number, q.number))
}
