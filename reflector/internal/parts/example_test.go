package parts

import (
	"fmt"
	"unsafe"
)

func Example() {
	const upper = 1 // the kind of parts that are decoded to a string in capitals
	table := New(1 << 20)
	decode := func(raw []byte) string {
		part, key := table.Find(upper, raw)
		if part == nil {
			fmt.Printf("decodes %s\n", raw)
			value := fmt.Sprintf("%X", raw)
			part = &Part{Raw: string(raw), Value: unsafe.Pointer(&value), Size: len(raw) + len(value)}
			if table.Again(key) { // what comes once is not worth it
				table.Add(key, part)
			}
		}
		return *(*string)(part.Value)
	}
	for range 4 {
		decode([]byte("a"))
	}
	// Output:
	// decodes a
	// decodes a
}
