package objectjson

// plain says whether raw is JSON of nothing but objects within objects, without
// spaces and without characters that encoding/json would write in another way:
// what servers make of managed fields.
func plain(raw []byte) bool {
	depth := 0
	for i := 0; i >= 0 && i < len(raw) && raw[i] == '{'; {
		depth++
		i++
		if i < len(raw) && raw[i] == '"' {
			i = afterName(raw, i)
			continue
		}
		for i < len(raw) && raw[i] == '}' {
			i++
			if depth--; depth == 0 {
				return i == len(raw)
			}
		}
		if i >= len(raw) || raw[i] != ',' {
			return false
		}
		i = afterName(raw, i+1)
	}
	return false
}

// afterName returns where the value of the name at i begins, -1 if that is no
// plain name.
func afterName(raw []byte, i int) int {
	if i >= len(raw) || raw[i] != '"' {
		return -1
	}
	for i++; i < len(raw); i++ {
		switch c := raw[i]; {
		case letters[c]:
		case c == '"':
			if i+1 < len(raw) && raw[i+1] == ':' {
				return i + 2
			}
			return -1
		case c == '\\' && i+1 < len(raw) && (raw[i+1] == '"' || raw[i+1] == '\\'):
			i++
		default:
			return -1
		}
	}
	return -1
}

// letters are the characters that stand for themselves in strings.
var letters = func() (is [256]bool) {
	for c := byte(' '); c < 0x7f; c++ {
		is[c] = c != '"' && c != '\\' && c != '<' && c != '>' && c != '&'
	}
	return is
}()
