package engine

import "cmp"

// fairShare is how much of one kind of work a tenant, or one of its training runs or sampling clients, has been given.
// Scheduling is start-time fair queueing: the tenant that has been given least comes first, and within it the member
// that has been given least. So a thousand requests of one tenant do not delay the first request of another. A member
// that becomes active starts at the least share of the active ones: being idle earns no credit.
//
// Source: Goyal, Vin and Cheng, "Start-time Fair Queueing", SIGCOMM 1996.
type fairShare struct {
	owner   *fairShare // the tenant's; nil for a tenant itself
	name    string     // of a tenant
	spent   int64      // tokens, or other work in tokens of the same cost
	wants   int        // requests that wait or run; active if there are any
	running int        // of a tenant: sampling requests that have begun
	room    int        // of a tenant: tokens it may still have in the current sampling step
	number  uint64     // order of activation, to break ties
}

// fairShares is the active shares of one kind of work. The caller's lock guards it and them. The zero value is ready
// to use.
type fairShares struct {
	owners  map[string]*fairShare
	present []*fairShare // active tenants and members
	numbers uint64
}

// newShare returns the share of a new member of a tenant.
func newShare(owner string) *fairShare { return &fairShare{owner: &fairShare{name: owner}} }

// enter counts one more request of a member.
func (s *fairShares) enter(p *fairShare) {
	if p.wants == 0 {
		if known := s.owners[p.owner.name]; known != nil {
			p.owner = known
		} else {
			if s.owners == nil {
				s.owners = map[string]*fairShare{}
			}
			s.owners[p.owner.name] = p.owner
		}
		s.come(p.owner)
		s.come(p)
	}
	p.wants++
	p.owner.wants++
}

// come activates a share that is not active.
func (s *fairShares) come(p *fairShare) {
	if p.wants > 0 {
		return
	}
	first := true
	least := int64(0)
	for _, q := range s.present {
		if q.owner == p.owner && (first || q.spent < least) {
			least, first = q.spent, false
		}
	}
	s.numbers++
	p.spent, p.number = max(p.spent, least), s.numbers
	s.present = append(s.present, p)
}

// leave counts a request of a member as ended.
func (s *fairShares) leave(p *fairShare) {
	for _, q := range []*fairShare{p, p.owner} {
		if q.wants--; q.wants > 0 {
			continue
		}
		for i := range s.present {
			if s.present[i] == q {
				s.present = append(s.present[:i], s.present[i+1:]...)
				break
			}
		}
	}
	if p.owner.wants == 0 {
		delete(s.owners, p.owner.name)
	}
}

// charge adds n to what a member was given.
func (p *fairShare) charge(n int64) {
	p.spent += n
	p.owner.spent += n
}

// compare is negative if p comes before q.
func (p *fairShare) compare(q *fairShare) int {
	if p.owner != q.owner {
		return cmp.Or(cmp.Compare(p.owner.spent, q.owner.spent), cmp.Compare(p.owner.number, q.owner.number))
	}
	return cmp.Or(cmp.Compare(p.spent, q.spent), cmp.Compare(p.number, q.number))
}
