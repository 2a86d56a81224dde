package scenario

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"
)

var host = os.Getenv("SCENARIO_HOST")
var nodes = strings.Split(os.Getenv("SCENARIO_NODES"), ",")
var replicas = os.Getenv("SCENARIO_REPLICAS")

// Has the node stopped, killed, started or restarted; "secured": the address of one with passwords.
func control(t *testing.T, command string) string {
	t.Helper()
	address := os.Getenv("SCENARIO_CONTROL")
	if address == "" {
		t.Skip("this node cannot be restarted")
	}
	connection, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	fmt.Fprintln(connection, command)
	answer, err := bufio.NewReader(connection).ReadString('\n')
	if err != nil || !strings.HasPrefix(answer, "ok") {
		t.Fatal(answer, err)
	}
	return strings.TrimSpace(strings.TrimPrefix(answer, "ok"))
}

func config(version int) *gocql.ClusterConfig {
	cluster := gocql.NewCluster(host)
	cluster.ProtoVersion = version
	cluster.Keyspace = "scenario"
	cluster.Consistency = gocql.One
	if replicas != "1" {
		cluster.Consistency = gocql.Quorum
	}
	cluster.Timeout = 30 * time.Second
	cluster.ConnectTimeout = 20 * time.Second
	cluster.MaxWaitSchemaAgreement = 30 * time.Second
	cluster.ReconnectInterval = 200 * time.Millisecond
	cluster.ReconnectionPolicy = &gocql.ConstantReconnectionPolicy{MaxRetries: 3, Interval: 100 * time.Millisecond}
	return cluster
}

func open(t *testing.T, cluster *gocql.ClusterConfig) *gocql.Session {
	t.Helper()
	session, err := cluster.CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	return session
}

func connect(t *testing.T, version int) *gocql.Session {
	t.Helper()
	return open(t, config(version))
}

func execute(t *testing.T, session *gocql.Session, statement string, values ...interface{}) {
	t.Helper()
	if err := session.Query(statement, values...).Exec(); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func equal(t *testing.T, got, want interface{}) {
	t.Helper()
	if g, w := fmt.Sprintf("%#v", got), fmt.Sprintf("%#v", want); g != w {
		t.Fatalf("got %.1000s, want %.1000s", g, w)
	}
}

func eventually(t *testing.T, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !condition(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it did not come about")
		}
	}
}

func eachVersion(t *testing.T, test func(t *testing.T, session *gocql.Session, version int)) {
	for _, version := range versions {
		t.Run(fmt.Sprintf("v%d", version), func(t *testing.T) { test(t, connect(t, version), version) })
	}
}

func TestMain(m *testing.M) {
	cluster := config(versions[len(versions)-1])
	cluster.Keyspace = ""
	session, err := cluster.CreateSession()
	if err != nil {
		panic(err)
	}
	text, err := os.ReadFile(os.Getenv("SCENARIO_SCHEMA"))
	if err != nil {
		panic(err)
	}
	statements := strings.Split(regexp.MustCompile("--.*").ReplaceAllString(string(text), ""), ";\n")
	for _, statement := range append([]string{"DROP KEYSPACE IF EXISTS scenario"}, statements...) {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		if err := session.Query(statement).Exec(); err != nil {
			panic(err)
		}
	}
	code := m.Run()
	if os.Getenv("SCENARIO_CONTROL") == "" {
		session.Query("DROP KEYSPACE scenario").Exec()
	}
	os.Exit(code)
}
