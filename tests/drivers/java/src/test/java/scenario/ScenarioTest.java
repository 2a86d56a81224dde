package scenario;

import static com.datastax.oss.driver.api.core.config.DefaultDriverOption.*;
import static org.junit.jupiter.api.Assertions.*;
import static org.junit.jupiter.api.Assumptions.assumeTrue;
import static scenario.Node.HOST;
import static scenario.Node.control;
import static scenario.Node.eventually;

import com.datastax.oss.driver.api.core.AllNodesFailedException;
import com.datastax.oss.driver.api.core.ConsistencyLevel;
import com.datastax.oss.driver.api.core.CqlIdentifier;
import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.DefaultConsistencyLevel;
import com.datastax.oss.driver.api.core.ProtocolVersion;
import com.datastax.oss.driver.api.core.UnsupportedProtocolVersionException;
import com.datastax.oss.driver.api.core.auth.AuthenticationException;
import com.datastax.oss.driver.api.core.context.DriverContext;
import com.datastax.oss.driver.api.core.cql.*;
import com.datastax.oss.driver.api.core.metadata.NodeStateListenerBase;
import com.datastax.oss.driver.api.core.metadata.schema.ClusteringOrder;
import com.datastax.oss.driver.api.core.metadata.schema.IndexMetadata;
import com.datastax.oss.driver.api.core.metadata.schema.KeyspaceMetadata;
import com.datastax.oss.driver.api.core.metadata.schema.SchemaChangeListenerBase;
import com.datastax.oss.driver.api.core.metadata.schema.TableMetadata;
import com.datastax.oss.driver.api.core.servererrors.*;
import com.datastax.oss.driver.api.core.session.Request;
import com.datastax.oss.driver.api.core.session.Session;
import com.datastax.oss.driver.api.core.type.UserDefinedType;
import com.datastax.oss.driver.internal.core.loadbalancing.DefaultLoadBalancingPolicy;
import com.datastax.oss.driver.internal.core.specex.ConstantSpeculativeExecutionPolicy;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Semaphore;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The items of SCENARIO.md but types, by their names. */
class ScenarioTest {
  private static CqlSession session;

  @BeforeAll
  static void connectToTheNode() throws Exception {
    Node.createSchema();
    session = Node.connect("V5");
  }

  @AfterAll
  static void leave() {
    session.close();
    Node.dropSchema();
  }

  private static List<Integer> ints(Iterable<Row> rows, String column) {
    return StreamSupport.stream(rows.spliterator(), false).map(row -> row.getInt(column)).collect(Collectors.toList());
  }

  private static KeyspaceMetadata keyspace() {
    return session.getMetadata().getKeyspace("scenario").orElseThrow();
  }

  @ParameterizedTest
  @CsvSource({"V3, none", "V3, lz4", "V3, snappy", "V4, none", "V4, lz4", "V4, snappy", "V5, none", "V5, lz4"})
  void connect(String version, String compression) {
    String text = "compressible ".repeat(20000) + "\0\ud83d\ude00";
    try (CqlSession connected = Node.builder(HOST, options -> options.withString(PROTOCOL_VERSION, version)
             .withString(PROTOCOL_COMPRESSION, compression)).withKeyspace("scenario").build()) {
      assertEquals(version, connected.getContext().getProtocolVersion().name());
      PreparedStatement insert = connected.prepare("INSERT INTO pairs (k, b) VALUES (?, ?)");
      connected.execute(insert.bind(1, text));
      assertEquals(text, connected.execute("SELECT b FROM pairs WHERE k = 1").one().getString("b"));
    }
  }

  @Test
  void connectAgreesOnTheHighestVersion() {
    try (CqlSession connected = Node.builder(HOST, options -> options).build()) {
      assertEquals(ProtocolVersion.V5, connected.getContext().getProtocolVersion());
    }
  }

  @Test
  void schemaMetadata() {
    assertEquals(Map.of("class", "org.apache.cassandra.locator.SimpleStrategy", "replication_factor", Node.REPLICAS), keyspace().getReplication());
    UserDefinedType address = keyspace().getUserDefinedType("address").orElseThrow();
    assertEquals("[street, tags, place]", address.getFieldNames().toString());
    assertEquals("[UDT(scenario.street), Set(TEXT, frozen), Tuple(DOUBLE, DOUBLE)]", address.getFieldTypes().toString());
    TableMetadata kinds = keyspace().getTable("kinds").orElseThrow();
    assertEquals(29, kinds.getColumns().size());
    assertEquals("map<int, frozen<list<frozen<set<text>>>>>", kinds.getColumn("nested_").orElseThrow().getType().asCql(true, false));
    assertTrue(keyspace().getTable("counts").orElseThrow().getColumn("total").orElseThrow().isStatic());

    TableMetadata events = keyspace().getTable("events").orElseThrow();
    assertEquals(List.of("a", "b"), events.getPartitionKey().stream().map(c -> c.getName().asInternal()).toList());
    assertEquals(List.of("at=DESC", "seq=ASC"), events.getClusteringColumns().entrySet().stream()
        .map(e -> e.getKey().getName().asInternal() + "=" + e.getValue()).toList());
    assertTrue(events.getClusteringColumns().containsValue(ClusteringOrder.DESC));
    Map<CqlIdentifier, Object> options = events.getOptions();
    assertEquals("it's everything", options.get(CqlIdentifier.fromInternal("comment")));
    assertEquals(3600, options.get(CqlIdentifier.fromInternal("gc_grace_seconds")));
    assertEquals(86400, options.get(CqlIdentifier.fromInternal("default_time_to_live")));
    assertEquals(Map.of("keys", "NONE", "rows_per_partition", "10"), options.get(CqlIdentifier.fromInternal("caching")));
    assertEquals(Map.of("events_what", "what", "events_seq", "seq", "events_label_names", "keys(labels)", "events_labels", "entries(labels)",
        "events_tags", "values(tags)", "events_path", "full(path)"), events.getIndexes().values().stream()
        .collect(Collectors.toMap(index -> index.getName().asInternal(), IndexMetadata::getTarget)));
    assertTrue(events.describe(true).contains("CLUSTERING ORDER BY (at DESC, seq ASC)"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"V3", "V4", "V5"})
  void values(String version) {
    try (CqlSession connected = Node.connect(version)) {
      connected.execute("TRUNCATE pairs");
      PreparedStatement insert = connected.prepare("INSERT INTO pairs (k, a, b) VALUES (:k, :a, :b)");
      assertEquals(List.of(0), insert.getPartitionKeyIndices());
      connected.execute(insert.bind(1, 10, "by position"));
      connected.execute(insert.bind().setInt("k", 2).setInt("a", 20).setString("b", "by name"));
      connected.execute(SimpleStatement.newInstance("INSERT INTO pairs (k, a, b) VALUES (?, ?, ?)", 3, 30, "in a simple statement"));
      connected.execute(SimpleStatement.newInstance("INSERT INTO pairs (k, a) VALUES (:k, :a)", Map.of("k", 4, "a", 40)));
      PreparedStatement select = connected.prepare("SELECT a, b FROM pairs WHERE k = ?");
      assertEquals(2, select.getResultSetDefinitions().size());
      for (int k = 1; k <= 4; ++k) assertEquals(k * 10, connected.execute(select.bind(k)).one().getInt("a"));
      assertEquals("by name", connected.execute(select.bind(2)).one().getString("b"));
      if (version.equals("V3")) return;  // it has no UNSET
      connected.execute(insert.bind().setInt("k", 1).setInt("a", 11));
      connected.execute(insert.bind().setInt("k", 2).setToNull("b"));
      Row first = connected.execute(select.bind(1)).one();
      assertEquals("11 by position", first.getInt("a") + " " + first.getString("b"));
      Row row = connected.execute(select.bind(2)).one();
      assertTrue(row.getInt("a") == 20 && row.isNull("b"));
    }
  }

  @Test
  void paging() throws Exception {
    session.execute("TRUNCATE rows");
    PreparedStatement insert = session.prepare("INSERT INTO rows (k, c) VALUES (?, ?)");
    concurrently(IntStream.range(0, 10000).mapToObj(i -> insert.bind(i % 7, i)).toList());
    ResultSet all = session.execute(SimpleStatement.newInstance("SELECT k, c FROM rows").setPageSize(777));
    assertEquals(777, all.getAvailableWithoutFetching());
    assertEquals(IntStream.range(0, 10000).boxed().toList(), ints(all, "c").stream().sorted().toList());
    assertTrue(all.getExecutionInfos().size() >= 13);
    ResultSet downwards = session.execute(SimpleStatement.newInstance("SELECT c FROM rows WHERE k = 3 ORDER BY c DESC").setPageSize(100));
    assertEquals(IntStream.range(0, 10000).filter(i -> i % 7 == 3).boxed().sorted(Comparator.reverseOrder()).toList(), ints(downwards, "c"));
    assertEquals(1500, ints(session.execute(SimpleStatement.newInstance("SELECT c FROM rows LIMIT 1500").setPageSize(1000)), "c").size());
    assertEquals(10000L, session.execute("SELECT count(*) FROM rows").one().getLong(0));
  }

  @Test
  void pagingAcrossARestart() throws Exception {
    session.execute("TRUNCATE rows");
    PreparedStatement insert = session.prepare("INSERT INTO rows (k, c) VALUES (?, ?)");
    for (int i = 0; i < 500; ++i) session.execute(insert.bind(i % 5, i));
    SimpleStatement select = SimpleStatement.newInstance("SELECT c FROM rows").setPageSize(200);
    ResultSet first = session.execute(select);
    PagingState state = first.getExecutionInfo().getSafePagingState();
    List<Integer> seen = new ArrayList<>();
    for (int i = first.getAvailableWithoutFetching(); i > 0; --i) seen.add(first.one().getInt(0));
    control("restart");
    ResultSet rest = onceAgain(select.setPagingState(state));
    seen.addAll(ints(rest, "c"));
    assertEquals(IntStream.range(0, 500).boxed().toList(), seen.stream().sorted().toList());
  }

  @Test
  void batches() {
    PreparedStatement insert = session.prepare("INSERT INTO rows (k, c, v) VALUES (?, ?, ?)");
    for (BatchType type : List.of(DefaultBatchType.LOGGED, DefaultBatchType.UNLOGGED)) {
      session.execute("TRUNCATE rows");
      BatchStatementBuilder batch = BatchStatement.builder(type);
      for (int i = 0; i < 20; ++i) batch.addStatement(insert.bind(i % 4, i, "v" + i));
      batch.addStatement(SimpleStatement.newInstance("DELETE FROM rows WHERE k = 0 AND c = 4"));
      batch.addStatement(SimpleStatement.newInstance("INSERT INTO rows (k, c) VALUES (?, ?)", 9, 99));
      session.execute(batch.build());
      assertEquals(IntStream.concat(IntStream.range(0, 20).filter(i -> i != 4), IntStream.of(99)).boxed().toList(),
          ints(session.execute("SELECT c FROM rows"), "c").stream().sorted().toList());
    }
    session.execute("TRUNCATE counts");
    PreparedStatement add = session.prepare("UPDATE counts SET n = n + ?, total = total + 1 WHERE k = ? AND c = ?");
    BatchStatementBuilder batch = BatchStatement.builder(DefaultBatchType.COUNTER);
    for (int i = 0; i < 6; ++i) batch.addStatement(add.bind((long) i, 1, i % 2));
    session.execute(batch.build());
    assertEquals(List.of("6 6", "9 6"), session.execute("SELECT n, total FROM counts").all().stream()
        .map(row -> row.getLong(0) + " " + row.getLong(1)).toList());
  }

  /** Executes all, 500 at a time; the results are in order. */
  private static List<AsyncResultSet> concurrently(List<? extends Statement<?>> statements) throws Exception {
    Semaphore places = new Semaphore(500);
    var results = new ArrayList<java.util.concurrent.CompletableFuture<AsyncResultSet>>();
    for (Statement<?> statement : statements) {
      places.acquire();
      results.add(session.executeAsync(statement).whenComplete((result, error) -> places.release()).toCompletableFuture());
    }
    List<AsyncResultSet> out = new ArrayList<>();
    for (var result : results) out.add(result.get());
    return out;
  }

  @Test
  void concurrency() throws Exception {
    session.execute("TRUNCATE pairs");
    PreparedStatement insert = session.prepare("INSERT INTO pairs (k, a) VALUES (?, ?)");
    concurrently(IntStream.range(0, 5000).mapToObj(i -> insert.bind(i, i * i)).toList());
    PreparedStatement select = session.prepare("SELECT a FROM pairs WHERE k = ?");
    List<AsyncResultSet> results = concurrently(IntStream.range(0, 5000).mapToObj(i -> select.bind(i)).toList());
    for (int i = 0; i < 5000; ++i) assertEquals(i * i, results.get(i).one().getInt(0));
  }

  @Test
  void events() throws Exception {
    List<String> seen = new CopyOnWriteArrayList<>();
    var listener = new SchemaChangeListenerBase() {
      @Override public void onKeyspaceCreated(KeyspaceMetadata keyspace) { seen.add("keyspace " + keyspace.getName()); }
      @Override public void onKeyspaceDropped(KeyspaceMetadata keyspace) { seen.add("no keyspace " + keyspace.getName()); }
      @Override public void onTableCreated(TableMetadata table) { seen.add("table " + table.getName()); }
      @Override public void onTableUpdated(TableMetadata now, TableMetadata before) { seen.add("columns " + now.getColumns().keySet()); }
      @Override public void onTableDropped(TableMetadata table) { seen.add("no table " + table.getName()); }
      @Override public void onUserDefinedTypeCreated(UserDefinedType type) { seen.add("type " + type.getName()); }
      @Override public void onUserDefinedTypeUpdated(UserDefinedType now, UserDefinedType before) { seen.add("fields " + now.getFieldNames()); }
      @Override public void onUserDefinedTypeDropped(UserDefinedType type) { seen.add("no type " + type.getName()); }
    };
    try (CqlSession listening = Node.builder(HOST, options -> options).withSchemaChangeListener(listener).build()) {
      seen.clear();
      List<String[]> changes = List.of(
          new String[] {"CREATE KEYSPACE scenario_events WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}", "keyspace scenario_events"},
          new String[] {"CREATE TYPE scenario_events.pair (a int, b int)", "type pair"},
          new String[] {"CREATE TABLE scenario_events.t (k int PRIMARY KEY, v int)", "table t"},
          new String[] {"ALTER TYPE scenario_events.pair ADD c text", "fields [a, b, c]"},
          new String[] {"ALTER TABLE scenario_events.t ADD w list<int>", "columns [k, v, w]"},
          new String[] {"DROP TABLE scenario_events.t", "no table t"},
          new String[] {"DROP TYPE scenario_events.pair", "no type pair"},
          new String[] {"DROP KEYSPACE scenario_events", "no keyspace scenario_events"});
      for (String[] change : changes) {
        session.execute(change[0]);
        eventually(() -> seen.contains(change[1]));
      }
    }
  }

  @Test
  void eventsOfTheNodesStatus() throws Exception {
    List<String> seen = new CopyOnWriteArrayList<>();
    var listener = new NodeStateListenerBase() {
      @Override public void onUp(com.datastax.oss.driver.api.core.metadata.Node node) { seen.add("up"); }
      @Override public void onDown(com.datastax.oss.driver.api.core.metadata.Node node) { seen.add("down"); }
    };
    try (CqlSession listening = Node.builder(HOST, options -> options).withNodeStateListener(listener).build()) {
      listening.execute("SELECT key FROM system.local");
      control("stop");
      eventually(() -> seen.contains("down"));
      control("start");
      eventually(() -> seen.indexOf("down") < seen.lastIndexOf("up"));
    }
    onceAgain(SimpleStatement.newInstance("SELECT key FROM system.local"));
  }

  /** What a node answered, not what the driver made of having no other node to ask. */
  private static Throwable answer(CqlSession session, Statement<?> statement) {
    try {
      session.execute(statement);
    } catch (AllNodesFailedException e) {
      return e.getAllErrors().values().iterator().next().get(0);
    } catch (RuntimeException e) {
      return e;
    }
    return fail("it succeeded: " + statement);
  }

  private static <T extends Throwable> T answer(Class<T> type, String query) {
    return assertInstanceOf(type, answer(session, SimpleStatement.newInstance(query)));
  }

  @Test
  void errors() {
    answer(SyntaxError.class, "SELEC 1");
    answer(InvalidQueryException.class, "SELECT nothing FROM pairs");
    assertTrue(answer(AlreadyExistsException.class, "CREATE TABLE pairs (k int PRIMARY KEY)").getMessage().contains("scenario.pairs"));
    answer(AlreadyExistsException.class, "CREATE KEYSPACE scenario WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
    answer(InvalidConfigurationInQueryException.class, "CREATE KEYSPACE wrong WITH replication = {'class': 'NoSuchStrategy'}");
    answer(UnauthorizedException.class, "GRANT SELECT ON ALL KEYSPACES TO nobody");
    session.execute("INSERT INTO pairs (k) VALUES (1)");
    answer(FunctionFailureException.class, "SELECT k / 0 FROM pairs WHERE k = 1");
    if (!Node.REPLICAS.equals("1")) return; // all replicas are there
    for (String query : List.of("INSERT INTO pairs (k, a) VALUES (1, 1)", "SELECT * FROM pairs")) {
      var unavailable = assertInstanceOf(UnavailableException.class,
          answer(session, SimpleStatement.newInstance(query).setConsistencyLevel(DefaultConsistencyLevel.THREE)));
      assertEquals("THREE 3 1", unavailable.getConsistencyLevel() + " " + unavailable.getRequired() + " " + unavailable.getAlive());
    }
  }

  @Test
  void errorsOfReads() throws Exception {
    assumeTrue(Node.REPLICAS.equals("1"), "the errors of a keyspace with one replica");
    PreparedStatement remove = session.prepare("UPDATE sparse SET m = m - ? WHERE k = 1");
    for (int i = 0; i < 2; ++i) {
      session.execute(remove.bind(IntStream.range(i * 60000, (i + 1) * 60000).boxed().collect(Collectors.toSet())));
    }
    ConsistencyLevel level = DefaultConsistencyLevel.LOCAL_QUORUM;
    var failure = assertInstanceOf(ReadFailureException.class,
        answer(session, SimpleStatement.newInstance("SELECT m FROM sparse WHERE k = 1").setConsistencyLevel(level)));
    session.execute("TRUNCATE sparse");
    assertEquals(level, failure.getConsistencyLevel());
    assertEquals("1 0 1", failure.getBlockFor() + " " + failure.getReceived() + " " + failure.getNumFailures());
    assertEquals("{/" + HOST + "=1}", failure.getReasonMap().toString());
  }

  @Test
  void errorsOfVersions() {
    var refused = assertThrows(AllNodesFailedException.class,
        () -> Node.builder(HOST, options -> options.withString(PROTOCOL_VERSION, "DSE_V2")).build());
    assertInstanceOf(UnsupportedProtocolVersionException.class, refused.getAllErrors().values().iterator().next().get(0));
  }

  @Test
  void passwords() throws Exception {
    String host = control("secured");
    try (CqlSession admin = Node.builder(host, options -> options).withAuthCredentials("cassandra", "cassandra").build()) {
      admin.execute("CREATE ROLE reader WITH PASSWORD = 'secret' AND LOGIN = true");
    }
    for (String[] wrong : new String[][] {{"cassandra", "wrong"}, {"nobody", "cassandra"}}) {
      var refused = assertThrows(AllNodesFailedException.class,
          () -> Node.builder(host, options -> options).withAuthCredentials(wrong[0], wrong[1]).build());
      assertInstanceOf(AuthenticationException.class, refused.getAllErrors().values().iterator().next().get(0));
    }
    assertThrows(AllNodesFailedException.class, () -> Node.builder(host, options -> options).build());
    try (CqlSession reader = Node.builder(host, options -> options).withAuthCredentials("reader", "secret").build()) {
      assertInstanceOf(UnauthorizedException.class,
          answer(reader, SimpleStatement.newInstance("CREATE ROLE another WITH SUPERUSER = true")));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"V3", "V4", "V5"})
  void preparedAfterASchemaChange(String version) {
    try (CqlSession connected = Node.connect(version)) {
      connected.execute("INSERT INTO changing (k, v) VALUES (1, 2)");
      PreparedStatement select = connected.prepare("SELECT * FROM changing WHERE k = ?");
      assertEquals(2, connected.execute(select.bind(1)).one().getInt("v"));
      connected.execute("ALTER TABLE changing ADD w text");
      connected.execute("UPDATE changing SET w = 'new' WHERE k = 1");
      Row row = connected.execute(select.bind(1)).one();
      assertEquals(2, row.getInt("v"));
      if (version.equals("V5")) assertEquals("new", row.getString("w"));
      connected.execute("ALTER TABLE changing DROP w");
      assertEquals(2, connected.execute(select.bind(1)).one().getInt("v"));
    }
  }

  private static ResultSet onceAgain(Statement<?> statement) throws InterruptedException {
    ResultSet[] result = {null};
    eventually(() -> {
      try {
        result[0] = session.execute(statement);
        return true;
      } catch (RuntimeException e) {
        return false;
      }
    });
    return result[0];
  }

  @Test
  void preparedAfterARestart() throws Exception {
    PreparedStatement insert = session.prepare("INSERT INTO pairs (k, a) VALUES (?, ?)");
    PreparedStatement select = session.prepare("SELECT a FROM pairs WHERE k = ?");
    session.execute(insert.bind(77, 2));
    control("restart");
    assertEquals(2, onceAgain(select.bind(77)).one().getInt(0));
    session.execute(insert.bind(77, 3));
    assertEquals(3, session.execute(select.bind(77)).one().getInt(0));
  }

  @Test
  void reconnection() throws Exception {
    session.execute("INSERT INTO pairs (k, a) VALUES (7, 8)");
    Statement<?> select = SimpleStatement.newInstance("SELECT a FROM pairs WHERE k = 7");
    control("kill");
    try {
      assertThrows(RuntimeException.class, () -> session.execute(select));
    } finally {
      control("start");
    }
    assertEquals(8, onceAgain(select).one().getInt(0));
  }

  /** Lists the only node three times, so that a speculative execution has somewhere to go. */
  public static class TheNodeThreeTimes extends DefaultLoadBalancingPolicy {
    public TheNodeThreeTimes(DriverContext context, String profile) {
      super(context, profile);
    }

    @Override
    public Queue<com.datastax.oss.driver.api.core.metadata.Node> newQueryPlan(Request request, Session session) {
      var nodes = super.newQueryPlan(request, session);
      var plan = new ConcurrentLinkedQueue<>(nodes);
      plan.addAll(nodes);
      plan.addAll(nodes);
      return plan;
    }
  }

  @Test
  void speculativeExecution() {
    session.execute("TRUNCATE pairs");
    PreparedStatement insert = session.prepare("INSERT INTO pairs (k, b) VALUES (?, ?)");
    for (int k = 0; k < 100; ++k) session.execute(insert.bind(k, "x".repeat(50000)));
    try (CqlSession speculating = Node.builder(HOST, options -> options
             .withClass(LOAD_BALANCING_POLICY_CLASS, TheNodeThreeTimes.class)
             .withClass(SPECULATIVE_EXECUTION_POLICY_CLASS, ConstantSpeculativeExecutionPolicy.class)
             .withDuration(NETTY_TIMER_TICK_DURATION, Duration.ofMillis(1))
             .withInt(SPECULATIVE_EXECUTION_MAX, 3).withDuration(SPECULATIVE_EXECUTION_DELAY, Duration.ofMillis(1)))
             .withKeyspace("scenario").build()) {
      ResultSet rows = speculating.execute(SimpleStatement.newInstance("SELECT k, b FROM pairs").setIdempotent(true));
      assertEquals(IntStream.range(0, 100).boxed().toList(), ints(rows, "k").stream().sorted().toList());
      assertTrue(rows.getExecutionInfo().getSpeculativeExecutionCount() > 0);
    }
  }

  @Test
  void tracing() {
    ResultSet result = session.execute(SimpleStatement.newInstance("INSERT INTO pairs (k, a) VALUES (1, 1)").setTracing(true));
    QueryTrace trace = result.getExecutionInfo().getQueryTrace();
    assertEquals("Execute CQL3 query", trace.getRequestType());
    assertEquals("INSERT INTO pairs (k, a) VALUES (1, 1)", trace.getParameters().get("query"));
    assertTrue(List.of(System.getenv("SCENARIO_NODES").split(",")).contains(trace.getCoordinatorAddress().getAddress().getHostAddress()));
    assertFalse(trace.getEvents().isEmpty());
    result = session.execute(session.prepare("SELECT a FROM pairs WHERE k = ?").bind(1).setTracing(true));
    assertEquals("1", result.getExecutionInfo().getQueryTrace().getParameters().get("bound_var_0_k"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"V3", "V4", "V5"})
  void largeRows(String version) {
    try (CqlSession connected = Node.connect(version)) {
      connected.execute("TRUNCATE large");
      PreparedStatement insert = connected.prepare("INSERT INTO large (k, v) VALUES (?, ?)");
      byte[] value = new byte[(16 << 20) - 1000];
      new Random(1).nextBytes(value);
      connected.execute(insert.bind(1, ByteBuffer.wrap(value)));
      assertEquals(ByteBuffer.wrap(value), connected.execute("SELECT v FROM large WHERE k = 1").one().getByteBuffer("v"));
      for (int size : new int[] {16 << 20, 32 << 20}) {
        assertInstanceOf(InvalidQueryException.class, answer(connected, insert.bind(2, ByteBuffer.allocate(size))));
        assertEquals(List.of(1), ints(connected.execute("SELECT k FROM large"), "k"));
      }
      connected.execute("TRUNCATE large");
    }
  }
}
