package cacher

import (
	"testing"
	"time"
)

func TestTheBudgetFillsWithTimeAndIsSpentWhileSomebodyIsOver(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	type step struct {
		after time.Duration
		over  bool
		want  time.Duration
	}
	for _, c := range []struct {
		name  string
		steps []step
	}{
		{"it starts empty", []step{{0, false, 0}, {0, true, 0}}},
		{"it fills", []step{{time.Second, false, 50 * time.Millisecond}, {time.Second, false, 100 * time.Millisecond}}},
		{"it is bounded", []step{{time.Hour, false, 100 * time.Millisecond}, {time.Hour, false, 100 * time.Millisecond}}},
		{"it is spent", []step{{time.Hour, false, 100 * time.Millisecond}, {20 * time.Millisecond, true, 81 * time.Millisecond}}},
		{"it is not less than nothing", []step{{time.Second, true, 0}, {time.Second, false, 50 * time.Millisecond}}},
		{"time does not go back", []step{{time.Second, false, 50 * time.Millisecond}, {-time.Second, false, 50 * time.Millisecond}}},
	} {
		b := timeBudget{perSecond: 50 * time.Millisecond, most: 100 * time.Millisecond, at: start}
		now := start
		for i, s := range c.steps {
			now = now.Add(s.after)
			if b.advance(now, s.over); b.left != s.want {
				t.Errorf("%s: step %d leaves %v, want %v", c.name, i, b.left, s.want)
			}
		}
	}
}
