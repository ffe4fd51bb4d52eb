package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

// feed gives input to a splitter in pieces of the given sizes, in turn, as a
// reader would, and returns the items. idle is claimed after each piece.
func feed(split Splitter, input []byte, sizes ...int) (items []string, err error) {
	begin, end := 0, 0
	for piece := 0; ; piece++ {
		end = min(len(input), end+max(1, sizes[piece%len(sizes)]))
		for idle := false; ; {
			advance, item, err := split.Split(input[begin:end:end], idle)
			switch {
			case err != nil:
				return items, err
			case advance < 0 || advance > end-begin || advance == 0 && item != nil:
				return items, fmt.Errorf("advance by %d of %d, item %q", advance, end-begin, item)
			}
			if item != nil {
				items = append(items, string(item))
			}
			begin += advance
			if advance == 0 && idle {
				break
			}
			idle = advance == 0
		}
		if end == len(input) {
			return items, split.End(input[begin:])
		}
	}
}

// objects decodes a sequence of JSON objects by encoding/json.
func objects(input []byte) (items []string, err error) {
	decoder := json.NewDecoder(bytes.NewReader(input))
	for {
		var item json.RawMessage
		if err := decoder.Decode(&item); err == io.EOF {
			return items, nil
		} else if err != nil {
			return items, err
		} else if item[0] != '{' {
			return items, errors.New("no object")
		}
		items = append(items, string(item))
	}
}

var streams = []string{
	"", "\n", "{}", "{}\n", "{}{}", "{}\n{}\n", "{} \r\n\t {}\n\n",
	`{"type":"ADDED","object":{"a":"}\n{"}}` + "\n" + `{"type":"BOOKMARK","object":{}}` + "\n",
	"{\n  \"type\": \"ADDED\",\n  \"object\": {\n    \"a\": {}\n  }\n}\n{\n}\n",
	"{\"a\":{}\n}\n{\"a\":[{}\n,{}\n]}\n", "{\"a\":{}\n", "{\"a\":", "{\"a\":\"}\n{\\\"", "{}}", "{}]", "[]", "x", "{}x", "{\"\\\\\":{}}\n{}",
	"{\"a\":{}\n ,\"b\":1}\n{}", "{\"a\":\"\\\\\"}\n", "{}\n\n\n{", strings.Repeat("{\"a\":{}}\n", 100), strings.Repeat("{\"a\":{}}", 100),
}

func TestAStreamIsSplitAsEncodingJSONDoesHoweverItArrives(t *testing.T) {
	for _, stream := range streams {
		want, wantErr := objects([]byte(stream))
		for _, sizes := range [][]int{{1}, {2}, {7}, {1, 30}, {1 << 20}} {
			got, err := feed(&JSONFrames{}, []byte(stream), sizes...)
			if (err == nil) != (wantErr == nil) || !slices.Equal(got, want) && err == nil {
				t.Errorf("%q in pieces of %v\n got %q, %v\nwant %q, %v", stream, sizes, got, err, want, wantErr)
			}
		}
	}
}

func FuzzAStreamOfJSONIsSplitAsEncodingJSONDoes(f *testing.F) {
	for i, stream := range streams {
		f.Add([]byte(stream), i%5)
	}
	f.Fuzz(func(t *testing.T, stream []byte, size int) {
		size = size&63 + 1
		want, wantErr := objects(stream)
		got, err := feed(&JSONFrames{}, stream, size)
		if wantErr == nil && (err != nil || !slices.Equal(got, want)) {
			t.Errorf("%q in pieces of %d\n got %q, %v\nwant %q", stream, size, got, err, want)
		}
		if err == nil && wantErr != nil { // the objects themselves are the decoder's to check
			for _, frame := range got {
				if !json.Valid([]byte(frame)) {
					return
				}
			}
			t.Errorf("%q in pieces of %d: nothing wrong with %q, but %v", stream, size, got, wantErr)
		}
	})
}

var lists = []string{
	`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"5","continue":"t"},"items":[{"a":1},{"b":"]}"}]}` + "\n",
	`{"apiVersion":"v1","items":[{"a":{"b":[{}]}} , {}],"kind":"PodList","metadata":{"resourceVersion":"5"}}`,
	`{"items":null,"metadata":{}}`, `{"items":[]}`, `{"metadata":{},"items":[ ]}`, ` { "items" : [ {} ] , "x" : [ "]" , 1 ] } `,
	`{"items":[{}`, `{"items":[{}]`, `{"items":[{},`, `{"items":{}}`, `{"items":"x"}`, `{"items":[],"items":[]}`, `{"kind":"Status"}`, `{}`, `[]`, `x`,
	`{"items":[]}x`, `{"items":[]}{}`, `{"it\u0065ms":[{}]}`, `{"items":[1,null,"a,]",[1],{}]}`, `{"kind":"a\"b","items":[{"\\":"\\"}]}`, `{"items":[{}}`,
	`{"metadata":{"a":"b"},"metadata":{"c":"d"},"items":[]}`, `{"items":[nul`, `{"a":1`, `{"a`, `{`,
}

// list decodes a list by encoding/json.
func list(input []byte) (items []string, meta string, err error) {
	var whole struct {
		Metadata json.RawMessage
		Items    []json.RawMessage
	}
	err = json.Unmarshal(input, &whole)
	for _, item := range whole.Items {
		if item == nil {
			item = json.RawMessage("null")
		}
		items = append(items, string(item))
	}
	return items, string(whole.Metadata), err
}

func TestAListIsSplitAsEncodingJSONDoesHoweverItArrives(t *testing.T) {
	for _, text := range lists {
		want, meta, wantErr := list([]byte(text))
		if !strings.Contains(text, `"items":`) && !strings.Contains(text, `"items" :`) || strings.Count(text, `"items"`) > 1 || strings.Contains(text, `"items":"`) || strings.Contains(text, `"items":{`) {
			wantErr = ErrSyntax
		}
		for _, sizes := range [][]int{{1}, {2}, {7}, {1, 30}, {1 << 20}} {
			split := &JSONList{}
			got, err := feed(split, []byte(text), sizes...)
			if (err == nil) != (wantErr == nil) || err == nil && (!slices.Equal(got, want) || string(split.Metadata()) != meta) {
				t.Errorf("%q in pieces of %v\n got %q, %s, %v\nwant %q, %s, %v", text, sizes, got, split.Metadata(), err, want, meta, wantErr)
			}
		}
	}
}

func FuzzAListOfJSONIsSplitAsEncodingJSONDoes(f *testing.F) {
	for i, text := range lists {
		f.Add([]byte(text), i%5)
	}
	f.Fuzz(func(t *testing.T, text []byte, size int) {
		want, _, wantErr := list(text)
		got, err := feed(&JSONList{}, text, size&63+1)
		if err != nil || wantErr != nil || bytes.ContainsAny(text, "\\IiTtEeMmSs") && strings.Count(strings.ToLower(string(text)), "items") != 1 {
			return // encoding/json takes names in any case
		}
		if !bytes.Contains(text, []byte(`"items"`)) {
			return
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q\n got %q\nwant %q", text, got, want)
		}
	})
}

func TestTheHeaderOfAListIsKnownAsSoonAsItCame(t *testing.T) {
	split := &JSONList{}
	text := []byte(`{"kind":"PodList","apiVersion":"v1","metadata":{"continue":"t"},"items":[{}`)
	for len(text) > 0 {
		advance, item, err := split.Split(text, false)
		if err != nil {
			t.Fatal(err)
		}
		if item != nil {
			break
		}
		text = text[advance:]
	}
	if split.Header() != (ListHeader{"v1", "PodList"}) || string(split.Metadata()) != `{"continue":"t"}` {
		t.Errorf("header %+v, metadata %s", split.Header(), split.Metadata())
	}
}

func TestWhatIsTooLongIsRefused(t *testing.T) {
	long := append([]byte(`{"a":"`), bytes.Repeat([]byte("x"), MaxItem)...)
	if _, _, err := (&JSONFrames{}).Split(long, false); !errors.Is(err, ErrTooLong) {
		t.Errorf("frame: %v", err)
	}
	split := &JSONList{state: listItem}
	if _, _, err := split.Split(long, false); !errors.Is(err, ErrTooLong) {
		t.Errorf("item: %v", err)
	}
	if _, _, err := (ProtoFrames{}).Split([]byte{0x7f, 0, 0, 0}, false); !errors.Is(err, ErrTooLong) {
		t.Errorf("protobuf frame: %v", err)
	}
}

func TestEnvelopesInTheServersFormAreOpened(t *testing.T) {
	for text, want := range map[string][2]string{
		`{"type":"ADDED","object":{"a":1}}`: {"ADDED", `{"a":1}`},
		`{"type":"","object":{}}`:           {"", `{}`},
		`{"object":{},"type":"ADDED"}`:      {},
		`{"type":"A\u0044DED","object":{}}`: {},
		`{ "type":"ADDED","object":{}}`:     {},
		`{"type":"ADDED","object":{} }`:     {"ADDED", `{} `},
		`{"type":"ADDED"}`:                  {},
		`{"type":"ADDED","object":`:         {},
		`{"type":"ADD`:                      {},
	} {
		eventType, object, ok := Envelope([]byte(text))
		if got := [2]string{string(eventType), string(object)}; got != want || ok != (want[1] != "") {
			t.Errorf("%s: %q, %v", text, got, ok)
		}
	}
}

func TestTheIdentityIsReadFromJSON(t *testing.T) {
	for text, want := range map[string]string{
		`{"kind":"Pod","metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"5"},"spec":{}}`:          "n/a u 5",
		`{"metadata":{"annotations":{"name":"x"},"managedFields":[{"name":"y"}],"name":"a","resourceVersion":"5"}}`: "a  5",
		` { "spec" : { "metadata" : 1 } , "metadata" : { "name" : "a" , "resourceVersion" : "5" } } `:               "a  5",
		`{"metadata":{"name":"a\u0062","resourceVersion":"5"}}`:                                                     "",
		`{"metadata":{"name":"a"}}`: "", `{"metadata":{"resourceVersion":"5"}}`: "", `{"metadata":null}`: "", `{"metadata":[]}`: "",
		`{"spec":{}}`: "", ``: "", `[]`: "", `{`: "", `{"metadata":{"name":5,"resourceVersion":"5"}}`: "", `{"a"`: "", `{"a":}`: "", `{"a" 1}`: "",
	} {
		id, ok := PeekJSON([]byte(text))
		got := ""
		if ok {
			got = fmt.Sprintf("%s %s %s", id.Key(nil), id.UID, id.ResourceVersion)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestManagedFieldsAreCutOutWhereverTheyStand(t *testing.T) {
	for text, want := range map[string]string{
		`{"metadata":{"managedFields":[{}],"name":"a"},"spec":{}}`:   `{"metadata":{"name":"a"},"spec":{}}`,
		`{"metadata":{"name":"a","managedFields":[{"x":"]"}]}}`:      `{"metadata":{"name":"a"}}`,
		`{"metadata":{"name":"a","managedFields":[{}],"uid":"u"}}`:   `{"metadata":{"name":"a","uid":"u"}}`,
		`{"metadata":{"managedFields":[{}]}}`:                        `{"metadata":{}}`,
		`{"metadata": { "managedFields" : [] , "name" : "a" } }`:     `{"metadata": { "name" : "a" } }`,
		`{"metadata":{"name":"a"},"managedFields":[]}`:               `{"metadata":{"name":"a"},"managedFields":[]}`,
		`{"spec":{"metadata":{"managedFields":[]}},"metadata":null}`: `{"spec":{"metadata":{"managedFields":[]}},"metadata":null}`,
		`{"metadata":{"managedFields":[]`:                            `{"metadata":{"managedFields":[]`,
		``:                                                           ``,
	} {
		if got := WithoutManagedFieldsJSON(nil, []byte(text)); !equalJSON(string(got), want) {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
}

// equalJSON compares without white space.
func equalJSON(a, b string) bool {
	strip := strings.NewReplacer(" ", "")
	return strip.Replace(a) == strip.Replace(b)
}

func FuzzCuttingManagedFieldsOutLeavesTheRest(f *testing.F) {
	f.Add([]byte(`{"metadata":{"managedFields":[{}],"name":"a"},"spec":{}}`))
	f.Add([]byte(`{"metadata": { "a":1 ,"managedFields" : [] , "name" : "a" } }`))
	f.Fuzz(func(t *testing.T, text []byte) {
		PeekJSON(text)
		got := WithoutManagedFieldsJSON(nil, text)
		var before, after map[string]json.RawMessage
		if json.Unmarshal(text, &before) != nil {
			return
		}
		if err := json.Unmarshal(got, &after); err != nil {
			t.Fatalf("%s\n%s: %v", text, got, err)
		}
		if len(before) != len(after) {
			t.Errorf("%s became %s", text, got)
		}
	})
}
