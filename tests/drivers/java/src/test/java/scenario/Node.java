package scenario;

import static com.datastax.oss.driver.api.core.config.DefaultDriverOption.*;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.CqlSessionBuilder;
import com.datastax.oss.driver.api.core.config.DriverConfigLoader;
import com.datastax.oss.driver.api.core.config.ProgrammaticDriverConfigLoaderBuilder;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.function.BooleanSupplier;
import java.util.function.UnaryOperator;

/** The node of the scenario, started and controlled by ../support/with_node.py. */
final class Node {
  static final String HOST = System.getenv("SCENARIO_HOST");
  static final String REPLICAS = System.getenv("SCENARIO_REPLICAS");

  /** Has it stopped, killed, started or restarted; "secured": the address of one with passwords. */
  static String control(String command) throws Exception {
    String address = System.getenv("SCENARIO_CONTROL");
    assumeTrue(address != null, "this node cannot be restarted");
    String[] parts = address.split(":");
    try (Socket socket = new Socket(parts[0], Integer.parseInt(parts[1]))) {
      socket.getOutputStream().write((command + "\n").getBytes());
      String answer = new BufferedReader(new InputStreamReader(socket.getInputStream())).readLine();
      assertTrue(answer.startsWith("ok"), answer);
      return answer.substring(2).trim();
    }
  }

  static CqlSessionBuilder builder(String host, UnaryOperator<ProgrammaticDriverConfigLoaderBuilder> options) {
    ProgrammaticDriverConfigLoaderBuilder config = DriverConfigLoader.programmaticBuilder()
        .withString(REQUEST_CONSISTENCY, REPLICAS.equals("1") ? "LOCAL_ONE" : "QUORUM")
        .withDuration(REQUEST_TIMEOUT, Duration.ofSeconds(30))
        .withDuration(CONNECTION_INIT_QUERY_TIMEOUT, Duration.ofSeconds(20))
        .withDuration(CONTROL_CONNECTION_TIMEOUT, Duration.ofSeconds(20))
        .withDuration(METADATA_SCHEMA_REQUEST_TIMEOUT, Duration.ofSeconds(30))
        .withDuration(METADATA_SCHEMA_WINDOW, Duration.ofMillis(10))
        .withDuration(NETTY_IO_SHUTDOWN_TIMEOUT, Duration.ofSeconds(2))
        .withInt(NETTY_IO_SHUTDOWN_QUIET_PERIOD, 0).withInt(NETTY_ADMIN_SHUTDOWN_QUIET_PERIOD, 0)
        .withDuration(RECONNECTION_BASE_DELAY, Duration.ofMillis(100))
        .withDuration(RECONNECTION_MAX_DELAY, Duration.ofMillis(500));
    return CqlSession.builder().addContactPoint(new InetSocketAddress(host, 9042)).withLocalDatacenter("datacenter1")
        .withConfigLoader(options.apply(config).build());
  }

  static CqlSession connect(String version) {
    return builder(HOST, options -> options.withString(PROTOCOL_VERSION, version)).withKeyspace("scenario").build();
  }

  static void createSchema() throws Exception {
    try (CqlSession session = builder(HOST, options -> options).build()) {
      session.execute("DROP KEYSPACE IF EXISTS scenario");
      String text = Files.readString(Path.of(System.getenv("SCENARIO_SCHEMA"))).replaceAll("--.*", "");
      for (String statement : text.split(";\n")) if (!statement.isBlank()) session.execute(statement);
    }
  }

  static void dropSchema() {
    try (CqlSession session = builder(HOST, options -> options).build()) {
      session.execute("DROP KEYSPACE IF EXISTS scenario");
    }
  }

  static void eventually(BooleanSupplier condition) throws InterruptedException {
    long deadline = System.nanoTime() + Duration.ofSeconds(30).toNanos();
    while (!condition.getAsBoolean()) {
      assertTrue(System.nanoTime() < deadline, "it did not come about");
      Thread.sleep(20);
    }
  }

  private Node() {}
}
