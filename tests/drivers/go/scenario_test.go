// The items of SCENARIO.md but types, by their names.
package scenario

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"
)

var newest = versions[len(versions)-1]

func ints(t *testing.T, iter *gocql.Iter) []int {
	t.Helper()
	var out []int
	for value := 0; iter.Scan(&value); {
		out = append(out, value)
	}
	if err := iter.Close(); err != nil {
		t.Fatal(err)
	}
	return out
}

func sorted(values []int) []int {
	sort.Ints(values)
	return values
}

func upTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func TestConnect(t *testing.T) {
	for _, version := range versions {
		for name, compressor := range compressors {
			if version == 5 && name == "snappy" {
				continue
			}
			t.Run(fmt.Sprintf("v%d-%s", version, name), func(t *testing.T) {
				cluster := config(version)
				cluster.Compressor = compressor
				session := open(t, cluster)
				text, back := strings.Repeat("compressible ", 20000)+"\x00\U0001f600", ""
				execute(t, session, "INSERT INTO pairs (k, b) VALUES (?, ?)", 1, text)
				if err := session.Query("SELECT b FROM pairs WHERE k = 1").Scan(&back); err != nil || back != text {
					t.Fatal(err, len(back))
				}
			})
		}
	}
}

func TestConnectAgreesOnAVersion(t *testing.T) {
	session := connect(t, 0)
	var key string
	if err := session.Query("SELECT key FROM system.local").Scan(&key); err != nil || key != "local" {
		t.Fatal(key, err)
	}
}

func TestSchemaMetadata(t *testing.T) {
	keyspace, err := connect(t, newest).KeyspaceMetadata("scenario")
	if err != nil {
		t.Fatal(err)
	}
	equal(t, keyspace.StrategyClass, "org.apache.cassandra.locator.SimpleStrategy")
	equal(t, fmt.Sprintf("%v %v", keyspace.StrategyOptions["replication_factor"], keyspace.DurableWrites), replicas+" true")
	equal(t, fmt.Sprint(keyspace.UserTypes["address"].FieldNames), "[street tags place]")
	events := keyspace.Tables["events"]
	var names []string
	for _, column := range append(events.PartitionKey, events.ClusteringColumns...) {
		names = append(names, fmt.Sprint(column.Name, " ", column.ClusteringOrder))
	}
	equal(t, names, []string{"a none", "b none", "at desc", "seq asc"})
	equal(t, fmt.Sprint(events.Columns["owner"].Kind), "static")
	equal(t, len(keyspace.Tables["kinds"].Columns), 29)
	equal(t, keyspace.Tables["kinds"].Columns["nested_"].Validator, "map<int, frozen<list<frozen<set<text>>>>>")
	equal(t, keyspace.Tables["kinds"].Columns["frozen_"].Validator, "frozen<address>")
	equal(t, keyspace.Tables["counts"].Columns["total"].Validator, "counter")
	session := connect(t, newest)
	indexes := map[string]string{}
	iter := session.Query("SELECT index_name, options FROM system_schema.indexes WHERE keyspace_name = 'scenario'").Iter()
	for name, options := "", map[string]string(nil); iter.Scan(&name, &options); options = nil {
		indexes[name] = options["target"]
	}
	equal(t, indexes, map[string]string{"events_what": "what", "events_seq": "seq", "events_label_names": "keys(labels)",
		"events_labels": "entries(labels)", "events_tags": "values(tags)", "events_path": "full(path)"})
}

func TestValues(t *testing.T) {
	eachVersion(t, func(t *testing.T, session *gocql.Session, version int) {
		execute(t, session, "TRUNCATE pairs")
		execute(t, session, "INSERT INTO pairs (k, a, b) VALUES (?, ?, ?)", 1, 10, "by position")
		execute(t, session, "INSERT INTO pairs (k, a, b) VALUES (:k, :a, :b)", gocql.NamedValue("k", 2), gocql.NamedValue("a", 20),
			gocql.NamedValue("b", "by name"))
		row := func(k int) string {
			var a *int
			var b *string
			if err := session.Query("SELECT a, b FROM pairs WHERE k = ?", k).Scan(&a, &b); err != nil {
				t.Fatal(err)
			}
			text := func(v interface{}) string {
				if value := reflect.ValueOf(v); !value.IsNil() {
					return fmt.Sprint(value.Elem())
				}
				return "null"
			}
			return text(a) + " " + text(b)
		}
		equal(t, row(1), "10 by position")
		equal(t, row(2), "20 by name")
		if version > 3 {
			execute(t, session, "INSERT INTO pairs (k, a, b) VALUES (?, ?, ?)", 1, gocql.UnsetValue, nil)
			execute(t, session, "INSERT INTO pairs (k, a, b) VALUES (?, ?, ?)", 2, 21, gocql.UnsetValue)
			equal(t, row(1), "10 null")
			equal(t, row(2), "21 by name")
		}
	})
}

// Runs n requests, 500 at a time.
func concurrently(t *testing.T, n int, request func(i int) error) {
	t.Helper()
	var group sync.WaitGroup
	var failed sync.Map
	places := make(chan struct{}, 500)
	for i := 0; i < n; i++ {
		places <- struct{}{}
		group.Add(1)
		go func(i int) {
			defer group.Done()
			if err := request(i); err != nil {
				failed.Store(i, err)
			}
			<-places
		}(i)
	}
	group.Wait()
	failed.Range(func(i, err interface{}) bool {
		t.Fatal(i, err)
		return false
	})
}

func TestPaging(t *testing.T) {
	session := connect(t, newest)
	execute(t, session, "TRUNCATE rows")
	concurrently(t, 10000, func(i int) error { return session.Query("INSERT INTO rows (k, c) VALUES (?, ?)", i%7, i).Exec() })
	first := session.Query("SELECT c FROM rows").PageSize(777).Iter()
	equal(t, first.NumRows(), 777)
	equal(t, sorted(ints(t, first)), upTo(10000))
	var third []int
	for i := 9999; i >= 0; i-- {
		if i%7 == 3 {
			third = append(third, i)
		}
	}
	equal(t, ints(t, session.Query("SELECT c FROM rows WHERE k = 3 ORDER BY c DESC").PageSize(100).Iter()), third)
	equal(t, len(ints(t, session.Query("SELECT c FROM rows LIMIT 1500").PageSize(1000).Iter())), 1500)
	equal(t, ints(t, session.Query("SELECT count(*) FROM rows").Iter()), []int{10000})
}

func onceAgain(t *testing.T, request func() error) {
	t.Helper()
	eventually(t, func() bool { return request() == nil })
}

func TestPagingAcrossARestart(t *testing.T) {
	session := connect(t, newest)
	execute(t, session, "TRUNCATE rows")
	for i := 0; i < 500; i++ {
		execute(t, session, "INSERT INTO rows (k, c) VALUES (?, ?)", i%5, i)
	}
	var seen []int
	for state, page := []byte(nil), 0; page == 0 || len(state) > 0; page++ {
		iter := session.Query("SELECT c FROM rows").PageSize(200).PageState(state).Iter()
		state = append([]byte(nil), iter.PageState()...)
		for c, n := 0, iter.NumRows(); n > 0 && iter.Scan(&c); n-- {
			seen = append(seen, c)
		}
		if page == 0 {
			control(t, "restart")
			onceAgain(t, func() error { return session.Query("SELECT key FROM system.local").Exec() })
		}
	}
	equal(t, sorted(seen), upTo(500))
}

func TestBatches(t *testing.T) {
	session := connect(t, newest)
	for _, kind := range []gocql.BatchType{gocql.LoggedBatch, gocql.UnloggedBatch} {
		execute(t, session, "TRUNCATE rows")
		batch := newBatch(session, kind)
		for i := 0; i < 20; i++ {
			batch.Query("INSERT INTO rows (k, c, v) VALUES (?, ?, ?)", i%4, i, "v")
		}
		batch.Query("DELETE FROM rows WHERE k = 0 AND c = 4")
		if err := executeBatch(session, batch); err != nil {
			t.Fatal(err)
		}
		equal(t, sorted(ints(t, session.Query("SELECT c FROM rows").Iter())), append(upTo(4), upTo(20)[5:]...))
	}
	execute(t, session, "TRUNCATE counts")
	batch := newBatch(session, gocql.CounterBatch)
	for i := 0; i < 6; i++ {
		batch.Query("UPDATE counts SET n = n + ?, total = total + 1 WHERE k = ? AND c = ?", int64(i), 1, i%2)
	}
	if err := executeBatch(session, batch); err != nil {
		t.Fatal(err)
	}
	equal(t, ints(t, session.Query("SELECT n FROM counts").Iter()), []int{6, 9})
	equal(t, ints(t, session.Query("SELECT total FROM counts PER PARTITION LIMIT 1").Iter()), []int{6})
}

func TestConcurrency(t *testing.T) {
	session := connect(t, newest)
	execute(t, session, "TRUNCATE pairs")
	concurrently(t, 5000, func(i int) error { return session.Query("INSERT INTO pairs (k, a) VALUES (?, ?)", i, i*i).Exec() })
	concurrently(t, 5000, func(i int) error {
		var a int
		if err := session.Query("SELECT a FROM pairs WHERE k = ?", i).Scan(&a); err != nil || a != i*i {
			return fmt.Errorf("%d: %w", a, err)
		}
		return nil
	})
}

// The driver registers for events on its control connection, and drops what it knows of a keyspace when one comes.
func TestEvents(t *testing.T) {
	session, other := connect(t, newest), connect(t, newest)
	execute(t, other, "DROP KEYSPACE IF EXISTS scenario_events")
	execute(t, other, "CREATE KEYSPACE scenario_events WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
	table := func() *gocql.TableMetadata {
		if keyspace, err := session.KeyspaceMetadata("scenario_events"); err == nil {
			return keyspace.Tables["t"]
		}
		return nil
	}
	eventually(t, func() bool {
		keyspace, err := session.KeyspaceMetadata("scenario_events")
		return err == nil && keyspace != nil
	})
	execute(t, other, "CREATE TABLE scenario_events.t (k int PRIMARY KEY, v int)")
	eventually(t, func() bool { return table() != nil })
	execute(t, other, "ALTER TABLE scenario_events.t ADD w list<int>")
	eventually(t, func() bool { return table().Columns["w"] != nil })
	execute(t, other, "CREATE TYPE scenario_events.pair (a int, b int)")
	eventually(t, func() bool {
		keyspace, err := session.KeyspaceMetadata("scenario_events")
		return err == nil && keyspace.UserTypes["pair"] != nil
	})
	execute(t, other, "DROP TABLE scenario_events.t")
	eventually(t, func() bool { return table() == nil })
	execute(t, other, "DROP KEYSPACE scenario_events")
	eventually(t, func() bool { _, err := session.KeyspaceMetadata("scenario_events"); return err != nil })
}

// The pool's view of the node's status: it hands out no connection while the node is down. It may look at a lost connection only
// when a query wants one. One connection, since gocql 1 opens the others later, and one that is lost while it is opened stays in the
// pool as if it lived: the node is never seen down then.
func TestEventsOfTheNodesStatus(t *testing.T) {
	var mutex sync.Mutex
	var seen []string
	cluster := config(newest)
	cluster.NumConns = 1
	policy := &statusPolicy{HostSelectionPolicy: gocql.RoundRobinHostPolicy(), saw: func(what string) {
		mutex.Lock()
		defer mutex.Unlock()
		seen = append(seen, what)
	}}
	cluster.PoolConfig.HostSelectionPolicy = policy
	session := open(t, cluster)
	has := func(what string) bool {
		mutex.Lock()
		defer mutex.Unlock()
		return strings.Contains(strings.Join(seen, " "), what)
	}
	control(t, "stop")
	eventually(t, func() bool {
		failed := session.Query("SELECT k FROM pairs WHERE k = 1").Exec() != nil
		return failed == (len(nodes) == 1) && has("down") // with others in its cluster, one of them answers
	})
	control(t, "start")
	eventually(t, func() bool { return has("down up") })
}

type statusPolicy struct {
	gocql.HostSelectionPolicy
	saw func(string)
}

func (p *statusPolicy) HostUp(host *gocql.HostInfo) {
	p.saw("up")
	p.HostSelectionPolicy.HostUp(host)
}

func (p *statusPolicy) HostDown(host *gocql.HostInfo) {
	p.saw("down")
	p.HostSelectionPolicy.HostDown(host)
}

func code(t *testing.T, err error) int {
	t.Helper()
	var request gocql.RequestError
	if !errors.As(err, &request) {
		t.Fatalf("%T %v", err, err)
	}
	return request.Code()
}

func TestErrors(t *testing.T) {
	session := connect(t, newest)
	execute(t, session, "INSERT INTO pairs (k) VALUES (1)")
	for statement, want := range map[string]int{
		"SELEC 1": gocql.ErrCodeSyntax, "SELECT nothing FROM pairs": gocql.ErrCodeInvalid,
		"CREATE KEYSPACE wrong WITH replication = {'class': 'NoSuchStrategy'}": gocql.ErrCodeConfig,
		"GRANT SELECT ON ALL KEYSPACES TO nobody":                              gocql.ErrCodeUnauthorized,
		"SELECT k / 0 FROM pairs WHERE k = 1":                                  gocql.ErrCodeFunctionFailure,
	} {
		if got := code(t, session.Query(statement).Exec()); got != want {
			t.Errorf("%s: %x, not %x", statement, got, want)
		}
	}
	var exists *gocql.RequestErrAlreadyExists
	if err := session.Query("CREATE TABLE pairs (k int PRIMARY KEY)").Exec(); !errors.As(err, &exists) || exists.Keyspace != "scenario" || exists.Table != "pairs" {
		t.Error(err)
	}
	if replicas != "1" {
		return // all replicas are there
	}
	for _, statement := range []string{"INSERT INTO pairs (k, a) VALUES (1, 1)", "SELECT * FROM pairs"} {
		var unavailable *gocql.RequestErrUnavailable
		err := session.Query(statement).Consistency(gocql.Three).Exec()
		if !errors.As(err, &unavailable) || unavailable.Consistency != gocql.Three || unavailable.Required != 3 || unavailable.Alive != 1 {
			t.Error(err)
		}
	}
}

func TestErrorsOfReads(t *testing.T) {
	if replicas != "1" {
		t.Skip("the errors of a keyspace with one replica")
	}
	session := connect(t, newest)
	for i := 0; i < 2; i++ {
		keys := make([]int, 60000)
		for j := range keys {
			keys[j] = i*60000 + j
		}
		execute(t, session, "UPDATE sparse SET m = m - ? WHERE k = 1", keys)
	}
	var failure *gocql.RequestErrReadFailure
	err := session.Query("SELECT m FROM sparse WHERE k = 1").Consistency(gocql.LocalQuorum).Exec()
	execute(t, session, "TRUNCATE sparse")
	if !errors.As(err, &failure) {
		t.Fatal(err)
	}
	equal(t, fmt.Sprint(failure.Consistency, failure.BlockFor, failure.Received), fmt.Sprint(gocql.LocalQuorum, 1, 0))
	if newest >= 5 {
		equal(t, fmt.Sprint(failure.ErrorMap), fmt.Sprintf("map[%s:1]", host))
	} else {
		equal(t, failure.NumFailures, 1)
	}
}

func TestErrorsOfVersions(t *testing.T) {
	if _, err := config(2).CreateSession(); err == nil {
		t.Fatal("protocol 2 was spoken")
	}
}

func TestPasswords(t *testing.T) {
	cluster := config(newest)
	cluster.Hosts = []string{control(t, "secured")}
	cluster.Keyspace = ""
	as := func(name, password string) (*gocql.Session, error) {
		cluster.Authenticator = gocql.PasswordAuthenticator{Username: name, Password: password}
		return cluster.CreateSession()
	}
	admin, err := as("cassandra", "cassandra")
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	execute(t, admin, "CREATE ROLE IF NOT EXISTS reader WITH PASSWORD = 'secret' AND LOGIN = true")
	for _, wrong := range [][]string{{"cassandra", "wrong"}, {"nobody", "cassandra"}} {
		if _, err := as(wrong[0], wrong[1]); err == nil || !strings.Contains(err.Error(), "and/or password are incorrect") {
			t.Error(wrong, err)
		}
	}
	reader, err := as("reader", "secret")
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	equal(t, code(t, reader.Query("CREATE ROLE another WITH SUPERUSER = true").Exec()), gocql.ErrCodeUnauthorized)
	cluster.Authenticator = nil
	if _, err := cluster.CreateSession(); err == nil {
		t.Error("no password was needed")
	}
}

func TestPreparedAfterASchemaChange(t *testing.T) {
	eachVersion(t, func(t *testing.T, session *gocql.Session, version int) {
		execute(t, session, "INSERT INTO changing (k, v) VALUES (1, 2)")
		read := func() map[string]interface{} {
			row := map[string]interface{}{}
			if err := session.Query("SELECT * FROM changing WHERE k = ?", 1).MapScan(row); err != nil {
				t.Fatal(err)
			}
			return row
		}
		equal(t, read()["v"], 2)
		execute(t, session, "ALTER TABLE changing ADD w text")
		execute(t, session, "UPDATE changing SET w = 'new' WHERE k = 1")
		row := read()
		equal(t, row["v"], 2)
		if version >= 5 {
			equal(t, row["w"], "new")
		}
		execute(t, session, "ALTER TABLE changing DROP w")
		equal(t, read()["v"], 2)
	})
}

func TestPreparedAfterARestart(t *testing.T) {
	session := connect(t, newest)
	var a int
	execute(t, session, "INSERT INTO pairs (k, a) VALUES (?, ?)", 77, 2)
	read := func() error { return session.Query("SELECT a FROM pairs WHERE k = ?", 77).Scan(&a) }
	if err := read(); err != nil {
		t.Fatal(err)
	}
	control(t, "restart")
	a = 0
	onceAgain(t, read)
	equal(t, a, 2)
	execute(t, session, "INSERT INTO pairs (k, a) VALUES (?, ?)", 77, 3)
}

func TestReconnection(t *testing.T) {
	session := connect(t, newest)
	execute(t, session, "INSERT INTO pairs (k, a) VALUES (7, 8)")
	control(t, "kill")
	err := session.Query("SELECT a FROM pairs WHERE k = 7").Exec()
	control(t, "start")
	if err == nil {
		t.Error("a dead node answered")
	}
	var a int
	onceAgain(t, func() error { return session.Query("SELECT a FROM pairs WHERE k = 7").Scan(&a) })
	equal(t, a, 8)
}

func TestSpeculativeExecution(t *testing.T) {
	writer := connect(t, newest)
	execute(t, writer, "TRUNCATE pairs")
	for k := 0; k < 100; k++ {
		execute(t, writer, "INSERT INTO pairs (k, b) VALUES (?, ?)", k, strings.Repeat("x", 50000))
	}
	cluster := config(newest)
	policy := &sameHost{HostSelectionPolicy: gocql.RoundRobinHostPolicy()}
	cluster.PoolConfig.HostSelectionPolicy = policy
	session := open(t, cluster)
	before := policy.picked.Load()
	query := session.Query("SELECT k, b FROM pairs").Idempotent(true).
		SetSpeculativeExecutionPolicy(&gocql.SimpleSpeculativeExecution{NumAttempts: 2, TimeoutDelay: time.Millisecond})
	var seen []int
	iter := query.Iter()
	for k, b := 0, ""; iter.Scan(&k, &b); {
		seen = append(seen, k)
	}
	if err := iter.Close(); err != nil {
		t.Fatal(err)
	}
	equal(t, sorted(seen), upTo(100))
	if policy.picked.Load()-before < 2 {
		t.Fatal("it was sent once")
	}
}

func TestTracing(t *testing.T) {
	session := connect(t, newest)
	var text bytes.Buffer
	tracer := gocql.NewTraceWriter(session, io.Writer(&text))
	if err := session.Query("INSERT INTO pairs (k, a) VALUES (?, ?)", 1, 1).Trace(tracer).WithContext(context.Background()).Exec(); err != nil {
		t.Fatal(err)
	}
	coordinated := false
	for _, node := range nodes {
		coordinated = coordinated || strings.Contains(text.String(), "coordinator: "+node)
	}
	if !coordinated || strings.Count(text.String(), "\n") < 3 {
		t.Fatal(text.String())
	}
}

func TestLargeRows(t *testing.T) {
	eachVersion(t, func(t *testing.T, session *gocql.Session, version int) {
		execute(t, session, "TRUNCATE large")
		value, back := bytes.Repeat([]byte{1, 2, 3, 250}, 4<<20), []byte(nil)
		execute(t, session, "INSERT INTO large (k, v) VALUES (?, ?)", 1, value[1000:])
		if err := session.Query("SELECT v FROM large WHERE k = 1").Scan(&back); err != nil || !bytes.Equal(back, value[1000:]) {
			t.Fatal(err, len(back))
		}
		for _, beyond := range [][]byte{value, append(value, value...)} {
			err := session.Query("INSERT INTO large (k, v) VALUES (?, ?)", 2, beyond).Exec()
			equal(t, code(t, err), gocql.ErrCodeInvalid)
			equal(t, ints(t, session.Query("SELECT k FROM large").Iter()), []int{1})
		}
		execute(t, session, "TRUNCATE large")
	})
}
