package scenario

import (
	"sync/atomic"

	"github.com/gocql/gocql"
)

// The differences of gocql 1 from gocql 2: no protocol 5, no LZ4 in its module, no vectors.

var versions = []int{3, 4}

var compressors = map[string]gocql.Compressor{"none": nil, "snappy": gocql.SnappyCompressor{}}

const hasVectors = false

func newBatch(session *gocql.Session, kind gocql.BatchType) *gocql.Batch {
	return session.NewBatch(kind)
}

func executeBatch(session *gocql.Session, batch *gocql.Batch) error {
	return session.ExecuteBatch(batch)
}

// Lists the only host again and again, so that a speculative execution has somewhere to go, and counts.
type sameHost struct {
	gocql.HostSelectionPolicy
	picked atomic.Int32
}

func (p *sameHost) Pick(query gocql.ExecutableQuery) gocql.NextHost {
	next := p.HostSelectionPolicy.Pick(query)
	host := next()
	return func() gocql.SelectedHost {
		p.picked.Add(1)
		return host
	}
}
