package differential

import (
	"flag"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

var rewrite = flag.Bool("rewrite", false, "write what happens into the scripts")

// playOwn is the player of our side.
func playOwn(s *server, o settings) (contestant, error) {
	switch o.kind.(type) {
	case untyped:
		return newOwn[*unstructured.Unstructured](s, o)
	case metadata:
		return newOwn[*metav1.PartialObjectMetadata](s, o)
	}
	return newOwn[*corev1.ConfigMap](s, o)
}

func TestBothInformersDoTheSameButForTheNamedDifferences(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			s, err := readScript(path)
			if err != nil {
				t.Fatal(err)
			}
			check(t, s)
		})
	}
}

// kept are the differences that our informer behind client-go's interface has not.
var kept = []string{"new-uid", "delete-payload", "restart", "sync-cause", "rewind", "read-own-writes"}

func TestOurInformerBehindTheirInterfaceHasNoMoreDifferences(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			s, err := readScript(path)
			if err != nil {
				t.Fatal(err)
			}
			upstream, _ := perform(t, s, newUpstream)
			own, _ := perform(t, s, newDropIn)
			differs := slices.DeleteFunc(slices.Clone(s.differs), func(name string) bool { return slices.Contains(kept, name) })
			_, problems := compare(upstream, own, differs)
			for _, problem := range problems {
				if !strings.HasSuffix(problem, "does not show") { // fewer are fine
					t.Error(problem)
				}
			}
		})
	}
}

// check runs a script on both sides.
func check(t *testing.T, s *script) {
	upstream, unused := perform(t, s, newUpstream)
	own, unusedByUs := perform(t, s, playOwn)
	for _, a := range unused {
		if slices.Contains(unusedByUs, a) {
			t.Errorf("neither asks for the answer %q", a)
		}
	}
	comparison, problems := compare(upstream, own, s.differs)
	for _, problem := range problems {
		t.Error(problem)
	}
	got := render(comparison)
	if *rewrite {
		if err := s.rewrite(got); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got != s.trace {
		t.Errorf("%s; run go test with -rewrite to see all of it in the script", firstDifference(got, s.trace))
	}
}
