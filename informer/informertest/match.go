package informertest

import (
	"fmt"
	"strings"
)

// match finds, for each Want, the first call that can be it: after the call of
// the Want before it about the same key, and after that of the Want before it
// if it is to be in order. It returns the places, -1 for what has not come.
// Taking the first is right because a later one would leave the Wants that
// follow less to choose from.
func match(calls []call, wants []Want) (places []int, complete bool) {
	next := map[string]int{}
	complete = true
	for i, w := range wants {
		from := next[w.key]
		if w.after && i > 0 {
			from = max(from, previous(places, len(calls)))
		}
		place := -1
		for k := from; k < len(calls); k++ {
			if w.matches(&calls[k]) {
				place = k
				break
			}
		}
		places = append(places, place)
		if place < 0 {
			complete = false
			next[w.key] = len(calls)
		} else {
			next[w.key] = place + 1
		}
	}
	return places, complete
}

// previous is where the search after the last of places begins.
func previous(places []int, end int) int {
	if last := places[len(places)-1]; last >= 0 {
		return last + 1
	}
	return end
}

// matchExactly is match for calls of which each must be wanted, in its key's
// order. It returns the first call that is not, nil if there is none.
func matchExactly(calls []call, wants []Want) (places []int, complete bool, odd *call) {
	byKey := map[string][]int{}
	for i, w := range wants {
		byKey[w.key] = append(byKey[w.key], i)
		places = append(places, -1)
	}
	for k := range calls {
		key := calls[k].entry.Key
		left := byKey[key]
		if len(left) == 0 || !wants[left[0]].matches(&calls[k]) {
			return places, false, &calls[k]
		}
		places[left[0]] = k
		byKey[key] = left[1:]
	}
	for i, w := range wants {
		// What has not come yet cannot be out of order, but may make what has so.
		if w.after && i > 0 && places[i] >= 0 && (places[i-1] < 0 || places[i-1] > places[i]) {
			return places, false, &calls[places[i]]
		}
	}
	return places, len(calls) == len(wants), nil
}

// taken says for each call whether it is done with: all calls about a key up to
// the last that was wanted.
func taken(calls []call, places []int) []bool {
	last := map[string]int{}
	for _, place := range places {
		key := calls[place].entry.Key
		last[key] = max(last[key], place+1)
	}
	done := make([]bool, len(calls))
	for k := range calls {
		done[k] = k < last[calls[k].entry.Key]
	}
	return done
}

// maxShown bounds the calls in a failure.
const maxShown = 20

// report writes which wants have come, and the calls that are not done with.
func report(calls []call, wants []Want, places []int) string {
	var b strings.Builder
	for i, w := range wants {
		came := "missing"
		if places[i] >= 0 {
			came = "came: " + calls[places[i]].String()
		}
		fmt.Fprintf(&b, "\n  %v: %s", w, came)
	}
	b.WriteString("\n" + list(calls))
	return b.String()
}

// list writes the calls that no test has expected yet.
func list(calls []call) string {
	if len(calls) == 0 {
		return "no calls but those that were expected before"
	}
	var b strings.Builder
	b.WriteString("calls since what was expected before:")
	for k, c := range calls {
		if hidden := len(calls) - maxShown; k >= maxShown/2 && k < maxShown/2+hidden {
			if k == maxShown/2 {
				fmt.Fprintf(&b, "\n  … %d more", hidden)
			}
			continue
		}
		fmt.Fprintf(&b, "\n  %v", c)
	}
	return b.String()
}
