package golden

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// requestLimit bounds one request that is no stream, so that a server that
// never answers is a difference.
const requestLimit = 90 * time.Second

// Target is the server that scenarios are replayed against.
type Target struct {
	URL       string            // without a slash at the end
	Transport http.RoundTripper // nil: http.DefaultTransport
	// Compact makes the server forget its history up to now. Scenarios that
	// need it are left out if it is nil.
	Compact func(context.Context) error
	// Fresh says that the server holds nothing and is thrown away afterwards,
	// so that nothing has to be cleaned up.
	Fresh bool
}

// client does not follow redirects: they are answers.
func (t Target) client() *http.Client {
	return &http.Client{Transport: t.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// body returns the bytes to send with a step and whether there are any.
func (s *Step) body(v variables) (body string, ok bool, err error) {
	switch {
	case len(s.Body) > 0:
		var compact bytes.Buffer
		if err := json.Compact(&compact, s.Body); err != nil {
			return "", false, err
		}
		body, err = v.expandJSON(compact.String())
		return body, true, err
	case s.BodyText != nil:
		body, err = v.expand(*s.BodyText)
		return body, true, err
	case s.BodyBase64 != nil:
		return string(s.BodyBase64), true, nil
	case s.BodyFrom != nil:
		body, err = s.BodyFrom.build(v)
		return body, true, err
	}
	return "", false, nil
}

// build applies the merge patch to the captured value.
func (b *BodyFrom) build(v variables) (string, error) {
	captured, ok := v[b.Var]
	if !ok {
		return "", fmt.Errorf("%w: body from %q, which was not captured", ErrTemplate, b.Var)
	}
	if len(b.Merge) == 0 {
		return encode(captured), nil
	}
	expanded, err := v.expandJSON(string(b.Merge))
	if err != nil {
		return "", err
	}
	patch, err := decode([]byte(expanded))
	if err != nil {
		return "", err
	}
	return encode(merge(clone(captured), patch)), nil
}

// newRequest makes the request of a step.
func (s *Step) newRequest(ctx context.Context, base string, v variables) (*http.Request, error) {
	target, err := v.expand(s.Path)
	if err != nil {
		return nil, err
	}
	body, hasBody, err := s.body(v)
	if err != nil {
		return nil, err
	}
	var reader io.Reader
	if hasBody {
		reader = strings.NewReader(body)
	}
	request, err := http.NewRequestWithContext(ctx, s.Method, base+target, reader)
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", "golden/1")
	if hasBody {
		request.Header.Set("Content-Type", "application/json")
	}
	for name, value := range s.Headers {
		if value == "" {
			request.Header.Del(name)
		} else {
			request.Header.Set(name, value)
		}
	}
	return request, nil
}

// readAnswer reads a whole response. The raw body is as it came, for captures
// and assertions.
func readAnswer(response *http.Response) (a answer, raw any, err error) {
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{}, nil, fmt.Errorf("read the body: %w", err)
	}
	a = answerTo(response)
	if a.hasBody = len(body) > 0; a.hasBody {
		raw = decodeBody(response.Header.Get("Content-Type"), body)
		a.body = clone(raw)
	}
	return a, raw, nil
}

// answerTo is what the head of a response says.
func answerTo(response *http.Response) answer {
	a := answer{status: response.StatusCode, headers: map[string]string{}}
	for _, name := range comparedHeaders {
		if values := response.Header.Values(name); len(values) > 0 {
			a.headers[name] = strings.Join(values, ", ")
		}
	}
	return a
}
