package golden_test

import (
	"context"
	"fmt"

	"github.com/listwatch/listwatch/conformance/golden"
	"github.com/listwatch/listwatch/fakeserver"
)

func Example() {
	scenario, err := golden.Parse([]byte(`{
		"name": "missing", "area": "get", "description": "An object that is not there is not found.",
		"steps": [
			{"method": "GET", "path": "/api/v1/namespaces/missing", "expect": {
				"status": 404, "headers": {"Content-Type": "application/json"},
				"body": {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 404, "reason": "NotFound",
					"message": "namespaces \"missing\" not found", "details": {"name": "missing", "kind": "namespaces"}}}},
			{"method": "GET", "path": "/livez", "expect": {
				"status": 503, "headers": {"Content-Type": "text/plain;charset=utf-8"}, "body": "ok"}}
		]
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	server, err := fakeserver.New(fakeserver.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()

	target := inProcess(server)
	result, err := golden.Run(context.Background(), target, scenario, golden.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, step := range result.Steps {
		fmt.Println(step.Number, step.Title, step.Differences)
	}

	// Output:
	// 1 GET /api/v1/namespaces/missing []
	// 2 GET /livez [status: want 503, got 200]
}
