package analyze

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"codexlag/analyze/clickhouse"
	"codexlag/parse/record"
)

// A remote fills a collector with what a database says about the records in it,
// instead of with the records: it counts, sums and sorts there. What travels is
//
//   - counts and sums, one row a group;
//   - of a figure with few values those, with how often each comes; of one with
//     many the count of each whole number below tableSize, and of the others the
//     order statistics that the report needs and exact sums;
//   - the sample of requests (at most maxRows a group) that models, findings
//     and concurrency stand on here as well, chosen by the same hash;
//   - the slowest requests and turns.
//
// So the arithmetic up to a printed digit is that of records that were read.
type remote struct {
	ctx    context.Context
	db     *clickhouse.DB
	c      *Collector
	o      *Options
	filter *Filter
	sql    *dialect
	// tailTotals are the totals that the tail of each group is cut from.
	tailTotals map[*group]*sample
}

// errChanged says that rows came while the database was asked.
var errChanged = errors.New("rows came in between two queries")

// fetchTries is how often a report begins anew because rows came in between.
const fetchTries = 5

// Fetch fills a collector of the options o with what the database holds of the
// records that the filter keeps. Inputs counts the logs they are from, all of
// them.
func Fetch(ctx context.Context, db *clickhouse.DB, o Options, filter *Filter) (*Collector, *Inputs, error) {
	for try := 1; ; try++ {
		c, in, err := fetch(ctx, db, o, filter, try > 1)
		if err == nil || !errors.Is(err, errChanged) {
			return c, in, err
		}
		if try == fetchTries {
			return nil, nil, fmt.Errorf("%v: %w, %d times; ask again when less is being loaded, or with --until about what is there", db, err, try)
		}
	}
}

func fetch(ctx context.Context, db *clickhouse.DB, o Options, filter *Filter, final bool) (*Collector, *Inputs, error) {
	c := NewCollector(o)
	r := &remote{ctx: ctx, db: db, c: c, o: &c.options, filter: filter, tailTotals: map[*group]*sample{}}
	tables, err := db.Tables(ctx, final, filter.Since, filter.Until)
	if err != nil {
		return nil, nil, err
	}
	r.sql = &dialect{o: &c.options, filter: filter, Tables: *tables}
	steps := []func() error{r.zone, r.span, r.counts, r.turnCounts, r.tails, r.population, r.slowest, r.slowTurns}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, nil, err
		}
	}
	in, err := r.inputs()
	if err != nil {
		return nil, nil, err
	}
	return c, in, r.unchanged()
}

// unchanged checks that nothing came in between that could be there twice.
func (r *remote) unchanged() error {
	ok, err := r.db.Unchanged(r.ctx, &r.sql.Tables)
	if err == nil && !ok {
		err = errChanged
	}
	return err
}

func (r *remote) query(sql string, each func(*clickhouse.Row)) error {
	return r.db.Query(r.ctx, sql, each)
}

// zone finds out between which times all records lie, for the offsets of the
// time zone, where days or hours are asked about.
func (r *remote) zone() error {
	clock := func(d Dimension) bool { return d == "day" || d == "hour" }
	if !slices.ContainsFunc(r.o.By, clock) && !slices.ContainsFunc(r.filter.Where, func(c Condition) bool { return clock(c.By) }) {
		return nil
	}
	var all Collector
	for _, from := range []string{r.sql.Requests, r.sql.Turns} {
		if err := r.ends(&source{q: r.sql, from: strings.TrimSuffix(from, " FINAL")}, all.span); err != nil {
			return err
		}
	}
	r.sql.first, r.sql.last = all.first, all.last
	return nil
}

// span finds out between which times the records lie that the filter keeps.
func (r *remote) span() error {
	return errors.Join(r.ends(r.sql.requests(), r.c.span), r.ends(r.sql.turns(), r.c.span))
}

func (r *remote) ends(t *source, see func(time.Time)) error {
	return r.query(t.query("toInt64(min(end)), toInt64(max(end)), toInt64(count())", "end != "+unknownTime, ""), func(row *clickhouse.Row) {
		first, last, n := row.Int64(), row.Int64(), row.Int64()
		if n > 0 {
			see(time.UnixMicro(first).UTC())
			see(time.UnixMicro(last).UTC())
		}
	})
}

// groupings are all requests, then those by each dimension.
func (r *remote) groupings() []Dimension { return append([]Dimension{""}, r.c.by...) }

// group returns the group of a key that a query gave.
func (r *remote) group(d Dimension, key string) *group {
	if d == "" {
		return &r.c.overall
	}
	return r.c.group(d, key)
}

// counts asks for what needs no order: see group.tally.
func (r *remote) counts() error {
	e, t := r.sql.figures(), r.sql.requests()
	flags := [len(flagOrder)]string{e.fewTokens, e.shortDecode, e.burst, e.noTTFT, e.noTotal, e.noTokens, e.ttftAfterTotal,
		e.tpsMismatch, "status = 'warmup'", "status = 'failed'", "status = 'aborted'", e.slowStart, e.slowStream}
	measures := r.requestMeasures(e)
	for _, d := range r.groupings() {
		columns := newColumns()
		var n, failed, aborted, warmup, met, missed, unjudged, splits, tailed, late, slow, both, reasoned, merged, broken uint64
		var prefill, decode, unsplit, brokenTime, pooledTokens, pooled, lateTime, reasoning, output uint64
		var qualities [record.Measured + 1]uint64
		columns.add("count()", &n)
		columns.count("status = 'failed'", &failed)
		columns.count("status = 'aborted'", &aborted)
		columns.count("status = 'warmup'", &warmup)
		columns.count(e.meets, &met)
		columns.count("status != 'warmup' AND NOT "+e.meets, &missed)
		columns.count(e.unjudged, &unjudged)
		columns.count(e.split, &splits)
		columns.count(e.tailed, &tailed)
		columns.count(e.slowStart, &late)
		columns.count(e.slowStream, &slow)
		columns.count(e.slowStart+" AND "+e.slowStream, &both)
		columns.count("merged = 1", &merged)
		columns.sum("intDiv(ttft, 1000)", e.split, &prefill)
		columns.sum("intDiv("+e.decode+", 1000)", e.split, &decode)
		columns.sum("intDiv(total, 1000)", e.unsplit, &unsplit)
		columns.count(e.broken, &broken)
		columns.sum("intDiv(total, 1000)", e.broken, &brokenTime)
		columns.sum(e.decodeTokens, e.hasTPS, &pooledTokens)
		columns.sum("intDiv("+e.decode+", 1000)", e.hasTPS, &pooled)
		columns.sum("toInt64(1000 * (toFloat64(ttft) / 1000000))", e.slowStart, &lateTime)
		columns.count(e.reasoned, &reasoned)
		columns.sum("reasoning", e.reasoned, &reasoning)
		columns.sum("output", e.reasoned, &output)
		for q := range qualities {
			columns.count(fmt.Sprintf("toInt8(quality) = %d", q), &qualities[q])
		}
		var flagged [len(flagOrder)]uint64
		if d == "" {
			for i := range flags {
				columns.count(flags[i], &flagged[i])
			}
		}
		holdings := measured(columns, measures)
		var held []*holding
		err := r.grouped(t, d, "", columns.list, func(key string, row *clickhouse.Row) {
			columns.take(row)
			g := r.group(d, key)
			g.requests, g.failed, g.aborted, g.warmup = int(n), int(failed), int(aborted), int(warmup)
			g.sloMet, g.sloMissed, g.sloUnknown, g.splits = int(met), int(missed), int(unjudged), int(splits)
			g.slowStarts, g.slowStreams, g.bothSlow = int(late), int(slow), int(both)
			g.byTotal.count = int(tailed)
			g.splitPrefill.lo, g.splitDecode.lo, g.unsplit.lo = prefill, decode, unsplit
			g.broken, g.brokenTime.lo = int(broken), brokenTime
			g.pooledTokens.lo, g.pooled.lo, g.lateStarts.lo = pooledTokens, pooled, lateTime
			g.reasoning = reasoningSums{int(reasoned), sum{lo: reasoning}, sum{lo: output}}
			for q, k := range qualities {
				g.qualities[q] = int(k)
			}
			held = append(held, holdings(key, g)...)
			if d == "" {
				for i, k := range flagged {
					r.c.quality.flags[i] = int(k)
				}
				if merged > 0 {
					r.c.quality.skipped[record.Merge] += int(merged)
				}
			}
		})
		if err == nil {
			err = r.fill(t, d, measures, held)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// turnCounts is counts for turns; see turnSums.
func (r *remote) turnCounts() error {
	for _, d := range r.groupings() {
		columns := newColumns()
		var n, failed, aborted, unfinished uint64
		var parts [5]uint64
		var broken [len(brokenParts)]uint64
		columns.add("count()", &n)
		columns.count("status = 'failed'", &failed)
		columns.count("status = 'aborted'", &aborted)
		columns.count("status = 'unfinished'", &unfinished)
		for i, part := range []string{"prefill", "decode", "model_time", "tool", "other"} {
			columns.sum("intDiv("+part+", 1000)", "duration > 0", &parts[i])
		}
		for i, part := range brokenParts {
			columns.sum("intDiv("+part+", 1000)", "duration > 0", &broken[i])
		}
		holdings := measured(columns, turnMeasures)
		var held []*holding
		t := r.sql.turns()
		err := r.grouped(t, d, "", columns.list, func(key string, row *clickhouse.Row) {
			columns.take(row)
			g := r.group(d, key)
			held = append(held, holdings(key, g)...)
			s := &g.turns
			s.count, s.failed, s.aborted, s.unfinished = int(n), int(failed), int(aborted), int(unfinished)
			s.prefill.lo, s.decode.lo, s.model.lo, s.tool.lo, s.other.lo = parts[0], parts[1], parts[2], parts[3], parts[4]
			s.failedPrefill.lo, s.failedDecode.lo, s.failedModel.lo = broken[0], broken[1], broken[2]
		})
		if err == nil {
			err = r.fill(t, d, turnMeasures, held)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// grouped asks for aggregates by the keys of a dimension, if the rows of the
// table have it. The columns must make rows that each takes.
func (r *remote) grouped(t *source, d Dimension, where, columns string, each func(key string, row *clickhouse.Row)) error {
	key, ok := t.key(d)
	if !ok {
		return nil
	}
	tooMany := 0
	err := r.query(t.query(key.sql+" AS k, "+columns, where, "k"), func(row *clickhouse.Row) {
		k := key.take(row)
		if tooMany++; tooMany <= maxKeys {
			each(k, row)
		} else {
			each(OtherKey, row) // to pass over it
		}
	})
	if err == nil && tooMany > maxKeys {
		err = fmt.Errorf("--by %s: there are %d values, and at most %d can be told apart in a report from a database; ask about fewer with --since, --model or --where", d, tooMany, maxKeys)
	}
	return err
}

// inputs counts the logs that were loaded, and what in them is in no figure.
func (r *remote) inputs() (*Inputs, error) {
	in := &Inputs{Formats: map[string]int{"request": 0, "rollout": 0, "trace": 0}}
	err := r.query("SELECT format, toInt64(count()), toInt64(sum(bytes)), toInt64(sum(lines)) FROM "+r.sql.Logs+" GROUP BY format", func(row *clickhouse.Row) {
		format, n := row.String(), int(row.Int64())
		in.Files += n
		in.Bytes += row.Int64()
		in.Lines += row.Int64()
		if format != string(record.FormatUnknown) {
			in.Formats[format] += n
		}
	})
	if err != nil {
		return nil, err
	}
	return in, r.query("SELECT reason, toInt64(sum(n)) FROM (SELECT left_out, left_out_count FROM "+r.sql.Logs+") ARRAY JOIN left_out AS reason, left_out_count AS n GROUP BY reason",
		func(row *clickhouse.Row) {
			why := record.Reason(row.String())
			r.c.quality.skipped[why] += int(row.Int64())
		})
}
