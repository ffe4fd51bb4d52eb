// Package bubble runs ginkgo specs inside testing/synctest bubbles, where time
// is virtual: it stands still while anything runs and jumps to the next timer
// when everything waits. A day of watching takes milliseconds, and "nothing
// more happens" can be asserted exactly with synctest.Wait.
//
//	func TestMain(m *testing.M) { bubble.VerifyTestMain(m) }
//
//	func TestServer(t *testing.T) { bubble.RunSpecs(t, "server") }
//
//	var _ = Describe("a watch", func() {
//		bubble.It("ends after its timeout", func() {
//			server := newServer()
//			bubble.Cleanup(server.Close)
//			time.Sleep(time.Hour) // costs nothing
//			Eventually(server.Watches).Should(BeZero())
//		})
//	})
//
// In a table write DescribeTable("…", func(n int) { bubble.Run(func() { … }) }).
// VerifyTestMain must be bubble's: goleak's takes a goroutine that ginkgo leaves
// behind for a leak. Focus, Pending, Label and the other decorators are ginkgo's
// own; FIt and PIt have no twin here.
//
// # What runs where
//
// Only the body given to It, Body or Run, what it starts, and the functions
// given to Cleanup are inside. BeforeEach, AfterEach and everything given to
// ginkgo.DeferCleanup run outside, on real time: a channel, timer or context
// made inside must not be touched there (the runtime panics), and one made
// there keeps the virtual clock from advancing while the body waits for it.
// So make servers, clients and contexts in the body, through ordinary helper
// functions, and end them with Cleanup. Likewise Context and TB().Context are
// the bubble's, ginkgo's SpecContext is not.
//
// # Promises
//
//   - A failed assertion is reported on its own spec with its own line, also from
//     another goroutine of the bubble that defers ginkgo.GinkgoRecover.
//   - Cleanups run in the bubble, last registered first, each of them, however
//     the body ended; a failing cleanup fails the spec.
//   - A body that waits for what can never happen, one that leaves goroutines
//     behind, one that ends its goroutine (t.FailNow of the suite) and one in
//     which the race detector found something fail their own spec with a message
//     that shows the goroutines concerned, and the next spec runs.
//   - A spec longer than SpecLimit (virtual) or RealLimit (real) is given up in the
//     same way. The second catches what synctest cannot see: waiting for a mutex,
//     for a socket, or for a channel made outside.
//   - RunSpecs works under -count=N, although ginkgo alone refuses it: each
//     repetition gets a process of its own.
//
// # Not promised
//
// Goroutines of a spec that was given up are not killed: nobody can. A panic in
// another goroutine without GinkgoRecover ends the test binary, as always in
// Go. Timestamps in ginkgo's timeline inside a bubble are virtual and begin in
// the year 2000. One bubble at a time: specs of one process are not parallel
// (ginkgo -p uses processes).
//
// Goroutines: while a bubble runs, one outside that hosts it, the bubble's main
// goroutine, and one for the body or the cleanup in progress. None afterwards,
// except those of a spec that was given up.
package bubble
