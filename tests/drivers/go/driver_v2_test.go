package scenario

import (
	"sync/atomic"

	"github.com/apache/cassandra-gocql-driver/v2"
	"github.com/apache/cassandra-gocql-driver/v2/lz4"
	"github.com/apache/cassandra-gocql-driver/v2/snappy"
)

// The differences of gocql 2 from gocql 1.

var versions = []int{3, 4, 5}

var compressors = map[string]gocql.Compressor{"none": nil, "lz4": lz4.LZ4Compressor{}, "snappy": snappy.SnappyCompressor{}}

const hasVectors = true

func newBatch(session *gocql.Session, kind gocql.BatchType) *gocql.Batch { return session.Batch(kind) }

func executeBatch(_ *gocql.Session, batch *gocql.Batch) error { return batch.Exec() }

// Lists the only host again and again, so that a speculative execution has somewhere to go, and counts.
type sameHost struct {
	gocql.HostSelectionPolicy
	picked atomic.Int32
}

func (p *sameHost) Pick(query gocql.ExecutableStatement) gocql.NextHost {
	next := p.HostSelectionPolicy.Pick(query)
	host := next()
	return func() gocql.SelectedHost {
		p.picked.Add(1)
		return host
	}
}
