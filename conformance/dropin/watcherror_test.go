package dropin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/listwatch/listwatch/internal/bubble"
)

// troubled plays a manager through failures of requests, and notes which its
// DefaultWatchErrorHandler is told of.
//
// bubble: used in them only
func troubled(m maker) []string {
	GinkgoHelper()
	srv, _ := newServer()
	var o *operator
	o = manage(srv, m, ctrl.Options{Cache: cache.Options{
		DefaultWatchErrorHandler: func(ctx context.Context, r *toolscache.Reflector, err error) {
			kind := fmt.Sprint(apierrors.ReasonForError(err))
			if errors.Is(err, errDown) || errors.Is(err, syscall.ECONNREFUSED) {
				kind = "no answer"
			}
			o.note("told of %s", kind)
		},
	}})
	o.create("1", "first")
	run(o)
	failing := func(status int, why error) func() error {
		return func() error {
			grown(o.net)
			if status != 0 {
				o.net.answer.Store(ptr(status))
				defer o.net.answer.Store(nil)
			} else {
				o.net.why = why
				o.net.down.Store(true)
				defer o.net.down.Store(false)
			}
			srv.DropWatches()
			time.Sleep(3 * time.Minute)
			return nil
		}
	}
	o.then("start", func() error { must(o.GetCache().GetInformer(bubble.Context(), &corev1.ConfigMap{})); return nil })
	o.then("cut", func() error { o.cut(); return nil })
	o.then("a gap", o.unseen(syscall.ECONNREFUSED, func() { o.create("1", "flash"); o.remove("flash") }))
	o.then("network down", failing(0, errDown))
	o.then("refused", failing(0, syscall.ECONNREFUSED))
	for _, status := range []int{http.StatusForbidden, http.StatusUnauthorized, http.StatusInternalServerError, http.StatusServiceUnavailable, http.StatusTooManyRequests} {
		o.then(http.StatusText(status), failing(status, nil))
	}
	o.trace = slices.Compact(o.trace) // as often as they try again
	return o.trace
}

var _ = Describe("The DefaultWatchErrorHandler of a manager", func() {
	bubble.It("is told of the same failures, and by our informers also of those inside a watch", func() {
		theirs, ours := troubled(makers[0]), troubled(makers[1])
		GinkgoWriter.Println(strings.Join(ours, "\n"))
		Expect(only(ours, theirs)).To(Equal([]string{"told of Expired"})) // by a watch, followed by a list
		Expect(only(theirs, ours)).To(BeEmpty())
	})
})
