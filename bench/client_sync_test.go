package bench

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"slices"
	"testing"
)

// syncPods is how many pods the clients follow.
var syncPods = flag.Int("pods", 5000, "the pods of the benchmarks of clients over HTTP")

// syncPairs is how many pairs of processes there are at least.
var syncPairs = flag.Int("pairs", 3, "the least number of pairs of clients over HTTP")

// syncSharing has ours share the equal parts of pods.
var syncSharing = flag.Bool("sharing", false, "whether the clients of ours share equal parts of objects")

// syncProfile keeps a CPU profile of our side.
var syncProfile = flag.String("syncprofile", "", "where the client of ours writes its CPU profile")

// BenchmarkSync is the first sync of an informer over HTTP, until its handler is
// synced. Targets 1, 2, 3 and 5.
func BenchmarkSync(b *testing.B) {
	for _, o := range []order{{JSON: true}, {JSON: true, List: true}, {}, {List: true}} {
		b.Run(nameOf(o), func(b *testing.B) { compareClients(b, o) })
	}
}

// BenchmarkRelist is a relist of unchanged objects. Target 6.
func BenchmarkRelist(b *testing.B) {
	for _, o := range []order{{JSON: true, List: true}, {JSON: true}, {}, {List: true}} {
		o.Relist = true
		b.Run(nameOf(o), func(b *testing.B) { compareClients(b, o) })
	}
}

// BenchmarkWireEvents is events over HTTP, in processes with 1 and with 100 handlers:
// the ratio is of those with 1, kept what is left of the throughput with 100. Targets
// 8 and 9.
func BenchmarkWireEvents(b *testing.B) {
	for name, o := range map[string]order{"json": {JSON: true, Events: 3000}, "proto": {Events: 15000}} {
		b.Run(name, func(b *testing.B) { compareEvents(b, o) })
	}
}

func compareEvents(b *testing.B, o order) {
	o.Count, o.Sharing = *syncPods, *syncSharing
	o.Address = startWire(b, o.Count)
	type group struct {
		ours     bool
		handlers int
	}
	groups := []group{{true, 1}, {false, 1}, {true, 100}, {false, 100}}
	results := map[group][]outcome{}
	rounds := 0
	round := func() {
		for _, g := range groups {
			o.Ours, o.Handlers = g.ours, g.handlers
			results[g] = append(results[g], runClient(b, o))
		}
		rounds++
	}
	for b.Loop() {
		round()
	}
	for rounds < *syncPairs {
		round()
	}
	b.ReportMetric(0, "ns/op")
	for prefix, of := range map[string]func(outcome) float64{
		"":     func(r outcome) float64 { return float64(r.Wall.Nanoseconds()) / 1e3 / float64(o.Events) },
		"cpu-": func(r outcome) float64 { return float64(r.CPU.Nanoseconds()) / 1e3 / float64(o.Events) },
	} {
		us := map[group][]float64{}
		for _, g := range groups {
			us[g] = valuesOf(results[g], of)
		}
		for side, ours := range map[string]bool{"ours-": true, "peer-": false} {
			one, all := us[group{ours, 1}], us[group{ours, 100}]
			b.ReportMetric(median(one), side+prefix+"us")
			b.ReportMetric(100*median(ratios(all, one)), side+prefix+"kept-%")
		}
		b.ReportMetric(median(ratios(us[groups[0]], us[groups[1]])), prefix+"ratio")
		b.ReportMetric(median(ratios(us[groups[2]], us[groups[3]])), prefix+"ratio-100")
	}
}

func nameOf(o order) string {
	name := "proto"
	if o.JSON {
		name = "json"
	}
	if o.List {
		return name + "/list"
	}
	return name + "/watchlist"
}

// compareClients runs clients of both sides in turn, each in a process of its
// own: the memory of one is not the other's burden.
func compareClients(b *testing.B, o order) {
	o.Count = *syncPods
	us, them := runPairs(b, o)
	reportOutcomes(b, us, them, []outcomeOf{
		{"ms", "", func(r outcome) float64 { return float64(r.Wall.Microseconds()) / 1e3 }},
		{"cpu-ms", "cpu-", func(r outcome) float64 { return float64(r.CPU.Microseconds()) / 1e3 }},
		{"alloc-MB", "alloc-", func(r outcome) float64 { return r.Alloc / 1e6 }},
		{"peak-MB", "peak-", func(r outcome) float64 { return r.Peak / 1e6 }},
		{"heap-B/pod", "heap-", func(r outcome) float64 { return r.Heap / float64(o.Count) }},
	})
}

// outcomeOf is a part of an outcome, and what the names of its ratios begin with.
type outcomeOf struct {
	unit, ratio string
	of          func(outcome) float64
}

func reportOutcomes(b *testing.B, us, them []outcome, quantities []outcomeOf) {
	b.Helper()
	b.ReportMetric(0, "ns/op")
	for _, q := range quantities {
		ours, peer := valuesOf(us, q.of), valuesOf(them, q.of)
		all := ratios(ours, peer)
		b.ReportMetric(median(ours), "ours-"+q.unit)
		b.ReportMetric(median(peer), "peer-"+q.unit)
		b.ReportMetric(median(all), q.ratio+"ratio")
		if q.ratio == "" {
			b.ReportMetric(slices.Min(all), "ratio-min")
			b.ReportMetric(slices.Max(all), "ratio-max")
		}
	}
}

// runPairs runs clients of both sides in turn.
func runPairs(b *testing.B, o order) (us, them []outcome) {
	b.Helper()
	o.Count, o.Sharing = *syncPods, *syncSharing
	o.Address = startWire(b, o.Count)
	pair := func() {
		for _, ours := range []bool{true, false} {
			o.Ours, o.Profile = ours, ""
			if ours {
				o.Profile = *syncProfile
				us = append(us, runClient(b, o))
			} else {
				them = append(them, runClient(b, o))
			}
		}
	}
	for b.Loop() {
		pair()
	}
	for len(us) < *syncPairs {
		pair()
	}
	return us, them
}

func valuesOf(outcomes []outcome, of func(outcome) float64) []float64 {
	values := make([]float64, len(outcomes))
	for i, o := range outcomes {
		values[i] = of(o)
	}
	return values
}

// runClient runs one client process.
func runClient(b *testing.B, o order) outcome {
	b.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		b.Fatal(err)
	}
	client := exec.Command(os.Args[0])
	client.Env = append(os.Environ(), "LISTWATCH_WIRE_CLIENT="+string(text))
	if o.List {
		client.Env = append(client.Env, "KUBE_FEATURE_WatchListClient=false")
	}
	client.Stderr = os.Stderr
	output, err := client.Output()
	if err != nil {
		b.Fatal(err)
	}
	var result outcome
	if err := json.NewDecoder(bytes.NewReader(output)).Decode(&result); err != nil {
		b.Fatalf("%v: %s", err, output)
	}
	return result
}
