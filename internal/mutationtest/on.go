package mutationtest

import (
	"os"
	"slices"
	"strings"
)

// variable is the one that package informer documents at Options.DetectMutations.
const variable = "LISTWATCH_DETECT_MUTATIONS"

// On makes every informer of this process look for objects of its cache that
// somebody modifies, and panic. It does nothing where benchmarks are run, which
// would measure the detector, and where the variable is set already.
func On() {
	benchmarks := slices.ContainsFunc(os.Args, func(arg string) bool { return strings.HasPrefix(arg, "-test.bench=") })
	if _, set := os.LookupEnv(variable); set || benchmarks {
		return
	}
	if err := os.Setenv(variable, "1"); err != nil {
		panic(err) // an invalid name: never
	}
}
