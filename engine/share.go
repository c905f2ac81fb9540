package engine

import "cmp"

// share is what a party has been given of one kind of work: an owner, or below it one of its models or sampling
// clients. Of those that want something, whoever has been given least comes first, owner before owner and then party
// before party; so a thousand requests of one stand behind the first of another. A party that comes (back) begins where
// the least of those present stands: being idle saves nothing up.
type share struct {
	owner   *share // nil for an owner itself
	name    string // of an owner
	spent   int64  // tokens, or what costs as much
	wants   int    // requests that wait or run
	running int    // of an owner: samples' requests that have begun
	room    int    // of an owner: tokens it may still have in the present step of sampling
	number  uint64 // of its coming, so that equals have an order
}

// shares is the parties of one kind of work that are present. Its user's lock guards it and them. The zero value is
// ready.
type shares struct {
	owners  map[string]*share
	present []*share // owners and parties with wants
	numbers uint64
}

// party makes a party of an owner.
func newShare(owner string) *share { return &share{owner: &share{name: owner}} }

// enter notes one more request of a party.
func (s *shares) enter(p *share) {
	if p.wants == 0 {
		if known := s.owners[p.owner.name]; known != nil {
			p.owner = known
		} else {
			if s.owners == nil {
				s.owners = map[string]*share{}
			}
			s.owners[p.owner.name] = p.owner
		}
		s.come(p.owner)
		s.come(p)
	}
	p.wants++
	p.owner.wants++
}

// come makes a party present that is not.
func (s *shares) come(p *share) {
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

// leave notes that a request of a party has ended.
func (s *shares) leave(p *share) {
	for _, q := range []*share{p, p.owner} {
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

// charge notes what a party was given.
func (p *share) charge(n int64) {
	p.spent += n
	p.owner.spent += n
}

// compare is negative if p comes before q.
func (p *share) compare(q *share) int {
	if p.owner != q.owner {
		return cmp.Or(cmp.Compare(p.owner.spent, q.owner.spent), cmp.Compare(p.owner.number, q.owner.number))
	}
	return cmp.Or(cmp.Compare(p.spent, q.spent), cmp.Compare(p.number, q.number))
}
