package reflector

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
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

// paced is a body of frames. What is in the lane is read while the pump waits for
// more, but for the last lag frames.
type paced struct {
	t      *testing.T
	pump   pump[string]
	lag    int
	frames [][]byte
	whole  int    // frames that were handed over
	rest   []byte // of the next

	taken   int
	buffers map[*buffer]bool
}

// Read implements io.Reader.
func (p *paced) Read(into []byte) (int, error) {
	p.buffers[p.pump.buffer] = true
	p.take(p.whole - p.lag)
	if len(p.rest) == 0 {
		if p.whole == len(p.frames) {
			return 0, io.EOF
		}
		p.rest = p.frames[p.whole]
	}
	n := copy(into, p.rest)
	if p.rest = p.rest[n:]; len(p.rest) == 0 {
		p.whole++
	}
	return n, nil
}

// take reads up to so many frames.
func (p *paced) take(until int) {
	lane := p.pump.lane
	for p.taken < until {
		chunk, _, err := lane.take(p.t.Context())
		if err != nil {
			p.t.Fatal(err)
		}
		for _, raw := range chunk.raw {
			if !bytes.Equal(raw.data, p.frames[p.taken][4:]) {
				p.t.Fatalf("frame %d has become another one", p.taken)
			}
			p.taken++
		}
		lane.reuse(chunk)
	}
}

func TestAStreamThatIsReadInTimeStaysInItsBuffer(t *testing.T) {
	for _, c := range []struct{ size, lag, most int }{
		{size: 3000, most: 1}, {size: 5300, most: 1}, {size: 7900, most: 1}, {size: 30_000, most: 4},
		{size: 5300, lag: 1, most: 200}, {size: 5300, lag: 20, most: 200},
	} {
		t.Run(fmt.Sprintf("size=%d/lag=%d", c.size, c.lag), func(t *testing.T) {
			group := worker.New(t.Context())
			defer group.StopAndWait()
			p := &paced{t: t, lag: c.lag, buffers: map[*buffer]bool{}}
			p.pump.lane = newLane(group, func(raw rawItem) string { return string(raw.data) })
			for i := range 200 {
				text := bytes.Repeat([]byte{byte(i)}, c.size+i%7)
				p.frames = append(p.frames, append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...))
			}
			p.pump.lane.most = 0 // nobody else takes anything
			if err := p.pump.run(t.Context(), p, &sniffer{watch: true}); err != nil {
				t.Fatal(err)
			}
			p.take(len(p.frames))
			if len(p.buffers) > c.most {
				t.Errorf("%d buffers, want %d", len(p.buffers), c.most)
			}
		})
	}
}
