package cacher

import (
	"fmt"
	"hash/fnv"
	"math"
	"strconv"
	"strings"
)

// What a shard selector can hash.
const (
	shardByUID       = "object.metadata.uid"
	shardByNamespace = "object.metadata.namespace"
)

// hashSpaceEnd is the exclusive upper bound of all hashes as a selector writes it.
const hashSpaceEnd = "0x10000000000000000"

// Shard is the part of a collection whose objects have the hash of a field
// (FNV-1a, 64 bits) in one of some ranges. It is immutable. Make it with
// ParseShard.
type Shard struct {
	field  string
	ranges []shardRange
}

// shardRange holds the hashes from first to last, both included.
type shardRange struct{ first, last uint64 }

// shardHashes are an object's hashes, zero unless Options.Sharding is set.
type shardHashes struct{ uid, namespace uint64 }

// hashesOf hashes what shards go by.
func hashesOf(uid, namespace string) shardHashes {
	return shardHashes{uid: shardHash(uid), namespace: shardHash(namespace)}
}

// shardHash is the hash of one field.
func shardHash(text string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(text))
	return h.Sum64()
}

// matches says whether the item is in the shard.
func (s *Shard) matches(item *Item) bool {
	hash := item.hashes.uid
	if s.field == shardByNamespace {
		hash = item.hashes.namespace
	}
	for _, r := range s.ranges {
		if r.first <= hash && hash <= r.last {
			return true
		}
	}
	return false
}

// String is the selector in the form that kube-apiserver shows to clients.
func (s *Shard) String() string {
	var b strings.Builder
	for i, r := range s.ranges {
		if i > 0 {
			b.WriteString(" || ")
		}
		end := hashSpaceEnd
		if r.last != math.MaxUint64 {
			end = fmt.Sprintf("0x%016x", r.last+1)
		}
		fmt.Fprintf(&b, "shardRange(%s, '0x%016x', '%s')", s.field, r.first, end)
	}
	return b.String()
}

// ParseShard reads a shard selector: one or more of
//
//	shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')
//
// joined by "||", over the same field, which may be object.metadata.namespace
// instead. The bounds, of which the second is exclusive, have 16 digits, or are
// 0x10000000000000000. kube-apiserver parses it as CEL; of that, parentheses
// and double quotes are understood here, but not escapes, comments, and the
// other kinds of string literals. Errors: ErrShardSelector.
func ParseShard(text string) (*Shard, error) {
	p := shardParser{rest: text}
	shard, err := p.selector()
	if err != nil {
		return nil, fmt.Errorf("cacher: %w: %w", ErrShardSelector, err)
	}
	return shard, nil
}

// shardParser reads a selector from left to right.
type shardParser struct {
	rest string
	open int // parentheses around expressions
}

// selector reads the whole.
func (p *shardParser) selector() (*Shard, error) {
	shard := &Shard{}
	for {
		for p.accept("(") {
			p.open++
		}
		if err := p.term(shard); err != nil {
			return nil, err
		}
		for p.open > 0 && p.accept(")") {
			p.open--
		}
		if p.accept("||") {
			continue
		}
		if p.rest != "" || p.open > 0 {
			return nil, fmt.Errorf("expected || or the end at %q", p.rest)
		}
		return shard, nil
	}
}

// term reads one shardRange() and adds it to the shard.
func (p *shardParser) term(shard *Shard) error {
	if !p.accept("shardRange") || !p.accept("(") {
		return fmt.Errorf("expected shardRange() at %q", p.rest)
	}
	field, err := p.field()
	if err != nil {
		return err
	}
	if shard.field != "" && shard.field != field {
		return fmt.Errorf("all ranges must use the same field, got %q and %q", shard.field, field)
	}
	shard.field = field
	start, end, err := p.bounds()
	if err != nil {
		return err
	}
	if !p.accept(")") {
		return fmt.Errorf("expected ) at %q", p.rest)
	}
	first, err := parseBound(start)
	if err != nil {
		return err
	}
	last := uint64(math.MaxUint64)
	if end != hashSpaceEnd {
		last, err = parseBound(end)
		if err != nil {
			return err
		}
		last-- // if it was 0, the check below is what counts
	}
	if start == hashSpaceEnd || (end != hashSpaceEnd && start >= end) {
		return fmt.Errorf("start %s must be less than end %s", start, end)
	}
	shard.ranges = append(shard.ranges, shardRange{first: first, last: last})
	return nil
}

// field reads the path of a field.
func (p *shardParser) field() (string, error) {
	if !p.accept("object") || !p.accept(".") || !p.accept("metadata") || !p.accept(".") {
		return "", fmt.Errorf("expected %s or %s at %q", shardByUID, shardByNamespace, p.rest)
	}
	switch {
	case p.accept("uid"):
		return shardByUID, nil
	case p.accept("namespace"):
		return shardByNamespace, nil
	default:
		return "", fmt.Errorf("expected %s or %s at %q", shardByUID, shardByNamespace, p.rest)
	}
}

// bounds reads both bounds with the commas before them.
func (p *shardParser) bounds() (start, end string, err error) {
	for _, into := range []*string{&start, &end} {
		if !p.accept(",") {
			return "", "", fmt.Errorf("expected a comma at %q", p.rest)
		}
		quote := "'"
		if !p.accept(quote) {
			quote = `"`
			if !p.accept(quote) {
				return "", "", fmt.Errorf("expected a quoted bound at %q", p.rest)
			}
		}
		text, after, ok := strings.Cut(p.rest, quote)
		if !ok {
			return "", "", fmt.Errorf("no end of the quoted bound at %q", p.rest)
		}
		*into, p.rest = text, strings.TrimLeft(after, shardSpace)
	}
	return start, end, nil
}

// shardSpace may stand between tokens.
const shardSpace = " \t\r\n\f"

// accept takes a token, and the space around it, if it comes next.
func (p *shardParser) accept(token string) bool {
	rest, ok := strings.CutPrefix(strings.TrimLeft(p.rest, shardSpace), token)
	if !ok {
		return false
	}
	if token != "'" && token != `"` { // space in a literal counts
		rest = strings.TrimLeft(rest, shardSpace)
	}
	p.rest = rest
	return true
}

// parseBound reads a bound of 16 digits; that of the end of all hashes is 0.
func parseBound(text string) (uint64, error) {
	if text == hashSpaceEnd {
		return 0, nil
	}
	digits, ok := strings.CutPrefix(text, "0x")
	if !ok || len(digits) != 16 || strings.Trim(digits, "0123456789abcdef") != "" {
		return 0, fmt.Errorf("a bound must be 0x and 16 digits 0-9a-f, or %s, got %q", hashSpaceEnd, text)
	}
	return strconv.ParseUint(digits, 16, 64)
}

// shardMetrics are those of the watchers of shards. The zero value takes none.
type shardMetrics struct {
	open              int
	watches, filtered func(float64)
}

// count counts a watcher that comes (1) or goes (-1).
func (m *shardMetrics) count(w *Watcher, by int) {
	if w.predicate.Shard == nil || m.watches == nil {
		return
	}
	m.open += by
	m.watches(float64(m.open))
}

// hidden counts a change if nothing but its shard keeps it from a watcher.
func (m *shardMetrics) hidden(w *Watcher, change *change) {
	if w.predicate.Shard == nil || m.filtered == nil || change.rv <= w.start {
		return
	}
	whole := w.predicate
	whole.Shard = nil
	if whole.transition(change.prev, change.next) != "" {
		m.filtered(1)
	}
}
