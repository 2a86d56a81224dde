package scenario;

import static org.junit.jupiter.api.Assertions.*;

import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.cql.PreparedStatement;
import com.datastax.oss.driver.api.core.cql.Row;
import com.datastax.oss.driver.api.core.data.CqlDuration;
import com.datastax.oss.driver.api.core.data.CqlVector;
import com.datastax.oss.driver.api.core.data.TupleValue;
import com.datastax.oss.driver.api.core.data.UdtValue;
import com.datastax.oss.driver.api.core.metadata.schema.TableMetadata;
import com.datastax.oss.driver.api.core.type.TupleType;
import com.datastax.oss.driver.api.core.type.UserDefinedType;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalTime;
import java.util.*;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Item 3: every type there and back. */
class TypesTest {
  @BeforeAll
  static void createSchema() throws Exception {
    Node.createSchema();
  }

  @AfterAll
  static void dropSchema() {
    Node.dropSchema();
  }

  private static Map<String, List<Object>> values(TableMetadata kinds) throws Exception {
    Map<String, List<Object>> values = new LinkedHashMap<>();
    values.put("ascii_", List.of("", "plain"));
    values.put("bigint_", List.of(0L, Long.MIN_VALUE, Long.MAX_VALUE));
    values.put("blob_", List.of(ByteBuffer.allocate(0), ByteBuffer.wrap(new byte[] {0, -1})));
    values.put("boolean_", List.of(true, false));
    values.put("date_", List.of(LocalDate.EPOCH, LocalDate.ofEpochDay(Integer.MIN_VALUE), LocalDate.ofEpochDay(Integer.MAX_VALUE)));
    values.put("decimal_", List.of(BigDecimal.ZERO, new BigDecimal("-1.50"), new BigDecimal("1E-2000"), new BigDecimal("123456789012345678901234567890.123")));
    values.put("double_", List.of(0.0, -1.5e300, Double.MIN_VALUE, Double.MAX_VALUE, Double.NaN, Double.NEGATIVE_INFINITY));
    values.put("duration_", List.of(CqlDuration.newInstance(0, 0, 0), CqlDuration.newInstance(-1, -2, -3),
        CqlDuration.newInstance(Integer.MAX_VALUE, Integer.MAX_VALUE, Long.MAX_VALUE)));
    values.put("float_", List.of(0.5f, Float.MIN_VALUE, Float.MAX_VALUE, Float.NaN, Float.POSITIVE_INFINITY));
    values.put("inet_", List.of(InetAddress.getByName("0.0.0.0"), InetAddress.getByName("255.255.255.255"), InetAddress.getByName("::1")));
    values.put("int_", List.of(0, Integer.MIN_VALUE, Integer.MAX_VALUE));
    values.put("smallint_", List.of(Short.MIN_VALUE, Short.MAX_VALUE));
    values.put("text_", List.of("", "grüße, 世界 \ud83d\ude00", "\0", "x".repeat(100000)));
    values.put("time_", List.of(LocalTime.MIN, LocalTime.MAX));
    values.put("timestamp_", List.of(Instant.EPOCH, Instant.ofEpochMilli(Long.MIN_VALUE), Instant.ofEpochMilli(Long.MAX_VALUE)));
    values.put("timeuuid_", List.of(UUID.fromString("d2177dd0-eaa2-11de-a572-001b779c76e3")));
    values.put("tinyint_", List.of(Byte.MIN_VALUE, Byte.MAX_VALUE));
    values.put("uuid_", List.of(new UUID(0, 0), new UUID(-1, -1)));
    values.put("varchar_", List.of("", "another name of text"));
    values.put("varint_", List.of(BigInteger.ZERO, BigInteger.valueOf(-129), BigInteger.TWO.pow(200), BigInteger.TWO.pow(4000).negate()));
    values.put("list_", List.of(List.of(1, 2, 1), Collections.nCopies(10000, 7)));
    values.put("set_", List.of(Set.of("a", "b", "")));
    values.put("map_", List.of(Map.of("a", Long.MIN_VALUE, "", 1L)));
    values.put("nested_", List.of(Map.of(1, List.of(Set.of("x", "y"), Set.of()), 2, List.of())));
    TupleType tuple = (TupleType) kinds.getColumn("tuple_").orElseThrow().getType();
    values.put("tuple_", List.of(tuple.newValue(1, "a", List.of(0.5)), tuple.newValue(null, "b", List.of()), tuple.newValue(null, null, null)));
    for (String column : List.of("udt_", "frozen_")) {
      UserDefinedType address = (UserDefinedType) kinds.getColumn(column).orElseThrow().getType();
      UserDefinedType street = (UserDefinedType) address.getFieldTypes().get(0);
      TupleType place = (TupleType) address.getFieldTypes().get(2);
      UdtValue whole = address.newValue(street.newValue("Elm", 5), Set.of("a", ""), place.newValue(1.5, null));
      values.put(column, List.of(whole, address.newValue(street.newValue(null, 5), null, null), address.newValue(null, Set.of("only"), null)));
    }
    values.put("vector_", List.of(CqlVector.newInstance(1.5f, -2f, 0.25f)));
    return values;
  }

  @ParameterizedTest
  @ValueSource(strings = {"V3", "V4", "V5"})
  void types(String version) throws Exception {
    try (CqlSession session = Node.connect(version)) {
      session.execute("TRUNCATE kinds");
      TableMetadata kinds = session.getMetadata().getKeyspace("scenario").orElseThrow().getTable("kinds").orElseThrow();
      Map<String, List<Object>> values = values(kinds);
      assertEquals(kinds.getColumns().size() - 1, values.size());
      // Protocol 3 has no number for these: they travel as custom types, which the driver does not read.
      if (version.equals("V3")) values.keySet().removeAll(Set.of("date_", "duration_", "smallint_", "time_", "tinyint_"));
      for (var column : values.entrySet()) {
        PreparedStatement insert = session.prepare("INSERT INTO kinds (id, " + column.getKey() + ") VALUES (?, ?)");
        PreparedStatement select = session.prepare("SELECT * FROM kinds WHERE id = ?");
        for (Object value : column.getValue()) {
          session.execute(insert.bind(1, value));
          Object back = session.execute(select.bind(1)).one().getObject(column.getKey());
          if (value instanceof TupleValue || value instanceof UdtValue) {
            assertEquals(value.toString(), String.valueOf(back), column.getKey());
          } else {
            assertEquals(value, back, column.getKey());
          }
        }
        session.execute(insert.bind(1, null));
      }
      Row empty = session.execute("SELECT * FROM kinds WHERE id = 1").one();
      for (String column : values.keySet()) assertTrue(empty.isNull(column), column);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"bigint", "boolean", "decimal", "double", "float", "inet", "int", "timestamp", "timeuuid", "uuid", "varint"})
  void typesHaveEmptyValues(String type) {
    try (CqlSession session = Node.connect("V5")) {
      session.execute("INSERT INTO kinds (id, %1$s_) VALUES (2, blob_as_%1$s(0x))".formatted(type));
      Row row = session.execute("SELECT %1$s_, %1$s_as_blob(%1$s_) AS b FROM kinds WHERE id = 2".formatted(type)).one();
      assertEquals(0, row.getByteBuffer("b").remaining());
      assertEquals(0, row.getBytesUnsafe(0).remaining());
    }
  }
}
