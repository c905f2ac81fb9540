package session

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/edge"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/state"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/stats"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// The pages of a search.
const (
	defaultPage = 50
	largestPage = 200
)

// activeFor is how long after its last heartbeat a session is known to run. The SDK sends one every ten seconds.
const activeFor = 2 * time.Minute

// SearchSessions finds sessions of the tenant. Those of others are never found, whosever are asked for.
func (s *Sessions) SearchSessions(c *edge.Call, req wire.SessionSearch) (any, error) {
	most := defaultPage
	if req.Limit != nil {
		most = *req.Limit
	}
	if most < 1 || most > largestPage {
		return nil, tinker.Userf("limit is %d; it must be 1 to %d", most, largestPage)
	}
	if err := checkQuery(req); err != nil {
		return nil, err
	}
	list, err := s.Saved(c.Ctx, c.Tenant, "", true)
	if err != nil {
		return nil, err
	}
	s.State.Lock()
	defer s.State.Unlock()
	found := s.found(c.Tenant, req)
	page := wire.SessionPage{Sessions: []wire.SessionSummary{}}
	for _, u := range found[:min(most, len(found))] {
		page.Sessions = append(page.Sessions, s.summary(u, list))
	}
	if len(found) > most {
		last := found[most-1]
		page.NextCursor = &wire.SearchCursor{CreatedAt: last.Created, SessionID: last.ID}
	}
	return page, nil
}

func checkQuery(req wire.SessionSearch) error {
	if t := req.Owner.Type; !slices.Contains([]string{"", "own", "accessible", "user"}, t) {
		return tinker.Userf("owner.type is %q; it must be own, accessible or user", t)
	}
	for _, q := range req.Statuses {
		if !slices.Contains([]string{"active", "cancelled", "failed", "client_finished"}, q.Type) {
			return tinker.Userf("statuses has type %q; it must be active, cancelled, failed or client_finished", q.Type)
		}
	}
	return nil
}

// found lists the sessions that match, newest first, those after the cursor only. The store is locked.
func (s *Sessions) found(tenant string, req wire.SessionSearch) (list []*state.Session) {
	order := func(a, b *state.Session) int {
		return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(b.ID, a.ID))
	}
	for _, u := range s.State.Sessions {
		if u.Tenant == tenant && s.matches(u, req) && (req.Cursor == nil ||
			order(u, &state.Session{ID: req.Cursor.SessionID, Created: req.Cursor.CreatedAt}) > 0) {
			list = append(list, u)
		}
	}
	slices.SortFunc(list, order)
	return list
}

func (s *Sessions) matches(u *state.Session, req wire.SessionSearch) bool {
	if req.Owner.Type == "user" && !slices.Contains(req.Owner.OwnerURNs, stats.Owner(u.Tenant)) {
		return false
	}
	if req.ProjectIDs != nil && !slices.ContainsFunc(req.ProjectIDs, u.InProject) {
		return false
	}
	for key, value := range req.UserMetadata {
		if v, ok := u.UserMetadata[key]; !ok || v != value {
			return false
		}
	}
	if req.SessionID != "" || req.DisplayName != "" {
		if u.ID != req.SessionID && (req.DisplayName == "" || !hasWords(u.DisplayName, req.DisplayName)) {
			return false
		}
	}
	status := s.status(u)
	return req.Statuses == nil || status != nil && slices.ContainsFunc(req.Statuses, func(q wire.StatusQuery) bool {
		return q.Type == status.Type &&
			(status.Reason == nil || q.Reasons == nil || slices.Contains(q.Reasons, status.Reason.Type))
	})
}

// hasWords reports whether a name has every word, in any case.
func hasWords(name, words string) bool {
	name = strings.ToLower(name)
	for _, w := range strings.Fields(strings.ToLower(words)) {
		if !strings.Contains(name, w) {
			return false
		}
	}
	return true
}

// status is nil if a session neither finished nor is known to run.
func (s *Sessions) status(u *state.Session) *wire.SessionStatus {
	switch {
	case u.Finished != "":
		return &wire.SessionStatus{Type: "client_finished", Reason: &wire.FinishReason{Type: u.Finished}}
	case s.Life.Now().Sub(u.Seen) <= activeFor:
		return &wire.SessionStatus{Type: "active"}
	}
	return nil
}

// summary describes a session; list is its tenant's checkpoints. The store is locked.
func (s *Sessions) summary(u *state.Session, list []state.SavedCheckpoint) wire.SessionSummary {
	out := wire.SessionSummary{SessionID: u.ID, CreatedAt: u.Created, Owner: stats.Owner(u.Tenant),
		ProjectID: cmp.Or(u.Project, state.DefaultProject), Status: s.status(u), Metadata: u.UserMetadata,
		Bytes: new(int64)}
	if u.DisplayName != "" {
		out.DisplayName = &u.DisplayName
	}
	for _, k := range list {
		if m := s.State.Models[k.Path.ModelID]; m != nil && m.Session == u.ID {
			out.Checkpoints++
			*out.Bytes += k.Size
		}
	}
	return out
}

// AssignProject puts a session into a project, which is a label of the user's own.
func (s *Sessions) AssignProject(c *edge.Call, req wire.AssignProject) (any, error) {
	if req.ProjectID == "" {
		return nil, tinker.Userf("project_id is missing; name the project, any label will do")
	}
	if err := state.CheckText("project_id", req.ProjectID); err != nil {
		return nil, err
	}
	err := s.State.Change(func(t *state.Store) (int64, error) {
		u, err := t.Session(c.Tenant, c.R.PathValue("id"))
		if err != nil || u.Project == req.ProjectID {
			return 0, err
		}
		moved := *u
		moved.Project = req.ProjectID
		at, err := s.State.Record(state.RecSession, moved)
		if err == nil {
			u.Project = req.ProjectID
		}
		return at, err
	})
	return map[string]string{"status": "ok"}, err
}
