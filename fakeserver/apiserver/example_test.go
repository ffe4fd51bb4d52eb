package apiserver_test

import (
	"fmt"
	"net/http/httptest"
	"strings"

	"github.com/listwatch/listwatch/fakeserver/apiserver"
	"github.com/listwatch/listwatch/fakeserver/storage"
)

func Example() {
	store := storage.NewMemory()
	defer store.Close()
	server, err := apiserver.New(apiserver.Options{Store: store})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()

	// A Server is an http.Handler: package fakeserver adds connections.
	send := func(method, path, accept, body string) string {
		request := httptest.NewRequest(method, path, strings.NewReader(body))
		request.Header.Set("Accept", accept)
		request.Header.Set("Content-Type", "application/json")
		answer := httptest.NewRecorder()
		server.ServeHTTP(answer, request)
		return fmt.Sprint(answer.Code, "\n", answer.Body)
	}
	const maps = "/api/v1/namespaces/default/configmaps"
	made := send("POST", maps, "application/json", `{"metadata":{"name":"greeting"},"data":{"to":"world"}}`)
	fmt.Println(made[:3])
	fmt.Print(send("GET", maps+"?limit=1", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", "")[:3], "\n")
	fmt.Print(send("GET", maps+"/missing", "application/yaml", ""))

	// Output:
	// 201
	// 200
	// 404
	// apiVersion: v1
	// code: 404
	// details:
	//   kind: configmaps
	//   name: missing
	// kind: Status
	// message: configmaps "missing" not found
	// metadata: {}
	// reason: NotFound
	// status: Failure
}
