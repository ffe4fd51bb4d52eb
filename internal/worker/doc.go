// Package worker owns long-lived goroutines: whoever starts one through a
// Group can stop it and wait until it is gone.
//
// Promises: Wait returns only when every goroutine started through the Group
// has returned; Go after Stop starts nothing and says so; Stop and Wait may be
// called any number of times, from any goroutine but the Group's own (Wait
// from inside would wait for itself).
//
// Not promised: that a function stops because its context ended. It must watch
// the context that it is given; one that does not makes Wait hang, and a stack
// dump shows it under its name.
//
// Goroutines: exactly those that were asked for with Go, none of its own.
package worker
