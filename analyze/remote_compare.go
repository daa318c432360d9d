package analyze

import (
	"context"
	"errors"
	"fmt"
	"time"

	"codexlag/analyze/clickhouse"
)

// FetchSplit is Fetch for the two sides of a comparison: the records that ended
// before a time, and the others. It also returns how many requests tell no time
// and are on neither side.
func FetchSplit(ctx context.Context, db *clickhouse.DB, o Options, filter *Filter, at time.Time) (before, after *Collector, in *Inputs, timeless int, err error) {
	early, late := *filter, *filter
	if early.Until.IsZero() || at.Before(early.Until) {
		early.Until = at
	}
	if late.Since.IsZero() || at.After(late.Since) {
		late.Since = at
	}
	for try := 1; ; try++ {
		before, after, in, err = fetchSides(ctx, db, o, filter, &early, &late, at, try > 1)
		if err == nil || !errors.Is(err, errChanged) || try == fetchTries {
			break
		}
	}
	if err != nil || filter.NeedsTime() {
		return before, after, in, 0, err
	}
	tables, err := db.Tables(ctx, true, time.Time{}, time.Time{})
	if err != nil {
		return nil, nil, nil, 0, err
	}
	r := &remote{ctx: ctx, db: db, o: &o, filter: filter, sql: &dialect{o: &o, filter: filter, Tables: *tables}}
	if err := r.zone(); err != nil {
		return nil, nil, nil, 0, err
	}
	err = db.Query(ctx, r.sql.requests().query("toInt64(count())", "end = "+unknownTime, ""), func(row *clickhouse.Row) { timeless = int(row.Int64()) })
	return before, after, in, timeless, err
}

func fetchSides(ctx context.Context, db *clickhouse.DB, o Options, whole, early, late *Filter, at time.Time, final bool) (before, after *Collector, in *Inputs, err error) {
	if before, in, err = Fetch(ctx, db, o, early); err != nil {
		return nil, nil, nil, err
	}
	if after, _, err = Fetch(ctx, db, o, late); err != nil {
		return nil, nil, nil, err
	}
	tables, err := db.Tables(ctx, final, whole.Since, whole.Until)
	if err != nil {
		return nil, nil, nil, err
	}
	r := &remote{ctx: ctx, db: db, c: before, o: &before.options, filter: whole}
	r.sql = &dialect{o: r.o, filter: whole, Tables: *tables}
	if err := r.zone(); err != nil {
		return nil, nil, nil, err
	}
	before.ranked = map[[2]*sample]rankCounts{}
	for _, d := range r.groupings() {
		if d == "" {
			err = r.rank(d, "", &before.overall, &after.overall, at)
		}
		for key, a := range before.keyed(d).groups {
			if b := after.existing(d, key); b != nil && err == nil {
				err = r.rank(d, key, a, b, at)
			}
		}
		if err != nil {
			return nil, nil, nil, err
		}
	}
	return before, after, in, r.unchanged()
}

// rank lets the database rank the values of two groups against each other,
// where it alone has them.
func (r *remote) rank(d Dimension, key string, a, b *group, at time.Time) error {
	t := r.sql.requests()
	by, _ := t.key(d)
	for _, m := range r.requestMeasures(r.sql.figures()) {
		if m.rough {
			continue // it is in no comparison
		}
		x, y := m.of(a), m.of(b)
		if x.digest == nil && y.digest == nil || x.n() < MinTest || y.n() < MinTest {
			continue
		}
		if x.sketch != nil || y.sketch != nil {
			return fmt.Errorf("one side has %d values, the other %d: with --exact-limit beyond both (or below both) they can be compared", x.n(), y.n())
		}
		where := all(m.where, "(end != "+unknownTime+")")
		if d != "" {
			where = all(where, by.text+" = "+clickhouse.Quote(key))
		}
		µs, ns := at.UnixMicro(), at.Nanosecond()%1000
		early := fmt.Sprintf("((end < %d) OR (end = %d) AND (end_ns < %d))", µs, µs, ns)
		sql := "SELECT toInt64(arraySum(a)), toInt64(arraySum(b)), toInt64(arraySum(arrayMap((i, j, c) -> i * (2 * (c - j) + j), a, b, arrayCumSum(b)))), " +
			"toInt64(arraySum(arrayMap((i, j) -> (i + j) * intDiv((i + j) * (i + j) - 1, 1048576), a, b))), " +
			"toInt64(arraySum(arrayMap((i, j) -> (i + j) * (((i + j) * (i + j) - 1) % 1048576), a, b))) FROM (SELECT groupArray(i) AS a, groupArray(j) AS b FROM (" +
			t.query(m.value+" AS v, toInt64(countIf("+early+")) AS i, toInt64(countIf(NOT "+early+")) AS j", where, "v") + " ORDER BY v))"
		var c rankCounts
		if err := r.query(sql, func(row *clickhouse.Row) {
			c = rankCounts{int(row.Int64()), int(row.Int64()), row.Int64(), ties{row.Int64(), row.Int64()}}
		}); err != nil {
			return err
		}
		if c.na != x.n() || c.nb != y.n() {
			return errChanged
		}
		r.c.ranked[[2]*sample{x, y}] = c
	}
	return nil
}
