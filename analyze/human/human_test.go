package human

import (
	"math"
	"testing"
)

func TestUnits(t *testing.T) {
	for _, c := range []struct{ name, got, want string }{
		{"nothing", Duration(0), "0 ms"},
		{"below a ms", Duration(0.5), "0.500 ms"},
		{"vanishing", Duration(1e-12), "0.000000 ms"},
		{"tpot", Duration(21.973), "22.0 ms"},
		{"ms", Duration(280), "280 ms"},
		{"last ms", Duration(999.4), "999 ms"},
		{"rounds up to a second", Duration(999.5), "1.00 s"},
		{"seconds", Duration(1580), "1.58 s"},
		{"digits after rounding", Duration(9996), "10.0 s"},
		{"tens of seconds", Duration(48200), "48.2 s"},
		{"some minutes stay seconds", Duration(187_000), "187 s"},
		{"rounds up to five minutes", Duration(299_500), "4.99 min"},
		{"minutes", Duration(601_600), "10.0 min"},
		{"hours", Duration(3 * 3_600_000), "3.00 h"},
		{"many hours", Duration(1.2e10), "3,333 h"},
		{"negative", Duration(-3080), "−3.08 s"},
		{"not a number", Duration(math.NaN()), "—"},
		{"infinite", Duration(math.Inf(1)), "—"},
		{"longer", Difference(1900), "+1.90 s"},
		{"shorter", Difference(-300), "−300 ms"},
		{"no difference", Difference(0), "+0 ms"},
		{"interval in the unit of its value", DurationInterval([2]float64{320, 2840}, 1580), "0.320 – 2.84 s"},
		{"interval beyond its unit", DurationInterval([2]float64{120, 4000}, 300), "120 – 4,000 ms"},
		{"limit", Limit(5000), "5 s"},
		{"odd limit", Limit(1234), "1.234 s"},
		{"limit rate", LimitRate(20), "20 tok/s"},
		{"rate", Rate(45.53), "45.5 tok/s"},
		{"fast rate", Rate(9012), "9,012 tok/s"},
		{"undefined rate", Rate(math.NaN()), "—"},
		{"tokens", Quantity(2180), "2,180"},
		{"half a token of many", Quantity(1091.5), "1,092"},
		{"half a token of few", Quantity(3.5), "3.50"},
		{"share", Percent(0.0616), "6.2 %"},
		{"all", Percent(1), "100 %"},
		{"none", Percent(0), "0 %"},
		{"nearly none", Percent(0.0004), "<0.1 %"},
		{"nearly all", Percent(0.9996), ">99.9 %"},
		{"more than all", Percent(1.017), "101.7 %"},
		{"no share", PercentOr(nil), "—"},
		{"big error", RelativeError(0.337), "± 34 %"},
		{"small error", RelativeError(0.0123), "± 1.2 %"},
		{"tiny error", RelativeError(0.0001), "± <0.1 %"},
		{"count", Count(1234567), "1,234,567"},
		{"negative count", Count(-1234), "−1,234"},
		{"one", Plural(1, "request"), "1 request"},
		{"many", Plural(1200, "request"), "1,200 requests"},
		{"none at all", Plural(0, "request"), "0 requests"},
		{"bytes", Bytes(412), "412 B"},
		{"megabytes", Bytes(48_213_990), "48.2 MB"},
		{"rounds up to a megabyte", Bytes(999_900), "1.00 MB"},
		{"exabytes", Bytes(math.MaxInt64), "9.22 EB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.got != c.want {
				t.Errorf("got %q, want %q", c.got, c.want)
			}
		})
	}
}
