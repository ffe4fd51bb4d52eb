package cacher

import (
	"testing"
	"time"
)

func TestAWatchersQueueHoldsAboutASecondOfTheWindow(t *testing.T) {
	for _, c := range []struct {
		capacity                 int
		noIndex, unused, usedOne int
	}{
		{1, 10, 10, 10},
		{100, 10, 10, 10},
		{750, 10, 10, 10},
		{751, 11, 11, 10},
		{3000, 40, 40, 10},
		{7500, 100, 100, 10},
		{7501, 100, 101, 10},
		{102400, 100, 1000, 10},
	} {
		for use, want := range map[indexUse]int{noIndex: c.noIndex, indexUnused: c.unused, indexUsed: c.usedOne} {
			if got := bufferSize(c.capacity, 75*time.Second, use); got != want {
				t.Errorf("capacity %d, index use %d: %d, want %d", c.capacity, use, got, want)
			}
		}
	}
}

func TestTheLagLimitIsBothQueuesAndTheSlackUnlessItIsSet(t *testing.T) {
	for _, c := range []struct {
		options Options
		want    int
	}{
		{Options{Fresh: 75 * time.Second, LagSlack: 7}, 2*100 + 7},
		{Options{Fresh: 75 * time.Second, LagSlack: 7, LagLimit: 3}, 3},
	} {
		if got := c.options.lagLimit(102400, noIndex); got != c.want {
			t.Errorf("%+v: %d", c.options, got)
		}
	}
}
