package report

import (
	"time"

	"codexlag/analyze"
	"codexlag/parse/record"
)

// The names that a log may hold at worst.
const (
	hostile   = "x|y`z\x1b[31m<blink>"
	multiline = "a\nb"
	mention   = "@octocat see https://example.com #12 :tada: *b* $x$"
	bidi      = "gpt\u202etxt\u200b.exe"
	wide      = "模型-大"
)

func p[T any](v T) *T { return &v }

func at(hour, minute, second int) *time.Time {
	return p(time.Date(2026, 9, 10, hour, minute, second, 0, time.UTC))
}

func quantiles(n int, v ...float64) []analyze.Quantile {
	var qs []analyze.Quantile
	for i, pct := range []float64{50, 90, 95, 99} {
		qs = append(qs, analyze.Quantile{P: pct, Value: v[i], Thin: n < analyze.SamplesFor(pct)})
	}
	return qs
}

func dist(n int, lo, mean, hi float64, v ...float64) *analyze.Dist {
	d := &analyze.Dist{N: n, Min: lo, Mean: mean, Max: hi, Quantiles: quantiles(n, v...)}
	if n > 1 {
		d.StdDev = p(mean / 3)
	}
	if n >= 6 {
		d.Quantiles[0].CI = &[2]float64{v[0] * 0.8, v[0] * 1.3}
	}
	return d
}

// full is a report with every section, made of plausible and of hostile parts.
func full() *analyze.Report {
	all := &analyze.Group{
		Requests: 64, Failed: 2, Aborted: 1, Warmup: 1,
		TTFT:         dist(48, 310, 1890, 14200, 1280, 4310, 6120, 12900),
		Total:        dist(60, 620, 15200, 214000, 9120, 31200, 61900, 187000),
		Decode:       dist(48, 120, 12800, 199800, 7650, 27400, 55000, 171000),
		TPS:          analyze.TPS{Clean: dist(21, 12.4, 51.2, 88.1, 52.8, 67.9, 71.3, 86), All: dist(47, 4.1, 44.6, 310, 45.2, 70.1, 96.4, 288), Pooled: p(48.1)},
		TPOT:         dist(21, 11.4, 20.6, 80.5, 19, 29.3, 44, 76.1),
		OutputTokens: dist(60, 3, 611.4, 9120, 214.5, 1710, 3020, 8800),
		Time:         analyze.TimeSplit{Requests: 47, Prefill: 88_830, Decode: 601_600, Total: 690_430, PrefillShare: p(0.12866), Unsplit: 221_570},
		Turns: analyze.Turns{Count: 9, Aborted: 1, Unfinished: 1, Duration: dist(8, 12230, 141000, 402000, 118000, 380000, 391000, 400000),
			TTFT: dist(8, 1900, 3800, 9000, 3100, 8100, 8600, 8900), Prefill: 21_300, Decode: 143_000, Model: 221_570, Tool: 402_000, Other: 340_130},
		Verdict: analyze.Verdict{Phase: analyze.PhaseDecode, Basis: analyze.BasisMeasured, Confidence: analyze.ConfidenceLow,
			Headline: "Decode dominates: 87 % of 11.5 min in 47 requests went to generating tokens; ask for shorter answers or a faster model.",
			Doubts:   []string{"31 of 48 TTFTs are estimated from timestamps", "16 requests have no TTFT"},
			Tail:     &analyze.Tail{Requests: 6, Cause: analyze.CauseLongOutput, Delta: 71_300, TTFT: 1_900, Length: 72_480, Speed: -3_080}},
		SLO: analyze.SLO{Met: 41, Missed: 22, Unknown: 14, SlowStart: 3, SlowStream: 2, Both: 1, LateBursts: 1, Share: p(41.0 / 63)},
		RequestModel: &analyze.RequestModel{Requests: 53, Overhead: 1510, PrefillRate: p(9012.0), TPOT: 18.5, Explained: 0.913, PrefillShare: p(0.334),
			TTFTRequests: 40, TTFTError: p(-214.0), TTFTErrorShare: p(-0.167)},
		RequestModels: []analyze.ModelFit{
			{Model: "gpt-5.1-codex", RequestModel: analyze.RequestModel{Requests: 53, Overhead: 1510, PrefillRate: p(9012.0), TPOT: 18.5, Explained: 0.913, PrefillShare: p(0.31),
				TTFTRequests: 40, TTFTError: p(-214.0), TTFTErrorShare: p(-0.167)}},
			{Model: hostile, RequestModel: analyze.RequestModel{Requests: 51, Overhead: 4200, TPOT: 61.2, Explained: 0.58, PrefillShare: p(0.44)}},
		},
		TTFTByCache: []analyze.Band{{Key: "0 %", Requests: 4, TTFT: p(4100.0)}, {Key: "50–90 %", Requests: 9, TTFT: p(1900.0)}, {Key: "90–100 %", Requests: 35, TTFT: p(1020.0)}},
		Concurrency: &analyze.Concurrency{Requests: 60, Mean: 1.93, Max: 6.2, Correlation: p(-0.62), CorrelationRequests: 47, Bands: []analyze.ConcurrencyBand{
			{InFlight: "1", Requests: 34, TTFTRequests: 28, TTFT: p(1010.0), TPSRequests: 28, TPS: p(52.0)}, {InFlight: "2", Requests: 14, TTFTRequests: 12, TTFT: p(1400.0), TPSRequests: 12, TPS: p(44.1)},
			{InFlight: "5+", Requests: 12, TTFTRequests: 8, TTFT: p(3900.0)}}},
		Reasoning: &analyze.Reasoning{Requests: 60, Reasoning: 13_900, Output: 36_684, Share: p(0.3789)},
	}
	gpt := &analyze.Group{
		Requests: 56, Failed: 2, TTFT: dist(44, 310, 1720, 9000, 1210, 3900, 5100, 8700), Total: dist(53, 620, 14100, 214000, 8900, 28100, 55000, 180000),
		TPS: analyze.TPS{Clean: dist(19, 20, 52, 88, 53.1, 68, 71, 86), All: dist(43, 4, 45, 310, 46, 71, 97, 288), Pooled: p(49.0)}, SLO: analyze.SLO{Met: 40, Missed: 15, Share: p(40.0 / 55)},
		Verdict:      analyze.Verdict{Phase: analyze.PhaseDecode, Basis: analyze.BasisMeasured, Confidence: analyze.ConfidenceHigh},
		PrefillModel: &analyze.PrefillModel{Requests: 40, Overhead: 900, Rate: p(4200.0), Explained: 0.71},
		RequestModel: &analyze.RequestModel{Requests: 53, Overhead: 1510, PrefillRate: p(9012.0), TPOT: 18.5, Explained: 0.913, PrefillShare: p(0.31)},
	}
	small := func(ttft float64) *analyze.Group {
		return &analyze.Group{Requests: 3, TTFT: dist(3, ttft/2, ttft, ttft*2, ttft, ttft*1.8, ttft*1.9, ttft*1.98), Total: dist(3, 4100, 9000, 20000, 8100, 17600, 18800, 19760),
			TPS:     analyze.TPS{All: dist(3, 30, 33, 36, 33, 35.4, 35.7, 35.9), Pooled: p(33.2)},
			Verdict: analyze.Verdict{Phase: analyze.PhasePrefill, Basis: analyze.BasisModelled, Confidence: analyze.ConfidenceLow}}
	}
	r := &analyze.Report{
		Schema: analyze.Schema, Tool: analyze.Tool{Name: "codexlag", Version: "v1.0.0"},
		Inputs: analyze.Inputs{Files: 5, Bytes: 48_213_990, Lines: 31_207, Formats: map[string]int{"rollout": 3, "request": 2, "trace": 0}, First: at(9, 0, 5), Last: at(17, 42, 11)},
		Options: analyze.OptionsOut{MinTokens: 500, Percentiles: []float64{50, 90, 95, 99}, QuantileMethod: "linear (type 7)", Exact: true,
			Timezone: "UTC", SLO: analyze.SLOLimits{TTFTms: 5000, TPS: 20}, By: []string{"model", "hour"}, Filters: []string{"--since -30d", "--session a|b"}},
		Overall: all,
		Groups: []analyze.Keyed{
			{By: "model", Key: "gpt-5.1-codex", WaitingShare: p(0.864), Group: gpt},
			{By: "model", Key: hostile, WaitingShare: p(0.071), Group: small(5100)},
			{By: "model", Key: wide, WaitingShare: p(0.044), Group: small(700)},
			{By: "model", Key: "", WaitingShare: p(0.0004), Group: &analyze.Group{Requests: 2, Verdict: analyze.Verdict{Phase: analyze.PhaseNone}}},
		},
		Charts: charts(),
		Findings: []analyze.Finding{
			{ID: "few_clean_samples", Severity: analyze.SeverityInfo, Title: "Most answers are too short to rate",
				Evidence: "26 of 47 rates are from fewer than 500 tokens", Advice: "Read the pooled TPS beside the clean one"},
			{ID: "rate_limited", Severity: analyze.SeverityBad, Title: "Requests were refused", Evidence: "2 requests of " + hostile + " failed with HTTP 429",
				Advice: "Ask for a higher limit, or run fewer sessions at once"},
		},
		Slowest: []*analyze.Request{
			{Source: "logs/2026/09/10/rollout-2026-09-10T09-00-05-019f3a52-7f1c-7c61-9b1e-3c1f2a4b5c6d.jsonl:1841", Format: "rollout", Time: at(9, 12, 0),
				Model: p("gpt-5.1-codex"), TTFT: p(14200.0), TTFTQuality: "estimated", Total: p(214000.0), Decode: p(199800.0), OutputTokens: p(int64(9120)),
				DecodeTokens: p(int64(9120)), TPS: p(45.646), TPSError: p(0.000115), TPOT: p(21.91), PrefillShare: p(0.0664), Phase: p("decode"), Status: "ok", Flags: []analyze.Flag{analyze.SlowStart}},
			{Source: "a_b.log:3", Format: "request", Time: at(9, 13, 7), Model: p(hostile), TTFT: p(2840.0), TTFTQuality: "measured", Total: p(3120.0), Decode: p(280.0),
				OutputTokens: p(int64(3)), DecodeTokens: p(int64(3)), TPS: p(10.714), TPSError: p(0.337), TPOT: p(140.0), PrefillShare: p(0.9103), Phase: p("prefill"), Status: "ok",
				Flags: []analyze.Flag{analyze.FewTokens, analyze.ShortDecode}},
			{Source: "a_b.log:4", Format: "request", Model: p(multiline), TTFT: p(2500.0), TTFTQuality: "bound", Total: p(2900.0), OutputTokens: p(int64(12)), Status: "ok", Flags: []analyze.Flag{analyze.NoTTFT}},
			{Source: mention, Format: "trace", Time: at(17, 42, 11), Model: p(bidi), TTFTQuality: "none", Total: p(1200.0), Status: "failed", HTTPStatus: p(429), Flags: []analyze.Flag{analyze.NoTTFT, analyze.FlagFailed}},
		},
		Quality: analyze.Quality{Requests: 64, Skipped: map[record.Reason]int{record.BadJSON: 3, record.Repeat: 17, record.Synthetic: 1},
			Flags: map[analyze.Flag]int{analyze.FewTokens: 26, analyze.ShortDecode: 4, analyze.NoTTFT: 14, analyze.FlagWarmup: 1, analyze.FlagFailed: 2, analyze.FlagAborted: 1, analyze.SlowStart: 4, "later_flag": 2},
			TTFT:  map[string]int{"measured": 17, "derived": 0, "estimated": 31, "bound": 2, "none": 14}, Repeats: 17, Replayed: 4, Merged: 2},
	}
	for h := range 23 {
		g := small(900 + 100*float64(h))
		r.Groups = append(r.Groups, analyze.Keyed{By: "hour", Key: time.Date(2026, 9, 10, h, 0, 0, 0, time.UTC).Format("2006-01-02 15h"), WaitingShare: p(0.04), Group: g})
	}
	return r
}

// two is the report of the two worked lines of the definitions.
func two() *analyze.Report {
	return &analyze.Report{
		Schema: analyze.Schema, Tool: analyze.Tool{Name: "codexlag", Version: "v1.0.0"},
		Inputs: analyze.Inputs{Files: 2, Bytes: 412, Lines: 2, Formats: map[string]int{"request": 2}},
		Options: analyze.OptionsOut{MinTokens: 500, Percentiles: []float64{50, 90, 95, 99}, QuantileMethod: "linear (type 7)", Exact: true,
			Timezone: "Europe/Berlin", SLO: analyze.SLOLimits{TTFTms: 5000, TPS: 20}},
		Overall: &analyze.Group{Requests: 2,
			TTFT: dist(2, 320, 1580, 2840, 1580, 2588, 2714, 2814.8), Total: dist(2, 3120, 25660, 48200, 25660, 43692, 45946, 47749.2),
			Decode:       dist(2, 280, 24080, 47880, 24080, 43120, 45500, 47404),
			TPS:          analyze.TPS{Clean: dist(1, 45.53, 45.53, 45.53, 45.53, 45.53, 45.53, 45.53), All: dist(2, 10.714, 28.122, 45.53, 28.122, 42.049, 43.789, 45.182), Pooled: p(45.328)},
			TPOT:         dist(1, 21.973, 21.973, 21.973, 21.973, 21.973, 21.973, 21.973),
			OutputTokens: dist(2, 3, 1091.5, 2180, 1091.5, 1962.3, 2071.15, 2158.23),
			Time:         analyze.TimeSplit{Requests: 2, Prefill: 3160, Decode: 48160, Total: 51320, PrefillShare: p(0.0616)},
			Verdict: analyze.Verdict{Phase: analyze.PhaseDecode, Basis: analyze.BasisMeasured, Confidence: analyze.ConfidenceLow,
				Headline: "Decode dominates: 94 % of 51.3 s in 2 requests.", Doubts: []string{"2 requests (10 needed)"}},
			SLO: analyze.SLO{Met: 2, Share: p(1.0)}},
		Quality: analyze.Quality{Requests: 2, TTFT: map[string]int{"measured": 2}, Flags: map[analyze.Flag]int{analyze.FewTokens: 1, analyze.ShortDecode: 1}},
	}
}
