package endtoend_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listwatch/listwatch/fakeserver/cacher"
	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/informer/informertest"
	"github.com/listwatch/listwatch/reflector"
)

// planted are faults of what the walks have informers do, each put into a member
// of a walk in which nothing else goes wrong, and the rules by which it must be
// noticed.
var planted = map[string]struct {
	member func(w *walk) participant
	rules  []informertest.Rule
}{
	"a dropped DELETED of one of the joined parts": {func(w *walk) participant {
		return plainMember(w, true, false, func(next http.RoundTripper) http.RoundTripper {
			return only{"/namespaces/a/", next, broken{next, func(f *frame, line []byte, _ *[]byte) [][]byte {
				if f.Type == "DELETED" {
					return nothing
				}
				return asItIs(line)
			}}}
		}, nil)
	}, []informertest.Rule{informertest.WrongSnapshot, informertest.Lost, informertest.FalseDelete}},
	"an object that the transform drops and that stays": {func(w *walk) participant {
		known := map[string]bool{}
		return plainMember(w, false, true, nil, func(obj *corev1.ConfigMap) (*corev1.ConfigMap, error) {
			if out, err := alter(obj); err == nil || !known[obj.Namespace+obj.Name] {
				known[obj.Namespace+obj.Name] = err == nil
				return out, err
			}
			obj.Annotations = changed(obj)
			return obj, nil
		})
	}, []informertest.Rule{informertest.WrongSnapshot, informertest.Ghost, informertest.FalseDelete}},
	"an event that is lost": {func(w *walk) participant {
		m := plainMember(w, false, false, nil, nil)
		lossy := &handler[*corev1.ConfigMap]{name: "lossy", done: make(chan struct{})}
		ctx, cancel := context.WithCancel(w.t.Context())
		lossy.Content, lossy.cancel = content, cancel
		go func() {
			defer close(lossy.done)
			n := 0
			for event := range m.inf.Events(ctx) {
				if n++; n != 12 {
					lossy.Record(event)
				}
			}
		}()
		m.hears.loops = append(m.hears.loops, lossy)
		return m
	}, []informertest.Rule{
		informertest.Lost, informertest.WrongOld, informertest.Unknown, informertest.DuplicateAdd, informertest.MixedLives,
	}},
	"a view that lags its base": {func(w *walk) participant {
		m := w.newFactory().(*factoryMember)
		read := m.views.read
		var reads []informertest.Entry
		m.views.read = func() informertest.Entry {
			reads = append(reads, read())
			return reads[max(0, len(reads)-2)]
		}
		return m
	}, []informertest.Rule{informertest.SnapshotBack}},
	"two kinds of different moments": {func(w *walk) participant {
		m := w.newFactory().(*factoryMember)
		var moments []*informer.Moment
		m.takeSecrets = func(now *informer.Moment) *informer.Moment {
			m.mu.Lock()
			defer m.mu.Unlock()
			moments = append(moments, now)
			return moments[max(0, len(moments)-2)]
		}
		return m
	}, []informertest.Rule{informertest.SnapshotBack, informertest.Torn}},
}

// only sends the requests under a path another way.
type only struct {
	path        string
	next, other http.RoundTripper
}

func (o only) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.Contains(r.URL.Path, o.path) {
		return o.other.RoundTrip(r)
	}
	return o.next.RoundTrip(r)
}

// plainMember reads ConfigMaps as JSON, through a wire, and may be joined of two
// namespaces or have a transform.
func plainMember(w *walk, joined, mapped bool, wire func(http.RoundTripper) http.RoundTripper, transform func(*corev1.ConfigMap) (*corev1.ConfigMap, error)) *member[*corev1.ConfigMap] {
	if wire == nil {
		wire = through
	}
	place := membership{
		t: w.t, name: "informer", weather: newWeather(1), random: rand.New(rand.NewPCG(1, 1)), match: everything, mapped: mapped,
	}
	source := restSource[*corev1.ConfigMap](w.config(wire), reflector.WithJSON())
	selections := []selection{{}}
	if joined {
		selections = []selection{{namespace: "a"}, {namespace: "b"}}
		place.parts = []func(metav1.Object) bool{selections[0].match, selections[1].match}
	}
	return newMember(place, func(options informer.Options[*corev1.ConfigMap]) (*informer.Informer[*corev1.ConfigMap], error) {
		if mapped {
			options.Transform = transform
		}
		return create(source, selections, options)
	}, informer.Options[*corev1.ConfigMap]{})
}

func TestAPlantedFaultOfWhatInformersDoIsNoticed(t *testing.T) {
	for name, test := range planted {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { plant(t, test.member, test.rules) })
		})
	}
	for name, sound := range map[string]func(w *walk) participant{
		"nothing, in a factory": func(w *walk) participant { return w.newFactory() },
		"nothing, in parts":     func(w *walk) participant { return plainMember(w, true, false, nil, nil) },
		"nothing, mapped":       func(w *walk) participant { return plainMember(w, false, true, nil, alter[*corev1.ConfigMap]) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { plant(t, sound, nil) })
		})
	}
}

// plant has a member see a piece of history in fine weather.
func plant(t *testing.T, member func(w *walk) participant, rules []informertest.Rule) {
	w := &walk{
		ground: newGround(t, cacher.Options{}), random: rand.New(rand.NewPCG(5, 5)), exists: map[string]bool{}, counts: map[string]int{},
	}
	m := member(w)
	m.start()
	for range 60 {
		w.write()
		w.recorded()
		m.look()
	}
	if err := m.settle(t.Context(), w.server); err != nil {
		t.Fatal(err)
	}
	m.stop()
	err := m.verify(w.history)
	if len(rules) == 0 {
		if err != nil {
			t.Error(err)
		}
		return
	}
	if !errors.Is(err, informertest.ErrIllegal) {
		t.Fatalf("not noticed: %v", err)
	}
	v, ok := errors.AsType[*informertest.Violation](err)
	if torn := strings.Contains(err.Error(), string(informertest.Torn)); !(ok && slices.Contains(rules, v.Rule)) && !(torn && slices.Contains(rules, informertest.Torn)) {
		t.Errorf("noticed by another rule: %v", err)
	}
}
