package informertest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Instant is what the snapshots of one moment (informer.Together) were at:
// resourceVersions by what the informers are called.
type Instant map[string]uint64

// String lists them by name.
func (t Instant) String() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(t)) {
		all = append(all, fmt.Sprintf("%s at %d", name, t[name]))
	}
	return strings.Join(all, ", ")
}

// VerifyMoments proves that each of these, in whatever order and by whomever they
// were taken, may have been there at one instant: as no cache goes back, of any two
// one is not older than the other in any part. All must be of the same informers.
// What the single snapshots hold is for Verify. The error wraps ErrIllegal.
func VerifyMoments(moments []Instant) error {
	sum := func(t Instant) (all uint64) {
		for _, version := range t {
			all += version
		}
		return all
	}
	sorted := slices.Clone(moments)
	slices.SortStableFunc(sorted, func(a, b Instant) int { return cmp.Compare(sum(a), sum(b)) })
	for k := 1; k < len(sorted); k++ {
		before, after := sorted[k-1], sorted[k]
		for _, name := range slices.Sorted(maps.Keys(before)) {
			if now, same := after[name]; !same || now < before[name] || len(after) != len(before) {
				return fmt.Errorf("%w: %s: there was no instant for both of (%v) and (%v)", ErrIllegal, Torn, before, after)
			}
		}
	}
	return nil
}
