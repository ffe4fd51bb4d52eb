package bubble_test

import (
	"context"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/listwatch/listwatch/internal/bubble"
)

// passing registers the specs that run within this process.
func passing() {
	Describe("virtual time", func() {
		var real time.Time
		BeforeEach(func() { real = time.Now() })
		AfterEach(func() { Expect(time.Since(real)).To(BeNumerically("<", time.Minute)) })

		bubble.It("passes a day at once", func() {
			start := time.Now()
			time.Sleep(24 * time.Hour)
			Expect(time.Since(start)).To(Equal(24 * time.Hour))
		})

		bubble.It("drives Eventually", func() {
			start, done := time.Now(), make(chan struct{})
			go func() {
				time.Sleep(2 * time.Hour)
				close(done)
			}()
			Eventually(done).WithTimeout(3 * time.Hour).WithPolling(time.Minute).Should(BeClosed())
			Expect(time.Since(start)).To(BeNumerically("~", 2*time.Hour, time.Minute))
		})

		bubble.It("drives Consistently", func() {
			start := time.Now()
			Consistently(func() int { return 1 }).WithTimeout(time.Hour).WithPolling(time.Minute).Should(Equal(1))
			Expect(time.Since(start)).To(BeNumerically("~", time.Hour, time.Minute))
		})

		It("is real outside a bubble", func() {
			Expect(time.Now().Year()).To(BeNumerically(">", 2000))
		})
	})

	Describe("the end of a bubble", func() {
		var order []string
		BeforeEach(func() { order = nil })

		bubble.It("has the context ended, then cleanups, the last one first", func() {
			ctx := bubble.Context()
			bubble.Cleanup(func() { Expect(order).To(Equal([]string{"third", "second"})) })
			bubble.TB().Cleanup(func() { order = append(order, "second") })
			bubble.Cleanup(func() {
				bubble.Cleanup(func() { order = append(order, "third") })
				Expect(ctx.Err()).To(MatchError(context.Canceled))
			})
			Expect(bubble.TB().Context()).To(BeIdenticalTo(ctx))
			Expect(ctx.Err()).NotTo(HaveOccurred())
		})

		bubble.It("waits for goroutines that the cleanups stop", func() {
			stop := make(chan struct{})
			bubble.Cleanup(func() { close(stop) })
			go func() {
				<-stop
				time.Sleep(0)
			}()
			synctest.Wait()
		})

		bubble.It("counts the goroutines of its own bubble only", func() {
			before, stop := bubble.Goroutines(), make(chan struct{})
			for range 3 {
				go func() { <-stop }()
			}
			synctest.Wait()
			Expect(bubble.Goroutines()).To(Equal(before + 3))
			close(stop)
			synctest.Wait()
			Expect(bubble.Goroutines()).To(Equal(before))
		})

		It("has no goroutines outside", func() { Expect(bubble.Goroutines()).To(BeZero()) })

		It("comes before DeferCleanup", func() {
			bubble.Run(func() {
				DeferCleanup(func() { Expect(order).To(Equal([]string{"cleanup"})) })
				bubble.Cleanup(func() { order = append(order, "cleanup") })
			})
		})
	})

	DescribeTable("a table", func(d time.Duration) {
		bubble.Run(func() { time.Sleep(d) })
	}, Entry("of hours", time.Hour), Entry("of days", 100*time.Hour))

	It("can have a Body", bubble.Body(func() { time.Sleep(time.Hour) }))
}
