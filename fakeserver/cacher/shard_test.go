package cacher

import (
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/sharding"
	"k8s.io/apimachinery/pkg/types"

	"github.com/listwatch/listwatch/fakeserver/storage"
)

// Selectors of both halves of all uids.
const (
	lowerHalf = "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')"
	upperHalf = "shardRange(object.metadata.uid, '0x8000000000000000', '0x10000000000000000')"
)

func TestShardSelectorsAreReadAndWrittenAsKubernetesDoes(t *testing.T) {
	namespaces := "shardRange(object.metadata.namespace, '0x00000000000000aa', '0x00000000000000ff')"
	for text, want := range map[string]string{
		lowerHalf:                      lowerHalf,
		upperHalf:                      upperHalf,
		lowerHalf + " || " + upperHalf: lowerHalf + " || " + upperHalf,
		namespaces:                     namespaces,
		"shardRange(object.metadata.uid,'0x0000000000000000','0x8000000000000000')":                     lowerHalf,
		" \n(( shardRange ( object . metadata . uid ,\"0x0000000000000000\" , '0x8000000000000000' )))": lowerHalf,
		"(" + lowerHalf + "||" + upperHalf + ")||" + lowerHalf:                                          lowerHalf + " || " + upperHalf + " || " + lowerHalf,
	} {
		got, err := ParseShard(text)
		if err != nil || got.String() != want {
			t.Errorf("%s\n got %v, %v\nwant %s", text, got, err, want)
		}
	}
}

func TestShardSelectorsThatKubernetesRefusesAreRefused(t *testing.T) {
	for _, text := range []string{
		"", " ", "x", "shardRange", "shardRange()", lowerHalf + " ||", "|| " + lowerHalf, lowerHalf + " | " + upperHalf,
		lowerHalf + " && " + upperHalf, lowerHalf + " " + upperHalf, "(" + lowerHalf, lowerHalf + ")", "!" + lowerHalf,
		lowerHalf + " || shardRange(object.metadata.namespace, '0x0000000000000000', '0x8000000000000000')",
		"shardRange(object.metadata.name, '0x0000000000000000', '0x8000000000000000')",
		"shardRange(metadata.uid, '0x0000000000000000', '0x8000000000000000')",
		"shardRange(object.metadata.uids, '0x0000000000000000', '0x8000000000000000')",
		"shardrange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')",
		"shardRange(object.metadata.uid, '0x0', '0x8000000000000000')",
		"shardRange(object.metadata.uid, '0x0000000000000000', '0xff')",
		"shardRange(object.metadata.uid, '0000000000000000', '0x8000000000000000')",
		"shardRange(object.metadata.uid, '0x000000000000000g', '0x8000000000000000')",
		"shardRange(object.metadata.uid, '0x00000000000000AA', '0x8000000000000000')",
		"shardRange(object.metadata.uid, ' 0x0000000000000000', '0x8000000000000000')",
		"shardRange(object.metadata.uid, '0x8000000000000000', '0x8000000000000000')",
		"shardRange(object.metadata.uid, '0x9000000000000000', '0x8000000000000000')",
		"shardRange(object.metadata.uid, '0x0000000000000000', '0x0000000000000000')",
		"shardRange(object.metadata.uid, '0x10000000000000000', '0x10000000000000000')",
		"shardRange(object.metadata.uid, '0x0000000000000000', '0x20000000000000000')",
		"shardRange(object.metadata.uid, '0x0000000000000000')",
		"shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000',)",
		"shardRange(object.metadata.uid, 0, 8)", "shardRange(object.metadata.uid, '0x0000000000000000",
	} {
		if got, err := ParseShard(text); !errors.Is(err, ErrShardSelector) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}

// uidOf is the uid of an object made from its name.
func uidOf(name string) string { return strings.Repeat(name, 8) }

// sharded decodes objects whose uid is uidOf their name.
func sharded(o *Options) {
	o.Sharding = true
	o.Decode = func(kv storage.KeyValue) (runtime.Object, error) {
		obj, err := decodeMeta(kv)
		if err == nil {
			meta := obj.(*metav1.PartialObjectMetadata)
			meta.UID = types.UID(uidOf(meta.Name))
		}
		return obj, err
	}
}

// inLowerHalf says where FNV-1a puts a uid.
func inLowerHalf(uid string) bool {
	sum := fnv.New64a()
	sum.Write([]byte(uid))
	return sum.Sum64() < 1<<63
}

func mustShard(t testing.TB, text string) *Shard {
	t.Helper()
	shard, err := ParseShard(text)
	if err != nil {
		t.Fatal(err)
	}
	return shard
}

func TestListsAndWatchesOfShardsMakeUpTheWhole(t *testing.T) {
	inBubble(t, sharded, func(r *rig) {
		var want [2][]string // of the lower and the upper half
		var wantEvents [2][]string
		var watches [2]*Watcher
		predicates := [2]Predicate{{Shard: mustShard(t, lowerHalf)}, {Shard: mustShard(t, upperHalf)}}
		for half, predicate := range predicates {
			watches[half] = r.watch(WatchOptions{Predicate: predicate, ResourceVersion: "1"})
		}
		for i := range 20 {
			key := fmt.Sprintf("n/%02d", i)
			rv := r.put(key, "")
			half := 0
			if !inLowerHalf(uidOf(key[2:])) {
				half = 1
			}
			want[half] = append(want[half], key)
			wantEvents[half] = append(wantEvents[half], fmt.Sprintf("ADDED %s@%d", key, rv))
		}
		for half, predicate := range predicates {
			result := r.list(ListOptions{Predicate: predicate})
			if keys(result.Items) != strings.Join(want[half], " ") || result.ShardInfo.Selector != predicate.Shard.String() {
				t.Errorf("half %d: %s of %+v, want %v", half, keys(result.Items), result.ShardInfo, want[half])
			}
			r.expect(watches[half], wantEvents[half]...)
			r.expectNothing(watches[half])
			initial := r.watch(WatchOptions{Predicate: predicate, SendInitialEvents: ptr(true), AllowBookmarks: true})
			r.expect(initial, append(wantEvents[half], "BOOKMARK@21 end")...)
			if more := r.list(ListOptions{Predicate: predicate, Limit: 1}); more.Continue == "" || more.Remaining != nil {
				t.Errorf("half %d: a page has token %q and count %v", half, more.Continue, more.Remaining)
			}
		}
		if got := r.list(ListOptions{}); got.ShardInfo != nil || len(got.Items) != 20 {
			t.Errorf("the whole: %d items of %+v", len(got.Items), got.ShardInfo)
		}
		// A deletion is of the shard that the object was in.
		rv := r.remove(want[0][0])
		r.expect(watches[0], fmt.Sprintf("DELETED %s@%d", want[0][0], rv))
		r.expectNothing(watches[1])
	})
}

func TestWithoutTheOptionShardsAreIgnored(t *testing.T) {
	plain := func(o *Options) { sharded(o); o.Sharding = false }
	inBubble(t, plain, func(r *rig) {
		for i := range 4 {
			r.put(fmt.Sprintf("n/%d", i), "")
		}
		predicate := Predicate{Shard: mustShard(t, lowerHalf)}
		result := r.list(ListOptions{Predicate: predicate})
		if len(result.Items) != 4 || result.ShardInfo != nil {
			t.Errorf("got %d items of %v", len(result.Items), result.ShardInfo)
		}
		r.expect(r.watch(WatchOptions{Predicate: predicate, ResourceVersion: "1"}),
			"ADDED n/0@2", "ADDED n/1@3", "ADDED n/2@4", "ADDED n/3@5")
	})
}

// requirements is the shard as apimachinery knows one, which is the oracle.
func (s *Shard) requirements(t testing.TB) sharding.Selector {
	t.Helper()
	var all []sharding.ShardRangeRequirement
	for _, part := range strings.Split(s.String(), " || ") {
		quoted := strings.Split(part, "'")
		all = append(all, sharding.ShardRangeRequirement{Key: s.field, Start: quoted[1], End: quoted[3]})
	}
	return sharding.NewSelector(all...)
}

func FuzzShardSelectorsComeBackAndMatchAsThoseOfKubernetes(f *testing.F) {
	f.Add(lowerHalf, "a", "n")
	f.Add(lowerHalf+" || "+upperHalf, "b", "n")
	f.Add("(shardRange(object.metadata.namespace,\"0x0000000000000000\",'0x10000000000000000'))", "c", "")
	f.Add("shardRange(object.metadata.uid, '0x000000000000000g', '0x8000000000000000')", "", "")
	f.Fuzz(func(t *testing.T, text, uid, namespace string) {
		shard, err := ParseShard(text)
		if err != nil {
			if !errors.Is(err, ErrShardSelector) {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		again, err := ParseShard(shard.String())
		if err != nil || again.String() != shard.String() {
			t.Fatalf("%q is %s, which comes back as %v, %v", text, shard, again, err)
		}
		oracle := shard.requirements(t)
		if oracle.String() != shard.String() {
			t.Fatalf("%s is written as %s", oracle, shard)
		}
		obj := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid), Namespace: namespace}}
		want, err := oracle.Matches(obj)
		if got := shard.matches(&Item{hashes: hashesOf(uid, namespace)}); got != want || err != nil {
			t.Fatalf("%s matches %q in %q: %v, want %v, %v", shard, uid, namespace, got, want, err)
		}
	})
}
