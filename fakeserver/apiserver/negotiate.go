package apiserver

import (
	"mime"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// format is how an object is written.
type format uint8

const (
	formatJSON format = iota
	formatYAML
	formatProtobuf
)

var mediaTypes = [...]string{
	formatJSON:     "application/json",
	formatYAML:     "application/yaml",
	formatProtobuf: "application/vnd.kubernetes.protobuf",
}

func (f format) String() string { return mediaTypes[f] }

// output is what was negotiated for an answer.
type output struct {
	format format
	// as is "" for the object itself, else one of objectForms.
	as string
	// metaVersion is the version of group meta.k8s.io in which as is answered.
	metaVersion string
	// include is what of the object is in the row of a Table, as it was asked for.
	include string
	pretty  bool
}

// The forms, other than itself, in which every object can be had.
const (
	partialObject = "PartialObjectMetadata"
	partialList   = "PartialObjectMetadataList"
)

// metaKind is the kind of what is written when a form was asked for.
func (o output) metaKind(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "meta.k8s.io", Version: o.metaVersion, Kind: kind}
}

// mediaRange is one element of an Accept header.
type mediaRange struct {
	mediaType string
	params    map[string]string
	quality   float64
}

// parseAccept splits an Accept header, best quality first and else in the order
// of the header. What cannot be parsed is left out.
func parseAccept(header string) []mediaRange {
	var ranges []mediaRange
	for element := range strings.SplitSeq(header, ",") {
		name, rest, _ := strings.Cut(strings.TrimSpace(element), ";")
		r := mediaRange{mediaType: strings.TrimSpace(name), quality: 1, params: map[string]string{}}
		if r.mediaType == "" {
			continue
		}
		for param := range strings.SplitSeq(rest, ";") {
			key, value, ok := strings.Cut(strings.TrimSpace(param), "=")
			switch {
			case !ok:
			case key == "q":
				if q, err := strconv.ParseFloat(value, 64); err == nil {
					r.quality = q
				}
			default:
				r.params[strings.ToLower(key)] = strings.Trim(value, `"`)
			}
		}
		ranges = append(ranges, r)
	}
	slices.SortStableFunc(ranges, func(a, b mediaRange) int {
		switch {
		case a.quality > b.quality:
			return -1
		case a.quality < b.quality:
			return 1
		}
		return 0
	})
	return ranges
}

// negotiate chooses the form of an answer. forms are the values of "as" that
// are possible here.
func negotiate(header string, forms ...string) (output, error) {
	if strings.TrimSpace(header) == "" {
		return output{}, nil
	}
	known := false
	for _, r := range parseAccept(header) {
		f, ok := formatOf(r.mediaType)
		if !ok {
			continue
		}
		known = true
		if out, ok := r.output(f, forms); ok {
			return out, nil
		}
	}
	if known {
		return output{}, errMediaParameters()
	}
	return output{}, errMediaRange()
}

// formatOf finds the format of a media type. Types are compared as they are
// written, and of the ranges only the widest is understood: so a real server
// was recorded.
func formatOf(mediaType string) (format, bool) {
	if mediaType == "*/*" {
		return formatJSON, true
	}
	i := slices.Index(mediaTypes[:], mediaType)
	return format(max(i, 0)), i >= 0
}

// output applies the parameters of r; false if they cannot be met.
func (r mediaRange) output(f format, forms []string) (output, bool) {
	out := output{format: f}
	group, version := r.params["g"], r.params["v"]
	if as := r.params["as"]; as != "" {
		if group != "meta.k8s.io" || version != "v1" && version != "v1beta1" ||
			!slices.Contains(forms, as) || as == tableForm && f == formatProtobuf {
			return output{}, false
		}
		out.as, out.metaVersion = as, version
	} else if group != "" || version != "" {
		return output{}, false
	}
	switch r.params["pretty"] {
	case "1", "true":
		out.pretty = true
	}
	return out, true
}

// bodyFormat finds the format of a request's body. No Content-Type means JSON.
func bodyFormat(contentType string) (format, error) {
	if contentType == "" {
		return formatJSON, nil
	}
	mediaType, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return 0, errContentType()
	}
	i := slices.Index(mediaTypes[:], mediaType)
	if i < 0 {
		return 0, errContentType()
	}
	return format(i), nil
}
