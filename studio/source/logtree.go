package source

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
)

// maxTree is the longest log tree that is read, in bytes.
const maxTree = 64 << 20

// A log tree is tinker-cookbook's log of the first groups of an iteration (utils/logtree.py): a tree of HTML
// elements in which conversations are data. do_group_rollout (rl/rollouts.py) opens a section for each group. In it,
// each environment logs its conversation and a table when it is done, in any order; the lengths of the trajectories
// follow in their order.
type treeNode struct {
	Tag      string     `json:"tag"`
	Children []treeNode `json:"children"`
	Data     struct {
		Type     string            `json:"type"`
		Messages []rollout.Message `json:"messages"`
	} `json:"data"`
	text string // of a child that is a text, with HTML's escapes
}

// UnmarshalJSON reads an element or a text.
func (n *treeNode) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte{'"'}) {
		return json.Unmarshal(data, &n.text)
	}
	type plain treeNode
	return json.Unmarshal(data, (*plain)(n))
}

// inner is the text of an element.
func (n *treeNode) inner() string {
	text := n.text
	for i := range n.Children {
		text += n.Children[i].inner()
	}
	return text
}

// title is the heading of a section, "" for other elements.
func (n *treeNode) title() string {
	if n.Tag != "section" || len(n.Children) == 0 || !strings.HasPrefix(n.Children[0].Tag, "h") {
		return ""
	}
	return html.UnescapeString(n.Children[0].inner())
}

// each visits the element and all below it, until visit does not want what is below.
func (n *treeNode) each(visit func(*treeNode) (below bool)) {
	if !visit(n) {
		return
	}
	for i := range n.Children {
		n.Children[i].each(visit)
	}
}

// table is the rows of two cells below an element.
func (n *treeNode) table() map[string]string {
	rows := map[string]string{}
	n.each(func(row *treeNode) bool {
		if row.Tag == "tr" && len(row.Children) == 2 && row.Children[0].Tag == "td" {
			rows[html.UnescapeString(row.Children[0].inner())] = html.UnescapeString(row.Children[1].inner())
		}
		return true
	})
	return rows
}

// talk is the log of one environment.
type talk struct {
	messages []rollout.Message
	table    map[string]string
	sure     bool // no other talk of its group has the same reward
}

// answered is how many letters the model wrote.
func (t *talk) answered() (n int) {
	for _, m := range t.messages {
		if m.Role == "assistant" {
			n += len(m.Content) + len(m.Thinking)
		}
	}
	return n
}

// loggedGroup is a group of a log tree: talks in the order in which they ended, and the lengths of its trajectories.
type loggedGroup struct {
	talks []*talk
	shape string
}

// readTree reads the groups of a log tree; none if there is no tree, or it is none.
func readTree(path string) (groups []loggedGroup) {
	data, err := disk.ReadFile(path, maxTree)
	var tree struct{ Root treeNode }
	if err != nil || json.Unmarshal(data, &tree) != nil {
		return nil
	}
	tree.Root.each(func(n *treeNode) bool {
		if n.title() != "Group Rollout" {
			return true
		}
		groups = append(groups, groupOf(n))
		return false
	})
	return groups
}

// groupOf reads the section of a group. A conversation that follows a table begins another talk.
func groupOf(section *treeNode) loggedGroup {
	var g loggedGroup
	fresh := true
	section.each(func(n *treeNode) bool {
		switch {
		case n.title() == "Trajectory Details":
			g.shape = shapeOf(n)
			return false
		case n.Data.Type == "conversation":
			if fresh {
				g.talks, fresh = append(g.talks, new(talk)), false
			}
			t := g.talks[len(g.talks)-1]
			t.messages = append(t.messages, n.Data.Messages...)
		case n.Tag == "table" && len(g.talks) > 0:
			g.talks[len(g.talks)-1].table, fresh = n.table(), true
			return false
		}
		return true
	})
	return g
}

// shapeOf is the lengths of all steps of a group.
func shapeOf(details *treeNode) string {
	var shape strings.Builder
	details.each(func(n *treeNode) bool {
		if strings.HasSuffix(n.title(), " Episode") {
			shape.WriteString(";")
		}
		if n.Tag != "table" {
			return true
		}
		if rows := n.table(); rows["ac_len"] != "" {
			fmt.Fprintf(&shape, " %s+%s", rows["ob_len"], rows["ac_len"])
		}
		return false
	})
	return shape.String()
}

// treePath is the log tree beside a file of summaries.
func treePath(summaries string) string {
	return strings.TrimSuffix(summaries, "_rollout_summaries.jsonl") + "_logtree.json"
}

// talksOf finds which talk of the log tree is whose, by group and trajectory, for the summaries of a file.
func talksOf(path string) map[[2]int]*talk {
	groups := readTree(treePath(filepath.Clean(path)))
	data, err := disk.ReadFile(path, maxTree)
	if len(groups) == 0 || err != nil {
		return nil
	}
	byGroup, order := map[int][]summary{}, []int{}
	for line := range bytes.Lines(data) {
		var s summary
		if json.Unmarshal(line, &s) != nil {
			continue
		}
		if byGroup[s.Group] == nil {
			order = append(order, s.Group)
		}
		byGroup[s.Group] = append(byGroup[s.Group], s)
	}
	found, next := map[[2]int]*talk{}, 0
	for _, g := range groups { // in the order of the summaries, which may have left out some
		for i, group := range order[next:] {
			if shapeOfSummaries(byGroup[group]) == g.shape {
				g.assign(byGroup[group], found)
				next += i + 1
				break
			}
		}
	}
	return found
}

func shapeOfSummaries(list []summary) string {
	var shape strings.Builder
	for _, s := range list {
		shape.WriteString(";")
		for _, step := range s.Steps {
			fmt.Fprintf(&shape, " %d+%d", step.Observed, step.Acted)
		}
	}
	return shape.String()
}

// assign gives each trajectory the talk with its reward. Among those with the same reward, the longer talk is the
// trajectory's with more tokens, which is likely and not sure.
func (g *loggedGroup) assign(list []summary, found map[[2]int]*talk) {
	if len(g.talks) != len(list) {
		return // an environment that logs each turn, or nothing
	}
	talks := map[string][]*talk{}
	for _, t := range g.talks {
		talks[t.table["reward"]] = append(talks[t.table["reward"]], t)
	}
	mine := map[string][]summary{}
	for _, s := range list {
		reward := strconv.FormatFloat(s.sum(), 'f', 3, 64)
		if talks[reward] == nil {
			reward = ""
		}
		mine[reward] = append(mine[reward], s)
	}
	for reward, of := range mine {
		if len(of) != len(talks[reward]) {
			continue
		}
		slices.SortStableFunc(of, func(a, b summary) int { return cmp.Compare(a.acted(), b.acted()) })
		slices.SortStableFunc(talks[reward], func(a, b *talk) int { return cmp.Compare(a.answered(), b.answered()) })
		for i, s := range of {
			t := talks[reward][i]
			t.sure = len(of) == 1
			found[[2]int{s.Group, s.Index}] = t
		}
	}
}
