package analyze

import (
	"slices"

	"codexlag/analyze/human"
)

// modelsApart is the factor between two models' rates from which one median
// over both says nothing of either.
const modelsApart = 1.5

// modelsDiffer tells that the logs hold models of different speed, unless the
// report shows them side by side anyway.
func modelsDiffer(f *facts) []found {
	if slices.Contains(f.options.By, byModel) {
		return nil
	}
	rates := map[string]*sample{}
	for _, w := range f.rows {
		if v, ok := w.steadyRate(); ok && w.model() != "" {
			if rates[w.model()] == nil {
				rates[w.model()] = &sample{}
			}
			rates[w.model()].add(v)
		}
	}
	var slow, fast string
	for name, s := range rates {
		if s.n() < minMedian {
			continue
		}
		// Equal medians are told apart by name, so that the order does not matter.
		if m := s.quantile(50); slow == "" || m < rates[slow].quantile(50) || m == rates[slow].quantile(50) && name < slow {
			slow = name
		}
		if m := s.quantile(50); fast == "" || m > rates[fast].quantile(50) || m == rates[fast].quantile(50) && name < fast {
			fast = name
		}
	}
	if slow == fast || rates[fast].quantile(50) < modelsApart*rates[slow].quantile(50) {
		return nil
	}
	side := func(name string) string {
		return f.Sprintf("%s %s (n=%d)", name, human.Rate(rates[name].quantile(50)), rates[name].n())
	}
	return one(SeverityInfo, "models_differ", 0, f.Text("Models of different speed are in one report"),
		f.Sprintf("TPS p50: %s, %s; figures over all mix them", side(fast), side(slow)),
		f.Text("Look at them apart: --by model, or --model NAME"))
}
