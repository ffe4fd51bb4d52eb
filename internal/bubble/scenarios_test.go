package bubble_test

import (
	"fmt"
	"io"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/listwatch/listwatch/internal/bubble"
)

// suiteT is what a spec must not use and may yet have at hand.
var suiteT *testing.T

// scenarios are the suites that outcome_test.go runs in processes of their own.
// A line that a failure must be reported at is marked with its name.
var scenarios = map[string]func(){
	"assertion": func() {
		bubble.It("fails", func() {
			Expect(1).To(Equal(2)) // mark:assertion
		})
		It("uses no bubble", func() {})
	},
	"helper": func() {
		bubble.It("fails", func() {
			bubble.TB().Fatalf("said by a helper") // mark:helper
		})
	},
	"goroutine": func() {
		bubble.It("fails", func() {
			go func() {
				defer GinkgoRecover()
				time.Sleep(time.Hour)
				Expect("there").To(BeEmpty()) // mark:goroutine
			}()
			time.Sleep(2 * time.Hour)
		})
	},
	"table": func() {
		DescribeTable("doubling", func(n, want int) {
			bubble.Run(func() {
				time.Sleep(time.Hour)
				Expect(2 * n).To(Equal(want)) // mark:table
			})
		}, Entry("holds", 2, 4), Entry("fails", 2, 5))
	},
	"eventually": func() {
		bubble.It("fails", func() {
			start := time.Now()
			defer func() { fmt.Println("waited", time.Since(start)) }()
			Eventually(func() int { return 1 }).WithTimeout(3 * time.Hour).WithPolling(time.Minute).Should(Equal(2)) // mark:eventually
		})
	},
	"panic": func() {
		bubble.It("fails", func() { panic("out of order") }) // mark:panic
	},
	"skip": func() {
		bubble.It("does not apply", func() { Skip("see issue #1") })
	},
	"goexit": func() {
		bubble.It("fails", func() {
			bubble.Cleanup(func() { fmt.Println("cleaned up") })
			suiteT.FailNow()
		})
	},
	"deadlock": func() {
		bubble.It("fails", func() {
			bubble.Cleanup(func() { fmt.Println("cleaned up") })
			waitForNobody()
		})
	},
	"ticking": func() {
		bubble.It("fails", func() {
			ticker := time.NewTicker(time.Hour)
			for range ticker.C {
			}
		})
	},
	"left behind": func() {
		bubble.It("fails", func() { go waitForNobody() })
	},
	"left behind after a failure": func() {
		bubble.It("fails", func() {
			go waitForNobody()
			Fail("first of all") // mark:left behind after a failure
		})
	},
	"outside": func() {
		Describe("one", func() { // the next spec may take its time
			waiting, other := make(chan int), make(chan int)
			BeforeEach(func() {
				DeferCleanup(func(usual time.Duration) { bubble.RealLimit = usual }, bubble.RealLimit)
				bubble.RealLimit = 300 * time.Millisecond
			})
			bubble.It("fails", func() { <-waiting })
			AfterEach(func() { close(other) })
		})
	},
	"nested": func() {
		bubble.It("fails", func() { bubble.Run(func() {}) }) // mark:nested
	},
	"cleanup outside": func() {
		It("fails", func() { bubble.Cleanup(func() {}) }) // mark:cleanup outside
	},
	"cleanup fails": func() {
		bubble.It("fails", func() {
			bubble.Cleanup(func() { fmt.Println("first registered, last run") })
			bubble.Cleanup(func() { suiteT.SkipNow() })                                     // is what issue #1 is about
			bubble.Cleanup(func() { Expect(bubble.Context().Err()).NotTo(HaveOccurred()) }) // mark:cleanup fails
		})
	},
	"cleanup after failure": func() {
		bubble.It("fails", func() {
			for i := range 3 {
				bubble.Cleanup(func() {
					time.Sleep(time.Hour)
					fmt.Println("cleanup", i)
				})
			}
			Expect(io.EOF).NotTo(HaveOccurred()) // mark:cleanup after failure
		})
	},
	"cleanup waits": func() {
		bubble.It("fails", func() {
			bubble.Cleanup(func() { fmt.Println("cleaned up") })
			bubble.Cleanup(waitForNobody)
		})
	},
	"race": func() {
		bubble.It("fails", func() {
			n := 0
			var both sync.WaitGroup
			for range 2 {
				both.Go(func() { n++ })
			}
			both.Wait()
			synctest.Wait()
		})
	},
	"second time": func() {
		bubble.It("fails", func() {
			Expect(os.Args).NotTo(ContainElement("-test.count=1")) // mark:second time
		})
	},
	"pending": func() {
		bubble.It("is to be written", func() { Fail("ran") }, Pending) // until issue #1 is solved
	},
	"focus": func() {
		bubble.It("is not in focus", func() { Fail("ran") })
		bubble.It("is in focus", func() {}, Focus)
	},
}

func waitForNobody() { <-make(chan int) }
