package bubble

import (
	"slices"
	"testing"
)

func TestRepetitionRunsOnlyTheSuiteAndKeepsGinkgosArguments(t *testing.T) {
	args := []string{"-test.count=20", "--test.v=true", "-test.coverprofile=c.out", "-ginkgo.focus=a.b", "-test.run=X", "--", "own"}
	got := repeatArgs("TestA/b+c", args)
	want := []string{`-test.run=^TestA$/^b\+c$`, "-test.count=1", "-ginkgo.focus=a.b", "--", "own"}
	if !slices.Equal(got, want) {
		t.Errorf("arguments\n got %q\nwant %q", got, want)
	}
}

func TestStacksOfOneBubbleArePicked(t *testing.T) {
	const dump = `goroutine 1 [running]:
main.main()

goroutine 7 [chan receive (durable), synctest bubble 3]:
example.wait(0x1)

goroutine 8 [chan receive (durable), 2 minutes, synctest bubble 31]:
example.other(0x1)

goroutine 9 [select (durable), synctest bubble 3]:
github.com/listwatch/listwatch/internal/bubble.(*run).main(0x1)

goroutine 10 [synctest.Run, synctest bubble 3]:
internal/synctest.Run(0x1)

goroutine 11 gp=0x1 m=nil [sleep (durable), synctest bubble 3]:
example.sleep(0x1)
`
	got := selectStacks(dump, 3)
	if len(got) != 2 || idOf(got[0]) != 3 || idOf(got[1]) != 3 || got[0][:11] != "goroutine 7" {
		t.Errorf("picked %q", got)
	}
	if got := selectStacks(dump, 4); got != nil {
		t.Errorf("picked %q for a bubble that is not there", got)
	}
}
