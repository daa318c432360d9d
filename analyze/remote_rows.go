package analyze

import (
	"fmt"
	"strings"

	"codexlag/analyze/clickhouse"
	"codexlag/parse/record"
)

// population fetches the requests that models, findings and concurrency stand
// on: of each group all, or those that the hash of their place chooses.
func (r *remote) population() error {
	if err := r.shifts(); err != nil {
		return err
	}
	t := r.sql.requests()
	wanted := []string{placed(r.c.overall.population.shift)}
	if r.c.overall.population.shift > 0 {
		for _, d := range r.c.by {
			key, _ := t.key(d)
			byShift := map[uint][]string{}
			for k, g := range r.c.keyed(d).groups {
				byShift[g.population.shift] = append(byShift[g.population.shift], clickhouse.Quote(k))
			}
			for shift, keys := range byShift {
				if len(byShift) == 1 {
					wanted = append(wanted, placed(shift))
				} else {
					wanted = append(wanted, all(placed(shift), key.text+" IN ("+strings.Join(keys, ", ")+")"))
				}
			}
		}
	}
	var q record.Request
	return r.query(t.query(clickhouse.RequestColumns, "("+strings.Join(wanted, " OR ")+")", ""), func(row *clickhouse.Row) {
		row.Request(&q)
		m := derive(&q, r.o)
		r.c.overall.population.add(&q, &m)
		for _, d := range r.c.by {
			r.c.group(d, d.Key(&q, r.o.Location)).population.add(&q, &m)
		}
	})
}

// placed chooses requests by the hash of their place; see population.wants.
func placed(shift uint) string {
	if shift == 0 {
		return "1"
	}
	return fmt.Sprintf("(place < %d)", uint64(1)<<(64-shift))
}

// maxShift halves 10¹² requests often enough.
const maxShift = 24

// shifts finds out how often the requests of each group must be halved.
func (r *remote) shifts() error {
	if r.c.overall.requests <= maxRows {
		return nil
	}
	for _, d := range r.groupings() {
		columns := newColumns()
		var left [maxShift + 1]uint64
		for shift := range left {
			columns.count(placed(uint(shift))+" = 1", &left[shift])
		}
		err := r.grouped(r.sql.requests(), d, "", columns.list, func(key string, row *clickhouse.Row) {
			columns.take(row)
			g := r.group(d, key)
			for g.population.shift < maxShift && left[g.population.shift] > maxRows {
				g.population.shift++
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// slowest fetches the slowest requests.
func (r *remote) slowest() error {
	if r.o.Top <= 0 {
		return nil
	}
	e, t := r.sql.figures(), r.sql.requests()
	where := all(e.timed, "(status != 'warmup')")
	// First how slow they are, from one column; then the rest of those few.
	least := int64(0)
	err := r.query(fmt.Sprintf("SELECT toInt64(min(total)) FROM (%s ORDER BY total DESC LIMIT %d)", t.query("total", where, ""), r.o.Top), func(row *clickhouse.Row) {
		least = row.Int64()
	})
	if err != nil {
		return err
	}
	var q record.Request
	return r.query(t.query(clickhouse.RequestColumns, all(where, fmt.Sprintf("(total >= %d)", least)), "")+
		fmt.Sprintf(" ORDER BY toFloat64(total) / 1000000 DESC, if(line = 0, file, concat(file, ':', toString(line))) LIMIT %d", r.o.Top), func(row *clickhouse.Row) {
		row.Request(&q)
		r.c.slowest = append(r.c.slowest, NewRequest(&q, r.o))
	})
}

// slowTurns fetches the slowest turns. Some may have nothing to draw; then the
// next ones take their place.
func (r *remote) slowTurns() error {
	var t record.Turn
	return r.query(r.sql.turns().query(clickhouse.TurnColumns, "(duration > 0)", "")+
		fmt.Sprintf(" ORDER BY duration DESC, if(line = 0, file, concat(file, ':', toString(line))) LIMIT %d", 10*maxLanes), func(row *clickhouse.Row) {
		row.Turn(&t)
		r.c.slowTurns.add(&t, r.o)
	})
}
