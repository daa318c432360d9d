package human

import (
	"math"
	"testing"
)

func TestChange(t *testing.T) {
	for v, want := range map[float64]string{
		0.35: "+35 %", -0.042: "−4.2 %", 0: "0 %", 0.0994: "+9.9 %", 0.0996: "+10 %", -1: "−100 %",
		12.5: "+1,250 %", 0.0001: "0.0 %", -0.0004: "0.0 %", 0.0006: "+0.1 %", math.NaN(): Undefined, math.Inf(1): Undefined,
	} {
		if got := Change(v); got != want {
			t.Errorf("Change(%v) = %q, want %q", v, got, want)
		}
	}
	if got := ChangeOr(nil); got != Undefined {
		t.Errorf("ChangeOr(nil) = %q", got)
	}
}

func TestPValue(t *testing.T) {
	for p, want := range map[float64]string{
		0: "p<0.001", 0.0009999: "p<0.001", 0.001: "p=0.001", 0.02857: "p=0.029", 0.04999: "p=0.0499", 0.0495: "p=0.0495",
		0.05: "p=0.050", 0.0504: "p=0.050", 1: "p=1.000", math.NaN(): "p —",
	} {
		if got := PValue(p); got != want {
			t.Errorf("PValue(%v) = %q, want %q", p, got, want)
		}
	}
}
