package informer

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/listwatch/listwatch/indexer"
)

func TestANilArgumentIsRefusedByName(t *testing.T) {
	inf, err := New(newCollection(), Options[*thing]{Name: "things"})
	if err != nil {
		t.Fatal(err)
	}
	for want, call := range map[string]func() error{
		`informer "things": invalid options: no conversion`: func() error {
			_, err := AddConverted[*thing, *thing](inf, nil, &recorder{})
			return err
		},
		`informer "things": invalid options: WithFilter with a nil filter`: func() error {
			_, err := inf.AddHandler(&recorder{}, WithFilter[*thing](nil))
			return err
		},
		`informer "things": invalid options: watch since a nil snapshot`: func() error {
			_, err := inf.Watch(nil, indexer.Key("a"))
			return err
		},
		"invalid options: WaitForSync of informer 2 of 2, which is nil": func() error {
			var none *Informer[*thing]
			return WaitForSync(t.Context(), inf, none)
		},
		"invalid options: WaitForSync of informer 1 of 1, which is nil": func() error {
			return WaitForSync(t.Context(), nil)
		},
		`informer "informer": invalid options: no transform`: func() error {
			_, err := NewMapped[*thing, *corev1.ConfigMap](newCollection(), nil, Options[*corev1.ConfigMap]{})
			return err
		},
	} {
		if err := call(); !errors.Is(err, ErrInvalidOptions) || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if n := len(inf.Status().Handlers); n != 0 {
		t.Errorf("%d handlers were registered", n)
	}
}

func TestANilHandlerOptionIsIgnored(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		h := &recorder{}
		if reg := r.add(h, nil, WithName("named"), nil); reg.Name() != "named" {
			t.Errorf("the name is %q", reg.Name())
		}
		r.from.set("a")
		r.start()
		r.expect(h, "initial a:u1@2")
	})
}

func TestAnOverlayIgnoresNil(t *testing.T) {
	inf, err := New(newCollection(), Options[*thing]{})
	if err != nil {
		t.Fatal(err)
	}
	o := NewOverlay(inf, 0)
	o.Put(nil)
	o.Deleted(nil)
	if o.Len() != 0 || len(o.List()) != 0 {
		t.Errorf("%d writes are noted", o.Len())
	}
}

func TestTogetherNamesANilInformer(t *testing.T) {
	inf, err := New(newCollection(), Options[*thing]{})
	if err != nil {
		t.Fatal(err)
	}
	if got := inf.SnapshotIn(nil); got != nil {
		t.Errorf("a nil moment has %v", got)
	}
	var none *Informer[*thing]
	for _, member := range []Member{nil, none} {
		func() {
			defer func() {
				if text, _ := recover().(string); !strings.Contains(text, "informer 2 of 2 is nil") {
					t.Errorf("got %q", text)
				}
			}()
			Together(inf, member)
		}()
	}
}
