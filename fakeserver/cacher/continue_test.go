package cacher

import (
	"encoding/base64"
	"strings"
	"testing"
)

// raw encodes a token as it is.
func raw(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

func TestContinueTokensHaveTheFormOfKubernetes(t *testing.T) {
	for _, c := range []struct{ namespace, key, want string }{
		{"", "default/a1\x00", `{"v":"meta.k8s.io/v1","rv":257,"start":"/default/a1\u0000"}`},
		{"default", "default/a1\x00", `{"v":"meta.k8s.io/v1","rv":257,"start":"/a1\u0000"}`},
		{"", "node1\x00", `{"v":"meta.k8s.io/v1","rv":257,"start":"/node1\u0000"}`},
	} {
		if got := encodeContinue(c.namespace, c.key, 257); got != raw(c.want) {
			t.Errorf("%q in %q: %s", c.key, c.namespace, got)
		}
	}
}

func TestContinueTokensOfTheStoreAreAccepted(t *testing.T) {
	key, rv, err := decodeContinue("default", raw(`{"v":"meta.k8s.io/v1","rv":-1,"start":"a1\u0000"}`))
	if key != "default/a1\x00" || rv != -1 || err != nil {
		t.Errorf("got %q, %d, %v", key, rv, err)
	}
}

func TestBadContinueTokensAreRefusedWithTheReason(t *testing.T) {
	for token, want := range map[string]string{
		"abc":                                "invalid character 'i' looking for beginning of value",
		"!!":                                 "illegal base64 data at input byte 0",
		raw(`{"v":"v2","rv":1,"start":"a"}`): "server does not recognize this encoded version v2",
		raw(`{"v":"meta.k8s.io/v1","rv":0,"start":"a"}`):       "incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
		raw(`{"v":"meta.k8s.io/v1"}`):                          "incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
		raw(`{"v":"meta.k8s.io/v1","rv":"x","start":"a"}`):     "json: cannot unmarshal string into Go struct field continueToken.rv of type int64",
		raw(`{"v":"meta.k8s.io/v1","rv":1,"start":""}`):        "encoded start key empty (version meta.k8s.io/v1)",
		raw(`{"v":"meta.k8s.io/v1","rv":1,"start":"../x"}`):    "../x",
		raw(`{"v":"meta.k8s.io/v1","rv":1,"start":"/../x"}`):   "/../x",
		raw(`{"v":"meta.k8s.io/v1","rv":1,"start":"a"}`) + "=": "illegal base64 data at input byte 55",
	} {
		_, err := needOf(&ListOptions{Continue: token})
		if got := status(err).ErrStatus; got.Code != 400 || got.Message != "invalid continue token: continue key is not valid: "+want {
			t.Errorf("%s\n got %q\nwant %q", token, got.Message, want)
		}
	}
}

func FuzzContinueTokensNeverLeaveTheirNamespace(f *testing.F) {
	f.Add("n", encodeContinue("n", "n/a\x00", 7))
	f.Add("", encodeContinue("", "n/a\x00", -1))
	f.Add("n", raw(`{"v":"meta.k8s.io/v1","rv":1,"start":"/../x"}`))
	f.Add("n", raw(`{"v":"meta.k8s.io/v1","rv":1,"start":"x/../../y"}`))
	f.Fuzz(func(t *testing.T, namespace, token string) {
		if strings.ContainsAny(namespace, "/\x00") {
			t.Skip("not a namespace")
		}
		key, rv, err := decodeContinue(namespace, token)
		if err != nil {
			return
		}
		first, _ := bounds(namespace)
		if !strings.HasPrefix(key, first) || rv == 0 || strings.Contains("/"+key+"/", "/../") {
			t.Fatalf("%q leads to %q@%d", token, key, rv)
		}
		again, rv2, err := decodeContinue(namespace, encodeContinue(namespace, key, rv))
		if again != key || rv2 != rv || err != nil {
			t.Fatalf("%q@%d comes back as %q@%d, %v", key, rv, again, rv2, err)
		}
	})
}
