package storagetest

import "github.com/listwatch/listwatch/fakeserver/storage"

var progressTests = []testCase{
	{"progress comes after the events that precede it", func(b *bench) {
		w := b.watch("/pods/", 1)
		w.RequestProgress()
		b.expect(w, "Progress@1")
		b.create("/nodes/n1", "")
		w.RequestProgress()
		b.expect(w, "Progress@2")
		b.create("/pods/n/a", "")
		b.create("/nodes/n2", "")
		w.RequestProgress()
		b.expect(w, "Put /pods/n/a=@3(3)", "Progress@4")
	}},
	{"a request for progress wakes a waiting watch", func(b *bench) {
		w := b.watch("/pods/", 1)
		waiting := make(chan struct{})
		go func() {
			<-waiting
			w.RequestProgress()
		}()
		close(waiting)
		b.expect(w, "Progress@1")
	}},
	{"several requests for progress may be answered by one", func(b *bench) {
		w := b.watch("/pods/", 1)
		for range 3 {
			w.RequestProgress()
		}
		b.expect(w, "Progress@1")
		b.create("/pods/n/a", "")
		w.RequestProgress()
		// What was asked before may be answered here, too, but not with less.
		for last := int64(0); last < 2; {
			events, err := w.Next(b.context())
			b.check(err)
			for _, event := range events {
				if event.KV.ModRevision < last {
					b.t.Fatalf("%s after revision %d", Describe(event), last)
				}
				if event.Type == storage.Progress {
					last = event.KV.ModRevision
				}
			}
		}
	}},
	{"a closed watch may be asked for progress", func(b *bench) {
		w := b.watch("/pods/", 1)
		w.Close()
		w.RequestProgress()
	}},
}
