package analyze

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"codexlag/analyze/clickhouse"
)

// A dialect writes the figures of package analyze in the SQL of ClickHouse.
type dialect struct {
	o      *Options
	filter *Filter
	clickhouse.Tables
	first, last time.Time // between which the records end
}

// unknownTime is an end or a start that the log does not tell.
const unknownTime = "toInt64('-9223372036854775808')"

// floatSQL writes a number so that not a bit is lost.
func floatSQL(v float64) string {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], math.Float64bits(v))
	return "reinterpretAsFloat64(unhex('" + hex.EncodeToString(b[:]) + "'))"
}

// requestSQL is derive.go in SQL: conditions, and values that mean something
// only where their condition holds. All but ttftAfterTotal, hasTotal and timed
// hold only for completed requests.
type requestSQL struct {
	decode, decodeTokens, tps, tpot string

	hasTTFT, hasTotal, hasDecode, hasTPS, hasTPOT, clean string
	timed                                                string // hasTotal, whatever the status

	fewTokens, shortDecode, burst, noTTFT, noTotal, noTokens, ttftAfterTotal, tpsMismatch, slowStart, slowStream string

	broken, meets, unjudged, split, unsplit, tailed, reasoned string
}

func all(conditions ...string) string { return "(" + strings.Join(conditions, " AND ") + ")" }

func not(condition string) string { return "(NOT " + condition + ")" }

func (q *dialect) figures() *requestSQL {
	o := q.o
	const (
		completed = "(status = 'ok')"
		usable    = "(toInt8(quality) >= 2)" // estimated and better
		share     = "((toInt8(quality) >= 2) AND (total > 0) AND (ttft <= total))"
	)
	e := &requestSQL{
		decode:         "(total - ttft)",
		decodeTokens:   "if((first_visible = 1) AND (reasoning >= 0) AND (output >= 0) AND (reasoning <= output), output - reasoning, output)",
		ttftAfterTotal: all(usable, "(total > 0)", "(ttft > total)"),
	}
	e.timed = all("(total > 0)", not(e.ttftAfterTotal))
	e.tps = "(toFloat64(" + e.decodeTokens + ") * 1000000000 / toFloat64" + e.decode + ")"
	e.tpot = "((toFloat64" + e.decode + " / 1000000) / toFloat64(" + e.decodeTokens + " - 1))"
	e.hasTotal = all(completed, e.timed)
	e.broken = all("(status IN ('failed', 'aborted'))", e.timed)
	e.hasDecode = all(completed, share, "(ttft < total)")
	e.hasTPS = all(e.hasDecode, "("+e.decodeTokens+" >= 1)")
	e.hasTPOT = all(e.hasDecode, "("+e.decodeTokens+" >= 2)")
	e.fewTokens = all(completed, "("+e.decodeTokens+" >= 0)", fmt.Sprintf("(%s < %d)", e.decodeTokens, o.MinTokens))
	e.shortDecode = all(e.hasDecode, fmt.Sprintf("(%s < %d)", e.decode, minDecode))
	e.burst = all(completed, "("+all(e.hasTPS, fmt.Sprintf("(%s > %d)", e.tps, maxTPS))+" OR "+all(share, "(ttft = total)", "("+e.decodeTokens+" >= 2)")+")")
	e.hasTTFT = all(completed, usable, not(e.ttftAfterTotal), not(e.burst))
	e.clean = all(e.hasTPS, not(e.fewTokens), not(e.shortDecode), not(e.burst))
	e.noTTFT = all(completed, "(quality = 'none')")
	e.noTotal = all(completed, "(total <= 0)")
	e.noTokens = all(completed, "(output < 0)")
	off := "abs(reported_tps - " + e.tps + ")"
	e.tpsMismatch = all(e.hasTPS, "(NOT isNaN(reported_tps))", "("+off+" > "+floatSQL(tpsMismatchShare)+" * "+e.tps+")", "("+off+" > "+floatSQL(tpsMismatchRate)+")")
	e.slowStart = all(e.hasTTFT, fmt.Sprintf("(ttft > %d)", o.SLO.TTFT))
	e.slowStream = all(e.clean, "("+e.tps+" < "+floatSQL(o.SLO.TPS)+")")
	known, within := all(usable, not(e.ttftAfterTotal)), fmt.Sprintf("(ttft <= %d)", o.SLO.TTFT)
	e.meets = all(completed, "("+known+" OR (quality = 'bound'))", within, not(e.slowStream))
	e.unjudged = all(completed, not(known), not(all("(quality = 'bound')", within)))
	e.split = all(completed, share, not(e.burst))
	e.unsplit = all(e.hasTotal, not(all(share, not(e.burst))))
	e.tailed = all(e.split, "("+e.decodeTokens+" >= 0)")
	e.reasoned = all(completed, "(output >= 0)", "(reasoning >= 0)", "(reasoning <= output)")
	return e
}

// brokenParts are what the requests of a turn that did not complete took of its
// prefill, decode and model time: see splitTurn.
var brokenParts = func() (l [3]string) {
	const split = "q >= 2 AND f <= t"
	for i, part := range [...]string{"if(" + split + ", f, 0)", "if(" + split + ", t - f, 0)", "if(" + split + ", 0, t)"} {
		l[i] = "arraySum(arrayMap((s, t, q, f) -> if(s IN (1, 2) AND t > 0, " + part + ", 0), request_status, request_total, request_quality, request_ttft))"
	}
	return l
}()

// A source is one of the tables with the rows that the filter keeps.
type source struct {
	q     *dialect
	from  string
	where []string
	turns bool
}

func (q *dialect) requests() *source {
	s := &source{q: q, from: q.Requests}
	s.where = append(q.inTime(), clickhouse.RequestDays(q.filter.Since, q.filter.Until))
	for _, c := range q.filter.Where {
		key, _ := s.key(c.By)
		s.where = append(s.where, c.sql(key.text))
	}
	return s
}

func (q *dialect) turns() *source {
	s := &source{q: q, from: q.Turns, turns: true}
	s.where = append(q.inTime(), clickhouse.TurnDays(q.filter.Since, q.filter.Until))
	for _, c := range q.filter.Where {
		if key, ok := s.key(c.By); ok {
			s.where = append(s.where, c.sql(key.text))
			continue
		}
		switch c.By { // decided by the turn's requests
		case "label":
			s.where = append(s.where, "arrayExists(l -> "+c.sql("l")+", request_label)")
		case "cache":
			s.where = append(s.where, "arrayExists((i, c) -> "+c.sql(cacheSQL("i", "c"))+", request_input, request_cached)")
		case "input-size":
			s.where = append(s.where, "arrayExists(n -> "+c.sql(sizeSQL("n"))+", request_input)")
		case "output-size":
			s.where = append(s.where, "arrayExists(n -> "+c.sql(sizeSQL("n"))+", request_output)")
		}
	}
	return s
}

// query writes a SELECT of the kept rows for which the condition holds.
func (s *source) query(columns, where, groupBy string) string {
	sql := "SELECT " + columns + " FROM " + s.from
	conditions := s.where
	if where != "" {
		conditions = append(conditions[:len(conditions):len(conditions)], where)
	}
	if len(conditions) > 0 {
		sql += " WHERE " + strings.Join(conditions, " AND ")
	}
	if groupBy != "" {
		sql += " GROUP BY " + groupBy + " HAVING count() > 0" // a key that is the same everywhere makes a row of nothing
	}
	return sql
}

// inTime are the conditions of Filter.inTime.
func (q *dialect) inTime() []string {
	var l []string
	edge := func(t time.Time, before, at string) {
		µs, ns := t.UnixMicro(), t.Nanosecond()%1000
		l = append(l, fmt.Sprintf("((end != %s) AND ((end %s %d) OR (end = %d) AND (end_ns %s %d)))", unknownTime, before, µs, µs, at, ns))
	}
	if f := q.filter; f.NeedsTime() {
		if !f.Since.IsZero() {
			edge(f.Since, ">", ">=")
		}
		if !f.Until.IsZero() {
			edge(f.Until, "<", "<")
		}
	}
	return l
}

// sql is Condition.holds of an expression.
func (c Condition) sql(expression string) string {
	var l []string
	for _, v := range c.Values {
		if strings.ContainsAny(v, `*?[\`) {
			l = append(l, "match("+expression+", "+clickhouse.Quote(patternSQL(v))+")")
		}
		l = append(l, expression+" = "+clickhouse.Quote(v))
	}
	return "(" + strings.Join(l, " OR ") + ")"
}

// patternSQL turns a pattern of path.Match, which must be valid, into a regular
// expression.
func patternSQL(pattern string) string {
	var b strings.Builder
	b.WriteString(`\A(?s:`)
	quoted := func(c rune) {
		if strings.ContainsRune(`\.+*?()|[]{}^$-`, c) {
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	r := []rune(pattern)
	inClass := false
	for i := 0; i < len(r); i++ {
		switch c := r[i]; {
		case c == '\\' && i+1 < len(r):
			i++
			quoted(r[i])
		case inClass && c == ']':
			inClass = false
			b.WriteByte(']')
		case inClass && c == '-':
			b.WriteByte('-')
		case inClass:
			quoted(c)
		case c == '*':
			b.WriteString(`[^/]*`)
		case c == '?':
			b.WriteString(`[^/]`)
		case c == '[':
			inClass = true
			b.WriteByte('[')
			if i+1 < len(r) && r[i+1] == '^' {
				i++
				b.WriteByte('^')
			}
		default:
			quoted(c)
		}
	}
	b.WriteString(`)\z`)
	return b.String()
}

// A keySQL is a dimension in SQL: what to group by, and how a row tells it; and
// the same as the text that Dimension.Key gives.
type keySQL struct {
	sql  string
	text string
	take func(*clickhouse.Row) string
}

// key is Dimension.Key or Dimension.TurnKey.
func (s *source) key(d Dimension) (k keySQL, ok bool) {
	switch d {
	case "":
		return textKey("''"), true
	case "day", "hour":
		return s.q.timeKey(d), true
	case "label", "cache", "input-size", "output-size":
		if s.turns {
			return k, false
		}
	case "format":
		if s.turns {
			return textKey("'rollout'"), true
		}
	}
	switch d {
	case "source":
		return textKey("origin"), true
	case "status":
		return textKey("toString(status)"), true
	case "turn":
		if s.turns {
			return textKey("id"), true
		}
	case "cache":
		return textKey(cacheSQL("input", "cached")), true
	case "input-size":
		return textKey(sizeSQL("input")), true
	case "output-size":
		return textKey(sizeSQL("output")), true
	}
	return textKey(string(d)), true
}

func textKey(sql string) keySQL { return keySQL{sql, sql, (*clickhouse.Row).String} }

// timeKey numbers days and hours where the user is. The offsets of the zone
// come from here, so that the server's knowledge of zones does not matter.
func (q *dialect) timeKey(d Dimension) keySQL {
	floor := func(v string, by int) string { return fmt.Sprintf("(intDiv(%s, %d) - (%s %% %d < 0))", v, by, v, by) }
	local := "(" + floor("end", 1_000_000) + " + " + q.offsetSQL() + ")"
	dayNumber := floor(local, 86400)
	hour := "intDiv(" + local + " - 86400 * " + dayNumber + ", 3600)"
	number, text := dayNumber, "toString(toDate(toUInt16("+dayNumber+")))"
	name := func(n int64) string { return time.Unix(86400*n, 0).UTC().Format("2006-01-02") }
	if d == "hour" {
		number, text = hour, "concat(if("+hour+" < 10, '0', ''), toString("+hour+"), 'h')"
		name = func(n int64) string { return fmt.Sprintf("%02dh", n) }
	}
	return keySQL{
		sql:  "if(end = " + unknownTime + ", " + unknownTime + ", toInt64(" + number + "))",
		text: "if(end = " + unknownTime + ", '', " + text + ")",
		take: func(row *clickhouse.Row) string {
			n := row.Int64()
			if n == clickhouse.UnknownTime {
				return ""
			}
			return name(n)
		},
	}
}

// offsetSQL is the zone's offset from UTC at the end of a record, in seconds.
func (q *dialect) offsetSQL() string {
	if q.first.IsZero() {
		return "0"
	}
	var b strings.Builder
	t := q.first.In(q.o.Location)
	for {
		_, offset := t.Zone()
		_, until := t.ZoneBounds()
		if until.IsZero() || until.After(q.last) {
			if b.Len() == 0 {
				return strconv.Itoa(offset)
			}
			return "multiIf(" + b.String() + strconv.Itoa(offset) + ")"
		}
		fmt.Fprintf(&b, "end < %d, %d, ", until.UnixMicro(), offset)
		t = until
	}
}

// cacheSQL is cacheBand.
func cacheSQL(input, cached string) string {
	hit := "toFloat64(" + cached + ") / toFloat64(" + input + ")"
	return fmt.Sprintf("multiIf(%[1]s <= 0 OR %[2]s < 0 OR %[2]s > %[1]s, '', %[2]s = 0, '0 %%', %[3]s < %[4]s, 'below 50 %%', %[3]s < %[5]s, '50–90 %%', '90–100 %%')",
		input, cached, hit, floatSQL(0.5), floatSQL(0.9))
}

// sizeSQL is sizeBand.
func sizeSQL(n string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "multiIf(%s < 0, ''", n)
	for _, s := range sizeBands {
		fmt.Fprintf(&b, ", %s < %d, '%s'", n, s.below, s.name)
	}
	return b.String() + ", '" + largestSize + "')"
}

// columns are the aggregates of one query and where they go.
type columns struct {
	list string
	to   []*uint64
}

func newColumns() *columns { return new(columns) }

// add takes an aggregate that is never negative.
func (c *columns) add(sql string, to *uint64) {
	if c.list != "" {
		c.list += ", "
	}
	c.list += "toUInt64(" + sql + ")"
	c.to = append(c.to, to)
}

func (c *columns) count(where string, to *uint64) { c.add("countIf("+where+")", to) }

func (c *columns) sum(what, where string, to *uint64) {
	c.add("sumIf(toUInt64("+what+"), "+where+")", to)
}

func (c *columns) take(row *clickhouse.Row) {
	for _, to := range c.to {
		*to = row.UInt64()
	}
}
