package cacher

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// listPlainly is what state.list must return, from a map.
func listPlainly(items map[string]*Item, predicate *Predicate, from string, limit int) page {
	first, end := bounds(predicate.Namespace)
	result := page{}
	for _, key := range slices.Sorted(maps.Keys(items)) {
		if key < max(first, from) || key >= end {
			continue
		}
		if limit > 0 && len(result.items) == limit {
			if result.next == "" {
				result.next = result.items[limit-1].Key + "\x00"
			}
			if key >= result.next {
				result.remaining++
			}
			continue
		}
		if predicate.matches(items[key]) {
			result.items = append(result.items, items[key])
		}
	}
	return result
}

// someItems is a random map and a state that hold the same; some items moved or
// went since they were added.
func someItems(random *rand.Rand) (map[string]*Item, state) {
	options := &Options{TriggerField: "x"}
	items, all := map[string]*Item{}, state{items: new(tree), byTrigger: newTriggerIndex("x")}
	for range random.IntN(200) {
		item := &Item{
			Namespace: []string{"m", "n", "n2"}[random.IntN(3)], Name: fmt.Sprint(random.IntN(40)),
			Labels: labels.Set{"x": fmt.Sprint(random.IntN(3))},
			fields: itemFields{options: options, trigger: fmt.Sprint(random.IntN(3))},
		}
		item.Key = joinKey(item.Namespace, item.Name)
		if random.IntN(4) == 0 {
			prev, _ := all.items.Delete(item.Key)
			all.byTrigger.update(prev, nil)
			delete(items, item.Key)
			continue
		}
		prev, _ := all.items.Set(item.Key, item)
		all.byTrigger.update(prev, item)
		items[item.Key] = item
	}
	return items, all
}

func TestListingAStateEqualsListingAMap(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 0))
		items, all := someItems(random)
		for range 200 {
			predicate := Predicate{}
			if random.IntN(2) == 0 {
				predicate = labelled(fmt.Sprint(random.IntN(4)))
			}
			if random.IntN(2) == 0 {
				predicate.Fields = fields.OneTermEqualSelector("x", fmt.Sprint(random.IntN(4)))
			}
			predicate.Namespace = []string{"", "m", "n", "n2", "o"}[random.IntN(5)]
			from, limit := []string{"", "m/20\x00", "n/3", "n2/\x00"}[random.IntN(4)], random.IntN(6)
			got, want := all.list(&predicate, from, int64(limit)), listPlainly(items, &predicate, from, limit)
			if !slices.Equal(got.items, want.items) || got.next != want.next || got.remaining != want.remaining {
				t.Fatalf("seed %d: %+v from %q limit %d\n got %v %q %d\nwant %v %q %d", seed, predicate.Scope, from, limit,
					keys(got.items), got.next, got.remaining, keys(want.items), want.next, want.remaining)
			}
			var chunks []*Item
			for next, more := from, true; more; more = next != "" {
				chunks, next = all.chunk(&predicate, next, 7, chunks)
			}
			if whole := listPlainly(items, &predicate, from, 0); !slices.Equal(chunks, whole.items) {
				t.Fatalf("seed %d: chunks hold %s, want %s", seed, keys(chunks), keys(whole.items))
			}
		}
	}
}

func TestTheBoundsOfANamespaceHoldItsKeysOnly(t *testing.T) {
	first, end := bounds("n")
	for key, want := range map[string]bool{"n/a": true, "n/": true, "n": false, "n2/a": false, "n-1/a": false, "m/a": false, "n/\xff": true} {
		if got := key >= first && key < end; got != want {
			t.Errorf("%q: %v", key, got)
		}
	}
	if _, end := bounds(""); strings.Compare("zzz/z", end) >= 0 {
		t.Error("all namespaces end too early")
	}
}

func TestAListThatRequiresATriggerValueLooksAtNoOtherItems(t *testing.T) {
	items, all := someItems(rand.New(rand.NewPCG(7, 0)))
	predicate := &Predicate{Fields: fields.OneTermEqualSelector("x", "1")}
	want := 0
	for _, item := range items {
		if item.fields.trigger == "1" {
			want++
		}
	}
	if got := all.list(predicate, "", 0); got.fetched != want || len(got.items) != want || want == 0 {
		t.Errorf("looked at %d and found %d of %d", got.fetched, len(got.items), want)
	}
	all.byTrigger = nil
	if got := all.list(predicate, "", 0); got.fetched != len(items) || len(got.items) != want {
		t.Errorf("without an index looked at %d and found %d of %d", got.fetched, len(got.items), want)
	}
}
