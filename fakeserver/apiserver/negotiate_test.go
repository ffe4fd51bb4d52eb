package apiserver

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func TestAcceptHeadersChooseAForm(t *testing.T) {
	json, yaml, proto := output{}, output{format: formatYAML}, output{format: formatProtobuf}
	partial := func(o output, as, version string) output {
		o.as, o.metaVersion = as, version
		return o
	}
	for header, want := range map[string]output{
		"":                          json,
		"*/*":                       json,
		"application/json":          json,
		"application/json;q=0":      json,
		"application/yaml":          yaml,
		"application/json;pretty=1": {pretty: true},
		"application/json;charset=utf-8;stream=watch":                                         json,
		"application/json;q=0.5, application/yaml;q=0.9":                                      yaml,
		"application/foo, application/json":                                                   json,
		"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8":                     json,
		"application/vnd.kubernetes.protobuf,application/json":                                proto,
		"application/json;as=Table;v=v1;g=meta.k8s.io,application/json":                       json,
		"application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io":                        partial(json, partialObject, "v1"),
		"application/json;as=PartialObjectMetadata;v=v1beta1;g=meta.k8s.io":                   partial(json, partialObject, "v1beta1"),
		"application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1": partial(proto, partialList, "v1"),
	} {
		if got, err := negotiate(header, partialObject, partialList); err != nil || got != want {
			t.Errorf("%q: got %+v, %v, want %+v", header, got, err, want)
		}
	}
}

func TestAcceptHeadersThatAreRefused(t *testing.T) {
	for header, want := range map[string]string{
		"text/yaml":             errMediaRange().Error(),
		"application/*":         errMediaRange().Error(),
		"foo":                   errMediaRange().Error(),
		"APPLICATION/JSON":      errMediaRange().Error(),
		"application/json;v=v1": errMediaParameters().Error(),
		"application/json;as=Foo;v=v1;g=meta.k8s.io":                   errMediaParameters().Error(),
		"application/json;as=PartialObjectMetadata":                    errMediaParameters().Error(),
		"application/json;as=PartialObjectMetadata;v=v2;g=meta.k8s.io": errMediaParameters().Error(),
		"application/json;as=Table;v=v1;g=meta.k8s.io":                 errMediaParameters().Error(),
	} {
		_, err := negotiate(header, partialObject, partialList)
		if err == nil || err.Error() != want || !apierrors.IsNotAcceptable(err) {
			t.Errorf("%q: got %v, want %s", header, err, want)
		}
	}
}

func TestContentTypesOfBodies(t *testing.T) {
	for header, want := range map[string]format{
		"":                                    formatJSON,
		"application/json; charset=utf-8":     formatJSON,
		"APPLICATION/JSON":                    formatJSON,
		"application/yaml":                    formatYAML,
		"application/vnd.kubernetes.protobuf": formatProtobuf,
	} {
		if got, err := bodyFormat(header); err != nil || got != want {
			t.Errorf("%q: got %v, %v, want %v", header, got, err, want)
		}
	}
	for _, header := range []string{"text/plain", "*/*", "foo", "application/json, text/plain", "application/merge-patch+json"} {
		if _, err := bodyFormat(header); !apierrors.IsUnsupportedMediaType(err) {
			t.Errorf("%q: got %v", header, err)
		}
	}
}

// FuzzAccept checks that no header panics, and that the best range of a header
// is never worse than a later one.
func FuzzAccept(f *testing.F) {
	for _, seed := range []string{"application/json;q=0.1,*/*", "a;b;c=\"d\";q=x", ";;,,=", "application/json;as=Table;g=meta.k8s.io;v=v1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		ranges := parseAccept(header)
		for i := 1; i < len(ranges); i++ {
			if ranges[i-1].quality < ranges[i].quality {
				t.Errorf("%q: %v", header, ranges)
			}
		}
		if out, err := negotiate(header, partialObject); err == nil && out.as != "" && out.metaVersion == "" {
			t.Errorf("%q: %+v", header, out)
		}
	})
}
