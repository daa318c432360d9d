package analyze

import "codexlag/parse/record"

// maxKeys bounds how many groups one dimension has. A person looks at dozens;
// hundreds of thousands of sessions or made-up names must not fill the memory.
const maxKeys = 20_000

// OtherKey is the key of the requests whose own key was one too many.
const OtherKey = "(other)"

// A keyed is the groups of one dimension. Beyond maxKeys, keys that their hash
// chooses share one group, so that what is told apart depends on the keys alone
// and not on the order in which they came.
type keyed struct {
	groups map[string]*group
	// shift is how often the keys were halved: those whose hash has a one in its
	// shift highest bits are not told apart.
	shift uint
}

func (k *keyed) group(key string) *group {
	if !k.wants(key) {
		key = OtherKey
	}
	g := k.groups[key]
	if g != nil {
		return g
	}
	g = new(group)
	k.groups[key] = g
	if len(k.groups) > maxKeys+1 { // one is the shared group
		for len(k.groups) > maxKeys+1 {
			k.halve(k.shift + 1)
		}
		return k.group(key)
	}
	return g
}

func (k *keyed) wants(key string) bool {
	return k.shift == 0 || key == OtherKey || record.Mix(record.HashFile(key))>>(64-k.shift) == 0
}

// halve moves the groups whose keys are no longer told apart into the shared one.
func (k *keyed) halve(shift uint) {
	k.shift = shift
	var moved []*group
	for key, g := range k.groups {
		if !k.wants(key) {
			moved = append(moved, g)
			delete(k.groups, key)
		}
	}
	for _, g := range moved {
		k.group(OtherKey).merge(g)
	}
}

func (k *keyed) merge(o *keyed) {
	if o.shift > k.shift {
		k.halve(o.shift)
	}
	for key, g := range o.groups {
		k.group(key).merge(g)
	}
}
