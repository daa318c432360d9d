package rollout

import (
	"time"

	"codexlag/parse/jsonwalk"
	"codexlag/parse/timestamp"
)

// sessionMeta takes a session_meta line. The first one is the file's identity;
// the same one again is a resume; another one is a parent's, copied.
func (d *Decoder) sessionMeta(payload []byte, at time.Time) {
	m := d.readMeta(payload)
	switch {
	case d.replay.fork.IsZero():
		d.info.Session = m.id
		d.replay.setFork(m, at)
		if m.forked {
			d.arm()
		}
		d.info.IsFork = d.info.IsFork || m.forked || m.child
	case m.id == d.info.Session:
		d.info.Resumes++
	default:
		d.arm()
		return
	}
	if m.paginated {
		d.info.Era = EraPaginated
	}
	d.provider, d.version, d.origin = m.provider, m.version, m.origin
}

type meta struct {
	id, provider, version, origin string

	made             time.Time
	forked, child    bool
	start, copied    int64 // ordinals, -1 where absent
	paginated        bool
	source, threadBy string
}

func (d *Decoder) readMeta(payload []byte) meta {
	m := meta{start: -1, copied: -1}
	var session string
	o := jsonwalk.Members(payload)
	for o.Next() {
		v := o.Value
		s, _ := jsonwalk.String(v)
		switch string(o.Key) {
		case "id":
			m.id = d.words.take(s)
		case "session_id":
			session = d.words.take(s)
		case "timestamp":
			m.made, _ = timestamp.Parse(s)
		case "cli_version":
			m.version = d.words.take(s)
		case "model_provider":
			m.provider = d.words.take(s)
		case "source":
			m.source = d.sourceOf(v)
		case "thread_source":
			m.threadBy = d.origins(s)
		case "forked_from_id":
			m.forked = len(s) > 0
		case "parent_thread_id":
			m.child = len(s) > 0
		case "subagent_history_start_ordinal":
			m.start = ordinal(v)
		case "forked_from_ordinal_exclusive":
			m.copied = ordinal(v)
		case "history_mode":
			m.paginated = string(s) == "paginated"
		}
	}
	if m.id == "" {
		m.id = session // of a sub-agent this would be the root's
	}
	if m.origin = m.source; m.origin == "" || m.origin == "user" && m.threadBy != "" {
		m.origin = m.threadBy
	}
	return m
}

func ordinal(v []byte) int64 {
	if n, ok := jsonwalk.Int(v); ok && n >= 0 {
		return n
	}
	return -1
}

// setFork takes over what a session_meta tells of a copy that follows it.
func (r *replay) setFork(m meta, at time.Time) {
	r.child = m.forked || m.child
	r.start, r.copied = m.start, m.copied
	r.fork = at
	if !m.made.IsZero() {
		r.fork = m.made
	}
	if made, ok := uuidTime(m.id); ok {
		r.fork = made
	}
}

// sourceOf reads who asked for the session: "cli", {"subagent":"review"},
// {"subagent":{"thread_spawn":{…}}}, {"internal":"guardian"}, {"custom":"…"}.
func (d *Decoder) sourceOf(v []byte) string {
	if s, ok := jsonwalk.String(v); ok {
		if len(s) == 0 {
			return ""
		}
		return "user" // a front end: cli, vscode, exec, mcp, …
	}
	o := jsonwalk.Members(v)
	if !o.Next() {
		return ""
	}
	kind := string(o.Key)
	s, plain := jsonwalk.String(o.Value)
	switch {
	case kind == "custom":
		return "user" // a front end that gives itself a name
	case kind == "subagent" && !plain:
		return "subagent"
	}
	return d.origins(s)
}

// origins gives the origins that a report groups by one name each.
func (d *Decoder) origins(s []byte) string {
	switch string(s) {
	case "":
		return ""
	case "user", "subagent", "review", "compact", "guardian":
	case "guardian_review":
		return "guardian"
	case "memory_consolidation":
		return "memory"
	default:
		if !isWord(s) {
			return "other"
		}
	}
	return d.words.take(s)
}

// isWord reports whether s is a name of something, not text that somebody wrote.
func isWord(s []byte) bool {
	for _, c := range s {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return len(s) <= 40
}

// A context is what a turn_context line says of the requests to come.
type context struct {
	id, model, effort string
}

func (d *Decoder) readContext(payload []byte) (c context) {
	o := jsonwalk.Members(payload)
	for o.Next() {
		s, _ := jsonwalk.String(o.Value)
		switch string(o.Key) {
		case "turn_id":
			c.id = d.words.take(s)
		case "model":
			c.model = d.words.take(s)
		case "effort":
			c.effort = d.words.take(s)
		}
	}
	return c
}

// settingsApplied takes a change of model or effort that holds for the
// requests to come.
func (d *Decoder) settingsApplied(settings []byte) {
	if d.replay.on {
		return // the parent's
	}
	o := jsonwalk.Members(settings)
	for o.Next() {
		s, ok := jsonwalk.String(o.Value)
		if !ok {
			continue
		}
		switch string(o.Key) {
		case "model":
			d.model = d.words.take(s)
		case "reasoning_effort":
			d.effort = d.words.take(s)
		case "model_provider_id":
			d.provider = d.words.take(s)
		}
	}
}
