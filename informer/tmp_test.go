package informer_test
import ("testing";"os";"runtime/pprof";"runtime")
var pn int
func profStart() { runtime.GC(); w,_ := os.Create("/tmp/src_mem0.prof"); pprof.Lookup("allocs").WriteTo(w,0); w.Close() }
func profEnd() { runtime.GC(); w,_ := os.Create("/tmp/src_mem1.prof"); pprof.Lookup("allocs").WriteTo(w,0); w.Close() }
func TestTmp(t *testing.T) {
	t.Setenv("LISTWATCH_DETECT_MUTATIONS", "")
	for _,n := range []int{10000} {
	for _, k := range []int{0} {
	f := measureRelist(t, relistCases[k], n)
	t.Logf("%s %d retained %d KiB, peak %.2f of it, allocated %.2f = %d B/obj", relistCases[k].name, n, f.retained>>10, float64(f.peak)/float64(f.retained), float64(f.allocated)/float64(f.retained), f.allocated/uint64(n))
	}}
}
