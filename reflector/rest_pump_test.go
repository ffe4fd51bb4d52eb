package reflector

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/internal/worker"
)

// reads is a body that gives each of its parts in as many reads as it takes, and
// notes how much each read had room for.
type reads struct {
	parts []string
	room  []int
}

func (r *reads) Read(into []byte) (int, error) {
	r.room = append(r.room, len(into))
	if len(r.parts) == 0 {
		return 0, io.EOF
	}
	n := copy(into, r.parts[0])
	if r.parts[0] = r.parts[0][n:]; r.parts[0] == "" {
		r.parts = r.parts[1:]
	}
	return n, nil
}

func TestAWatchKeepsNoLargeBufferForTheSakeOfOneLargeEvent(t *testing.T) {
	group := worker.New(t.Context())
	defer group.StopAndWait()
	large := `{"x":"` + strings.Repeat("x", 1<<20) + "\"}\n"
	body := &reads{parts: []string{large, "{}\n"}}
	l := newLane(group, func(raw rawItem) int { return len(raw.data) })
	p := &pump[int]{lane: l}
	if err := p.run(context.Background(), body, &sniffer{watch: true}); err != nil {
		t.Fatal(err)
	}
	for _, room := range body.room[len(body.room)-2:] { // of the next event, and of the end
		if room > largeBuffer {
			t.Errorf("an idle stream waits with a buffer of %d bytes", room)
		}
	}
}
