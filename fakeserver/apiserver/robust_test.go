package apiserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"

	"github.com/listwatch/listwatch/fakeserver/storage"
)

// panicking is a store that cannot read one object.
type panicking struct{ storage.Store }

func (p panicking) Get(ctx context.Context, key string, revision int64) (storage.KeyValue, error) {
	if strings.HasSuffix(key, "/boom") {
		panic("boom")
	}
	return p.Store.Get(ctx, key, revision)
}

func TestAPanicIsAnsweredWith500AndHarmsNobodyElse(t *testing.T) {
	store := storage.NewMemory()
	defer store.Close()
	r := newRig(t, Options{Store: panicking{store}})
	got := r.do("PUT", configMaps+"/boom", `{"metadata":{"name":"boom"}}`)
	if got.code != http.StatusInternalServerError || got.at("kind") != "Status" || got.at("reason") != "InternalError" {
		t.Errorf("got %d %s", got.code, got.body)
	}
	if got := r.do("POST", configMaps, `{"metadata":{"name":"a"}}`); got.code != http.StatusCreated {
		t.Errorf("the next request: %d %s", got.code, got.body)
	}
}

func TestConcurrentWritersLoseNothing(t *testing.T) {
	r := newRig(t, Options{})
	if got := r.do("POST", configMaps, `{"metadata":{"name":"a"},"data":{"n":"0"}}`); got.code != http.StatusCreated {
		t.Fatalf("%s", got.body)
	}
	const writers, each = 8, 25
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range each {
				increment(t, r)
			}
		})
	}
	wg.Wait()
	if got := r.do("GET", configMaps+"/a", "").at("data.n"); got != strconv.Itoa(writers*each) {
		t.Errorf("got %v, want %d", got, writers*each)
	}
}

// increment adds 1 to the counter, again and again until nobody interferes.
func increment(t *testing.T, r *rig) {
	for {
		current := r.do("GET", configMaps+"/a", "")
		n, err := strconv.Atoi(current.at("data.n").(string))
		if err != nil {
			t.Error(err)
			return
		}
		body := strings.Replace(string(current.body), fmt.Sprintf(`"n":"%d"`, n), fmt.Sprintf(`"n":"%d"`, n+1), 1)
		switch got := r.do("PUT", configMaps+"/a", body); got.code {
		case http.StatusOK:
			return
		case http.StatusConflict:
		default:
			t.Errorf("got %d %s", got.code, got.body)
			return
		}
	}
}

func TestUnconditionalWritersNeverConflict(t *testing.T) {
	r := newRig(t, Options{})
	r.do("POST", configMaps, `{"metadata":{"name":"a"}}`)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 25 {
				body := fmt.Sprintf(`{"metadata":{"name":"a"},"data":{"n":"%d-%d"}}`, i, j)
				if got := r.do("PUT", configMaps+"/a", body); got.code != http.StatusOK {
					t.Errorf("got %d %s", got.code, got.body)
				}
			}
		})
	}
	wg.Wait()
}

// late is a store that does not see one object the first time.
type late struct {
	storage.Store
	once sync.Once
}

func (l *late) Get(ctx context.Context, key string, revision int64) (kv storage.KeyValue, err error) {
	if strings.HasSuffix(key, "/raced") {
		l.once.Do(func() { err = storage.ErrNotFound })
	}
	if err != nil {
		return kv, err
	}
	return l.Store.Get(ctx, key, revision)
}

func TestAPutThatFindsItsObjectCreatedMeanwhileUpdatesIt(t *testing.T) {
	store := storage.NewMemory()
	defer store.Close()
	r := newRig(t, Options{Store: &late{Store: store}})
	services := "/api/v1/namespaces/default/services"
	created := r.do("POST", services, `{"metadata":{"name":"raced"}}`)
	got := r.do("PUT", services+"/raced", `{"metadata":{"name":"raced","labels":{"x":"1"}}}`)
	if got.code != http.StatusOK || got.at("metadata.uid") != created.at("metadata.uid") || got.at("metadata.labels.x") != "1" {
		t.Errorf("got %d %s", got.code, got.body)
	}
}

func TestTheWatchParameterIsReadAsTheOtherOptionsAre(t *testing.T) {
	for _, query := range []string{"", "watch", "watch=", "watch=1", "watch=0", "watch=true", "watch=false", "watch=False",
		"watch=FALSE", "watch=no", "watch=false&watch=true", "x=watch"} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		var options internalversion.ListOptions
		if err := decodeQuery(values, &options); err != nil {
			t.Fatal(err)
		}
		if got := isWatch(values); got != options.Watch {
			t.Errorf("%q: got %v, decoded as %v", query, got, options.Watch)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	store := storage.NewMemory()
	defer store.Close()
	for name, options := range map[string]Options{
		"no store":           {},
		"a negative limit":   {Store: store, BodyLimit: -1},
		"a negative timeout": {Store: store, MinWatchTimeout: -1},
	} {
		if _, err := New(options); !errors.Is(err, ErrOptions) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPathsOutsideTheAPI(t *testing.T) {
	r := newRig(t, Options{})
	for path, want := range map[string]string{
		"/healthz":         "ok",
		"/livez/ping":      "ok",
		"/readyz":          "ok",
		"/readyz?verbose":  "[+]ping ok\nreadyz check passed\n",
		"/healthz/foo":     "404 page not found\n",
		"/foo":             "404 page not found\n",
		"/apis/foo/v1/bar": "404 page not found\n",
		"/apis/foo":        "404 page not found\n",
		"/readyz?verbose&exclude=x": "[+]ping ok\nwarn: some health checks cannot be excluded: no matches for \"x\"\n" +
			"readyz check passed\n",
	} {
		got := r.do("GET", path, "")
		wantCode := http.StatusOK
		if strings.HasPrefix(want, "404") {
			wantCode = http.StatusNotFound
		}
		if string(got.body) != want || got.code != wantCode || got.header.Get("Content-Type") != "text/plain;charset=utf-8" {
			t.Errorf("%s: %d %q %v", path, got.code, got.body, got.header)
		}
	}
	for _, path := range []string{"/api/v1/foos", "/apis/apps/v9", "/api/v2", "/api/v1/namespaces/a/nodes", "/api/v1//pods"} {
		if got := r.do("GET", path, ""); got.code != http.StatusNotFound || got.at("message") != "the server could not find the requested resource" {
			t.Errorf("%s: %d %s", path, got.code, got.body)
		}
	}
}

func TestHumansGetIndentedAnswers(t *testing.T) {
	r := newRig(t, Options{})
	for _, got := range []answer{
		r.do("GET", "/api/v1/namespaces/default", "", "User-Agent", "curl/8"),
		r.do("GET", "/api/v1/namespaces/default?pretty=true", ""),
	} {
		if !strings.HasPrefix(string(got.body), "{\n  \"kind\"") {
			t.Errorf("%s", got.body)
		}
	}
	if got := r.do("GET", "/api/v1/namespaces/default?pretty=false", "", "User-Agent", "curl/8"); strings.Contains(string(got.body), "\n ") {
		t.Errorf("%s", got.body)
	}
}
