package rollout

import (
	"fmt"
	"strings"
	"testing"

	"codexlag/parse/record"
)

// own is the turn of a fork that starts at ms, with one request.
func own(ms int, id string, sum int) string {
	return join(started(ms, id), context0(ms+1, id, "m"), user(ms+2), answer(ms+5000), count(ms+5001, sum+10, 10), complete(ms+5010, id, `"duration_ms":5010,"time_to_first_token_ms":1000`))
}

// TestForks: what a file copied from its parent is in no figure.
func TestForks(t *testing.T) {
	parent := `,"forked_from_id":"` + v7(-90_000, 2) + `"`
	old, older := v7(-60_000, 3), v7(-80_000, 4)
	mine := v7(10, 5)
	parentMeta := line(1, "session_meta", fmt.Sprintf(`{"id":%q,"model_provider":"other","cli_version":"0.1"}`, v7(-90_000, 2)))
	replayed := func(ms int, first, second string) string {
		return join(
			started(ms, first), context0(ms, first, "old"), count(ms+1, 100, 100), count(ms+1, 100, 100), complete(ms+2, first, `"duration_ms":99999,"time_to_first_token_ms":88888`),
			started(ms+3, second), count(ms+4, 150, 50)) // a turn that never ends
	}
	wantOwn := func(line, ms int) string {
		return fmt.Sprintf("request %d: %d..%d total 5001 ttft 1000 estimated out 10\nturn %d ok: %d..%d duration 5010 ttft 1000, 1 requests", line, ms, ms+5001, line+1, ms, ms+5010)
	}
	// Without ids that hold a time.
	const v4 = "5f3c2c60-1111-4222-8333-444455556666"
	v4Meta := line(0, "session_meta", fmt.Sprintf(`{"id":%q,"timestamp":%q,"forked_from_id":"x"}`, v4, stamp(0)))
	run(t, []testCase{
		{"replay named by forked_from_id", join(meta0(0, parent), replayed(2, older, old), own(10, mine, 150)),
			"replayed 4\nrepeat 5\nreplayed 8\n" + wantOwn(13, 10)},
		{"replay marked only by a second meta", join(meta0(0, ""), parentMeta, replayed(2, older, old), own(10, mine, 150)),
			"replayed 5\nrepeat 6\nreplayed 9\n" + wantOwn(14, 10)},
		{"replay of a parent named only by parent_thread_id", join(meta0(0, `,"parent_thread_id":"p"`), replayed(2, older, old), own(10, mine, 150)),
			"replayed 4\nrepeat 5\nreplayed 8\n" + wantOwn(13, 10)},
		{"the sums go on from the parent's: its last count again is a repeat", join(meta0(0, parent), replayed(2, older, old), started(10, mine), count(11, 150, 50), user(12), answer(5010), count(5011, 160, 10), complete(5020, mine, "")),
			"replayed 4\nrepeat 5\nreplayed 8\nrepeat 10\nrequest 13: 12..5011 total 4999 ttft 4998 bound out 10\nturn 14 ok: 10..5020 duration 5010, 1 requests"},
		{"usage records of another thread are replayed", join(meta0(0, parent), started(10, mine), user(12), line(20, "token_usage_record", fmt.Sprintf(`{"thread_id":"other","response_id":"r","usage":%s}`, tokens(1, 0, 1, 0))), answer(5010), count(5011, 160, 10), complete(5020, mine, "")),
			"replayed 4\nrequest 6: 12..5011 total 4999 ttft 4998 bound out 10\nturn 7 ok: 10..5020 duration 5010, 1 requests"},
		{"a fork that replays nothing keeps its turns", join(meta0(0, `,"parent_thread_id":"p"`), parentMeta, own(10, mine, 0)), wantOwn(7, 10)},
		{"the same without ids of version 7", join(v4Meta, parentMeta, own(10, "turn-1", 0)), wantOwn(7, 10)},
		{"the copy keeps the parent's times", join(meta0(0, parent), replayed(-50_000, older, old), own(10, mine, 150)),
			"replayed 4\nrepeat 5\nreplayed 8\n" + wantOwn(13, 10)},
		{"no ids of version 7: the burst is the copy, the turn open at its end is the own", join(v4Meta, parentMeta, replayed(2, "t1", "t2"), own(10, "t3", 150)),
			"replayed 5\nrepeat 6\nreplayed 9\n" + wantOwn(14, 10)},
		{"no ids of version 7: the own turn comes later", join(v4Meta, replayed(2, "t1", "t2"), own(60_000, "t3", 150)),
			"replayed 4\nrepeat 5\nreplayed 8\n" + wantOwn(13, 60_000)},
		{"no ids of version 7: started_at tells a parent's turn", join(v4Meta, event(2, "task_started", fmt.Sprintf(`"turn_id":"t1","started_at":%d`, base.Unix()-60)), count(3, 100, 100), said(9000), count(9001, 150, 50)),
			"replayed 3\nrequest 5: ?..9001 out 50"},
		{"no ids of version 7: times of the parent's", join(v4Meta, replayed(-50_000, "t1", "t2"), own(60_000, "t3", 150)),
			"replayed 4\nrepeat 5\nreplayed 8\n" + wantOwn(13, 60_000)},
		{"without any marks of turns", join(v4Meta, user(1), count(2, 100, 100), user(3), answer(5000), count(5001, 110, 10)),
			"replayed 3\nrequest 6: 3..5001 total 4998 ttft 4997 bound out 10\nturn 6 ok: 3..5001 duration 4998, 1 requests"},
		{"items of the copy that no count came after do not start the fork's own request", join(v4Meta, user(1), said(2), count(2, 100, 100), tool(3, "c"), output(3, "c"), answer(3), user(60_000), answer(65_000), count(65_001, 110, 10)),
			"replayed 4\nrequest 10: 60000..65001 total 5001 ttft 5000 bound out 10\nturn 10 ok: 60000..65001 duration 5001, 1 requests"},
		{"a copy without counts: the parent's last one, told again as a turn begins, is no request", join(meta0(0, parent), started(2, old), answer(2), started(10, mine), context0(12, mine, "m"), count(13, 150, 50), user(14), answer(5010), count(5011, 160, 10), complete(5020, mine, "")),
			"replayed 6\nrequest 9: 14..5011 total 4997 ttft 4996 bound out 10\nturn 10 ok: 10..5020 duration 5010, 1 requests"},
		{"ordinals name the end of the copy", join(
			line(0, "session_meta", fmt.Sprintf(`{"id":%q,"timestamp":%q,"subagent_history_start_ordinal":3,"forked_from_id":"x"}`, v4, stamp(0))),
			ordered(1, started(1, "t1")), ordered(2, count(2, 100, 100)),
			ordered(3, started(3, "t2")), ordered(4, user(4)), ordered(4, answer(2000)), ordered(5, count(2001, 110, 10)), ordered(6, complete(2010, "t2", ""))),
			"replayed 3\nrequest 7: 4..2001 total 1997 ttft 1996 bound out 10\nturn 8 ok: 3..2010 duration 2007, 1 requests"},
		{"so does the length of the copied history", join(
			line(0, "session_meta", fmt.Sprintf(`{"id":%q,"timestamp":%q,"forked_from_ordinal_exclusive":2,"forked_from_id":"x"}`, v4, stamp(0))),
			ordered(1, started(1, "t1")), ordered(2, count(2, 100, 100)),
			ordered(3, started(3, "t2")), ordered(4, user(4)), ordered(5, answer(2000)), ordered(6, count(2001, 110, 10)), ordered(7, complete(2010, "t2", ""))),
			"replayed 3\nrequest 7: 4..2001 total 1997 ttft 1996 bound out 10\nturn 8 ok: 3..2010 duration 2007, 1 requests"},
		{"an ordinal that ends too early does not let the parent's turns in", join(
			line(0, "session_meta", fmt.Sprintf(`{"id":%q,"subagent_history_start_ordinal":1,"forked_from_id":"x"}`, v7(0, 1))),
			ordered(1, started(1, old)), ordered(2, count(2, 100, 100)),
			ordered(3, started(3, mine)), ordered(4, user(4)), ordered(5, answer(2000)), ordered(6, count(2001, 110, 10)), ordered(7, complete(2010, mine, ""))),
			"replayed 3\nrequest 7: 4..2001 total 1997 ttft 1996 bound out 10\nturn 8 ok: 3..2010 duration 2007, 1 requests"},
		{"resumed into a new file without any mark: counts in a burst", join(
			line(0, "session_meta", fmt.Sprintf(`{"id":%q,"timestamp":%q}`, v4, stamp(0))),
			user(1), count(2, 100, 100), user(3), count(4, 150, 50), user(5), count(6, 160, 10),
			user(60_000), answer(62_000), count(62_001, 170, 10)),
			"replayed 3\nreplayed 5\nreplayed 7\nrequest 10: 60000..62001 total 2001 ttft 2000 bound out 10\nturn 10 ok: 60000..62001 duration 2001, 1 requests"},
		{"one count in the first burst was written late", join(
			line(0, "session_meta", fmt.Sprintf(`{"id":%q,"timestamp":%q}`, v4, stamp(0))),
			user(1), tool(2, "c"), count(3, 100, 100), output(4000, "c"), answer(6000), count(6001, 150, 50)),
			"request 4: ?..3 out 100\nrequest 7: 4000..6001 total 2001 ttft 2000 bound out 50\nturn 7 ok: 1..6001 duration 6000, 2 requests, shell 2..4000"},
		{"whole seconds show no pauses", strings.ReplaceAll(join(
			line(0, "session_meta", fmt.Sprintf(`{"id":%q,"timestamp":%q}`, v4, stamp(0))),
			user(0), answer(0), count(0, 100, 100), user(0), answer(0), count(0, 150, 50)), ".000Z", "Z"),
			"request 4: ?..0 out 100\nturn 4 ok: 0..0, 1 requests\nrequest 7: ?..0 out 50\nturn 7 ok: 0..0, 1 requests"},
	})
}

// ordered gives a line an ordinal, as in paginated files.
func ordered(n int, line string) string {
	return strings.Replace(line, `,"type"`, fmt.Sprintf(`,"ordinal":%d,"type"`, n), 1)
}

// TestForkKeepsItsOwnSettings: changes of settings in the copy are the parent's.
func TestForkKeepsItsOwnSettings(t *testing.T) {
	all, _ := decode(join(meta0(0, `,"forked_from_id":"p"`),
		event(1, "thread_settings_applied", `"thread_settings":{"model":"old","model_provider_id":"other"}`), own(10, v7(10, 5), 0)))
	if q := all[0].(*record.Request); q.Provider != "openai" || q.Model != "m" {
		t.Errorf("%+v", q)
	}
}

func TestIdentity(t *testing.T) {
	parentMeta := line(1, "session_meta", fmt.Sprintf(`{"id":%q,"session_id":"root","model_provider":"other","cli_version":"0.1","source":"exec"}`, v7(-90_000, 2)))
	all, d := decode(join(
		meta0(0, `,"session_id":"root","forked_from_id":"x","source":{"subagent":{"thread_spawn":{"parent_thread_id":"p","agent_nickname":"SECRET"}}}`),
		parentMeta, own(10, v7(10, 5), 0), meta0(9000, "")))
	q := all[0].(*record.Request)
	if q.Session != v7(0, 1) || q.Provider != "openai" || q.Version != "0.128.0" || q.Origin != "subagent" || q.Model != "m" || q.Effort != "high" || q.Turn != v7(10, 5) {
		t.Errorf("%+v", q)
	}
	want := Info{Era: EraWrapped, Version: "0.128.0", Session: v7(0, 1), Requests: 1, Turns: 1, Resumes: 1, IsFork: true, HasTurnTTFT: true}
	if d.Info() != want {
		t.Errorf("got %+v, want %+v", d.Info(), want)
	}
}

// TestOrigin: helpers are told apart from the user's own requests.
func TestOrigin(t *testing.T) {
	for _, c := range []struct{ name, fields, want string }{
		{"nothing said", ``, ""},
		{"front end", `,"source":"vscode"`, "user"},
		{"thread source of the user", `,"source":"cli","thread_source":"user"`, "user"},
		{"custom front end", `,"source":{"custom":"SECRET"}`, "user"},
		{"review", `,"source":{"subagent":"review"}`, "review"},
		{"compact", `,"source":{"subagent":"compact"}`, "compact"},
		{"spawned", `,"source":{"subagent":{"thread_spawn":{"agent_nickname":"SECRET"}}},"thread_source":"subagent"`, "subagent"},
		{"guardian", `,"source":{"internal":"guardian"}`, "guardian"},
		{"memory", `,"source":{"internal":"memory_consolidation"}`, "memory"},
		{"guardian as thread source", `,"source":"cli","thread_source":"guardian_review"`, "guardian"},
		{"memory as thread source", `,"thread_source":"memory_consolidation"`, "memory"},
		{"name of a feature", `,"source":"cli","thread_source":"dream_mode"`, "dream_mode"},
		{"free text", `,"source":{"subagent":"please fix the SECRET"}`, "other"},
		{"wrong types", `,"source":7,"thread_source":[]`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			all, _ := decode(join(line(0, "session_meta", `{"id":"x"`+c.fields+`}`), started(1, "t"), user(2), answer(1000), count(1001, 10, 10), complete(1010, "t", "")))
			q, turn := all[0].(*record.Request), all[1].(*record.Turn)
			if q.Origin != c.want || turn.Origin != c.want {
				t.Errorf("origin %q, of the turn %q, want %q", q.Origin, turn.Origin, c.want)
			}
		})
	}
}
