// Package golden replays recorded scenarios against an API server and says
// where its answers differ from what a real kube-apiserver answered.
//
// A scenario is a JSON file in testdata (testdata/README.md describes the
// format and where the data comes from): requests, streams and waits, each with
// the recorded answer. Load reads them, Run replays one and returns a Result
// with the differences of each step, WriteTable sums results up by area.
//
// Answers are compared whole, after a normalisation that both sides go through
// (rules of the scenario, order of managedFields, continue tokens). Values that
// no two servers share, such as uids and resource versions, are symbols in the
// recording. Symbols are bound over the whole scenario: first by the steps that
// are right in all else, so that a wrong answer does not spoil right ones.
//
// The tests replay everything against fakeserver, each scenario on a server of
// its own in virtual time, and hold the failing steps against
// testdata/known-failures.txt. With -v they print the table by area:
//
//	go test -v ./golden -args [flags]
//
//	-report                  show how the steps differ that are known to fail
//	-update                  rewrite known-failures.txt, keeping its reasons
//	-ignore-managed-fields   leave managedFields out of the comparison
//	-url URL                 replay against the server at URL, in real time
//	                         (and with -parallel 50, since most of it is waiting)
//	-compact-url URL         POST there makes that server forget its history;
//	                         for fakeserver -steer it is URL/-/compact
//
// Promises: a step without expectation still has to be possible (a stream that
// is not open, a variable that was not captured: the step fails). Every step of
// a scenario is run, whatever failed before. Scenarios that were left out are
// in the table.
//
// Not promised: that a step with differences was the cause of them. A create
// that failed makes later steps fail.
//
// Concurrency: scenarios may run at the same time on one server, except
// exclusive ones. All of a Result is its reader's.
//
// Goroutines: one for each open stream; Run returns when they are gone.
package golden
