// Prints what Cassandra 5.0.9's own classes write for the cases that tests/messaging/wire_oracle_test.cc reads. Most of the
// classes are private to their package, so the program is compiled into it:
//
//   javac -cp '<cassandra jars>/*' -d out WireOracle.java
//   java --add-exports java.base/sun.nio.ch=ALL-UNNAMED --add-exports java.base/jdk.internal.ref=ALL-UNNAMED \
//     -cp 'out:<cassandra jars>/*' org.apache.cassandra.net.WireOracle ../data/wire.txt
//
// One case a line: group, name, then the results, tab-separated; byte strings in hex.
package org.apache.cassandra.net;

import java.io.PrintStream;
import java.lang.reflect.Constructor;
import java.nio.ByteBuffer;
import java.util.*;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import org.apache.cassandra.batchlog.Batch;
import org.apache.cassandra.config.*;
import org.apache.cassandra.db.*;
import org.apache.cassandra.db.context.CounterContext;
import org.apache.cassandra.db.marshal.*;
import org.apache.cassandra.db.partitions.PartitionUpdate;
import org.apache.cassandra.db.rows.*;
import org.apache.cassandra.dht.Murmur3Partitioner;
import org.apache.cassandra.exceptions.RequestFailureReason;
import org.apache.cassandra.hints.Hint;
import org.apache.cassandra.io.IVersionedAsymmetricSerializer;
import org.apache.cassandra.io.util.DataOutputBuffer;
import org.apache.cassandra.locator.InetAddressAndPort;
import org.apache.cassandra.schema.*;
import org.apache.cassandra.tracing.Tracing.TraceType;
import org.apache.cassandra.utils.*;

import static org.apache.cassandra.locator.InetAddressAndPort.Serializer.inetAddressAndPortSerializer;

public class WireOracle
{
    static final long TS = 1700000000000000L;
    static final int[] VERSIONS = { MessagingService.VERSION_40, MessagingService.VERSION_50 };
    static PrintStream out;

    static ByteBuffer text(String s) { return UTF8Type.instance.decompose(s); }
    static String show(ByteBuffer b) { return ByteBufferUtil.bytesToHex(b); }
    static String show(ByteBuf b)
    {
        byte[] bytes = new byte[b.readableBytes()];
        b.readBytes(bytes);
        return show(ByteBuffer.wrap(bytes));
    }

    static void print(String group, Object... results)
    {
        StringJoiner line = new StringJoiner("\t").add(group);
        for (Object r : results) line.add(String.valueOf(r));
        out.println(line);
    }

    // In both versions, which must not differ.
    @SuppressWarnings("unchecked")
    static String bytes(IVersionedAsymmetricSerializer<?, ?> serializer, Object value) throws Exception
    {
        String first = null;
        for (int version : VERSIONS)
        {
            DataOutputBuffer to = new DataOutputBuffer();
            ((IVersionedAsymmetricSerializer<Object, ?>) serializer).serialize(value, to, version);
            String hex = show(to.buffer());
            if (first != null && !first.equals(hex)) throw new AssertionError("versions differ");
            first = hex;
        }
        return first;
    }

    static void verbs()
    {
        Config config = DatabaseDescriptor.getRawConfig();
        config.request_timeout = new DurationSpec.LongMillisecondsBound("10001ms");
        config.write_request_timeout = new DurationSpec.LongMillisecondsBound("2002ms");
        config.read_request_timeout = new DurationSpec.LongMillisecondsBound("5003ms");
        config.range_request_timeout = new DurationSpec.LongMillisecondsBound("10004ms");
        config.counter_write_request_timeout = new DurationSpec.LongMillisecondsBound("5005ms");
        config.truncate_request_timeout = new DurationSpec.LongMillisecondsBound("60006ms");
        config.repair_request_timeout = new DurationSpec.LongMillisecondsBound("120007ms");
        for (Verb v : Verb.VERBS)
        {
            String timeout = "-";
            try { timeout = String.valueOf(v.expiresAfterNanos() / 1000000); }
            catch (IllegalStateException e) { }
            print("verb", v, v.id, v.priority, v.isResponse() ? 1 : 0, v.responseVerb == null ? "-" : v.responseVerb, timeout);
        }
        for (RequestFailureReason r : RequestFailureReason.values()) print("reason", r, r.code);
    }

    static InetAddressAndPort at(String host, int port) throws Exception
    {
        return InetAddressAndPort.getByNameOverrideDefaults(host, port);
    }

    static void endpoints() throws Exception
    {
        for (String host : List.of("127.0.0.1", "10.200.255.0", "::1", "2001:db8::ff00:42:8329"))
            for (int port : new int[]{ 7000, 65535, 1 })
                print("endpoint", host, port, at(host, port), bytes(inetAddressAndPortSerializer, at(host, port)));
    }

    static void handshakes() throws Exception
    {
        for (ConnectionType type : ConnectionType.values())
            for (OutboundConnectionSettings.Framing framing : OutboundConnectionSettings.Framing.values())
                for (int max : VERSIONS)
                {
                    InetAddressAndPort from = type == ConnectionType.LARGE_MESSAGES ? at("::1", 7001) : at("127.0.0.2", 7000);
                    HandshakeProtocol.Initiate m = new HandshakeProtocol.Initiate(new AcceptVersions(12, max), type, framing, from);
                    print("initiate", 12, max, type.id, framing.id, from.getHostAddress(false), from.getPort(), show(m.encode()));
                }
        for (int max : VERSIONS)
            print("accept", 12, max, show(new HandshakeProtocol.Accept(12, max).encode(UnpooledByteBufAllocator.DEFAULT)));
    }

    static String frame(FrameEncoder encoder, boolean selfContained, byte[] content)
    {
        FrameEncoder.Payload payload = encoder.allocator().allocate(selfContained, content.length);
        payload.buffer.put(content);
        payload.finish();
        return show(encoder.encode(selfContained, payload.buffer));
    }

    static byte[] content(String kind, int size)
    {
        byte[] bytes = new byte[size];
        Random random = new Random(size);
        for (int i = 0; i < size; i++) bytes[i] = kind.equals("random") ? (byte) random.nextInt() : (byte) (i / 40);
        return bytes;
    }

    static void frames()
    {
        FrameEncoder[] encoders = { FrameEncoderUnprotected.instance, FrameEncoderLZ4.fastInstance, FrameEncoderCrc.instance };
        for (int id = 0; id < encoders.length; id++)
            for (String kind : List.of("random", "steps"))
                for (int size : new int[]{ 0, 1, 63, 700 })
                    for (boolean selfContained : new boolean[]{ true, false })
                        print("frame", id, selfContained ? 1 : 0, show(ByteBuffer.wrap(content(kind, size))),
                              frame(encoders[id], selfContained, content(kind, size)));
    }

    static final TableMetadata PLAIN, COUNTS;
    static
    {
        DatabaseDescriptor.clientInitialization();
        DatabaseDescriptor.getRawConfig().max_mutation_size = new DataStorageSpec.IntKibibytesBound("16MiB");
        DatabaseDescriptor.setPartitionerUnsafe(Murmur3Partitioner.instance);
        TableMetadata.Builder b = table("plain", "1").addPartitionKeyColumn("k", BytesType.instance);
        for (int i = 0; i < 5; i++) b.addRegularColumn("c" + i, BytesType.instance);
        PLAIN = b.build();
        COUNTS = table("counts", "4").isCounter(true).addPartitionKeyColumn("k1", UTF8Type.instance)
                 .addPartitionKeyColumn("k2", Int32Type.instance)
                 .addRegularColumn("c", CounterColumnType.instance).addRegularColumn("d", CounterColumnType.instance).build();
    }

    static TableMetadata.Builder table(String name, String digit)
    {
        String id = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx".replace("x", digit);
        return TableMetadata.builder("k", name, TableId.fromString(id)).partitioner(Murmur3Partitioner.instance);
    }

    static Mutation mutation(TableMetadata table, ByteBuffer key, String column, ByteBuffer value)
    {
        ColumnMetadata c = table.getColumn(text(column));
        Row.Builder row = BTreeRow.unsortedBuilder();
        row.newRow(Clustering.EMPTY);
        if (!table.isCounter()) row.addPrimaryKeyLivenessInfo(LivenessInfo.create(TS, 1700000000L));
        row.addCell(new BufferCell(c, TS, 0, Cell.NO_DELETION_TIME, value, null));
        PartitionUpdate.Builder update = new PartitionUpdate.Builder(table, table.partitioner.decorateKey(key),
                                                                     RegularAndStaticColumns.of(c), 1);
        update.add(row.build());
        return new Mutation(update.build());
    }

    static Object hintMessage(UUID host, Hint hint) throws Exception
    {
        Class<?> type = Class.forName("org.apache.cassandra.hints.HintMessage");
        Constructor<?> make = type.getDeclaredConstructor(UUID.class, Hint.class);
        make.setAccessible(true);
        return make.newInstance(host, hint);
    }

    static void payloads() throws Exception
    {
        Mutation one = mutation(PLAIN, text("one"), "c0", text("first"));
        Mutation two = mutation(PLAIN, text("two"), "c3", text("second"));
        Mutation counter = mutation(COUNTS, CompositeType.build(ByteBufferAccessor.instance, text("a"), Int32Type.instance.decompose(1)),
                                    "c", CounterContext.instance().createUpdate(5));
        TimeUUID id = TimeUUID.fromString("4a1e9f20-8c53-11ee-b9d1-0242ac120002");
        UUID host = UUID.fromString("a1b2c3d4-0000-4000-8000-00000000000f");
        print("payload", "mutation one", bytes(Mutation.serializer, one));
        print("payload", "mutation two", bytes(Mutation.serializer, two));
        for (ConsistencyLevel level : ConsistencyLevel.values())
            print("counter", level, bytes(Mutation.serializer, counter),
                  bytes(CounterMutation.serializer, new CounterMutation(counter, level)));
        print("payload", "batch", bytes(Batch.serializer, Batch.createLocal(id, TS, List.of(one, two))));
        print("payload", "empty batch", bytes(Batch.serializer, Batch.createLocal(id, TS, List.of())));
        print("payload", "batch id", bytes(TimeUUID.Serializer.instance, id));
        print("payload", "hint", bytes(Verb.HINT_REQ.serializer(), hintMessage(host, Hint.create(one, TS / 1000, 864000))));
        print("payload", "schema", bytes(SchemaMutationsSerializer.instance, List.of(one, two)));
        print("payload", "empty schema", bytes(SchemaMutationsSerializer.instance, List.of()));
        print("payload", "truncate request", bytes(TruncateRequest.serializer, new TruncateRequest("ks", "a_table")));
        print("payload", "truncate response", bytes(TruncateResponse.serializer, new TruncateResponse("ks", "a_table", true)));
        print("payload", "failed truncate response", bytes(TruncateResponse.serializer, new TruncateResponse("", "t", false)));
        for (ConnectionType type : ConnectionType.MESSAGING_TYPES)
            print("ping", type.id, bytes(PingRequest.serializer, PingRequest.get(type)));
        print("payload", "schema version", bytes(UUIDSerializer.serializer, host));
        for (RequestFailureReason r : RequestFailureReason.values())
            print("failure", r, bytes(RequestFailureReason.serializer, r));
    }

    static long millis(long t) { return MonotonicClock.Global.approxTime.translate().fromMillisSinceEpoch(t); }

    static Message.Builder<Object> message(Verb verb, long id, Object payload, long expiresInMillis) throws Exception
    {
        long created = millis(TS / 1000);
        // A builder wants a timeout of the verb that it is made for, and FAILURE_RSP has none.
        return Message.builder(Verb.ECHO_REQ, payload).from(at("127.0.0.1", 7000)).withId(id)
                      .withCreatedAt(created).withExpiresAt(created + expiresInMillis * 1000000).ofVerb(verb);
    }

    static void message(String name, Message.Builder<Object> builder) throws Exception
    {
        Message<Object> m = builder.build();
        for (int version : VERSIONS)
        {
            DataOutputBuffer to = new DataOutputBuffer();
            Message.serializer.serialize(m, to, version);
            if (to.getLength() != m.serializedSize(version)) throw new AssertionError(name);
            int inferred = Message.serializer.inferMessageSize(to.buffer(), 0, to.getLength());
            if (inferred != to.getLength()) throw new AssertionError(name);
            print("message", name, version, m.header.id, m.verb(), (m.header.expiresAtNanos - m.header.createdAtNanos) / 1000000,
                  show(to.buffer()));
        }
    }

    static void messages() throws Exception
    {
        DatabaseDescriptor.getRawConfig().internode_max_message_size = new DataStorageSpec.IntBytesBound("128MiB");
        TimeUUID session = TimeUUID.fromString("4a1e9f20-8c53-11ee-b9d1-0242ac120002");
        Mutation one = mutation(PLAIN, text("one"), "c0", text("first"));
        ForwardingInfo forwards = new ForwardingInfo(List.of(at("127.0.0.3", 7000), at("::1", 7001)), new long[]{ 17, 1000000 });
        Map<String, byte[]> custom = new TreeMap<>(Map.of("key", new byte[]{ 1, 2 }, "other", new byte[0]));
        message("echo", message(Verb.ECHO_REQ, 1, NoPayload.noPayload, 10000));
        message("answer", message(Verb.MUTATION_RSP, 2147483647, NoPayload.noPayload, 0));
        message("negative id", message(Verb.ECHO_RSP, -5, NoPayload.noPayload, 300000));
        message("mutation", message(Verb.MUTATION_REQ, 300, one, 2000).withFlag(MessageFlag.CALL_BACK_ON_FAILURE));
        message("all flags", message(Verb.PING_REQ, 128, PingRequest.forLarge, 10000).withFlags(7));
        message("traced", message(Verb.MUTATION_REQ, 16384, one, 2000).withParam(ParamType.TRACE_SESSION, session)
                                                                      .withParam(ParamType.TRACE_TYPE, TraceType.REPAIR));
        message("forward", message(Verb.MUTATION_REQ, 7, one, 2000).withParam(ParamType.FORWARD_TO, forwards));
        message("forwarded", message(Verb.MUTATION_REQ, 17, one, 2000).withParam(ParamType.RESPOND_TO, at("127.0.0.2", 7000)));
        message("custom", message(Verb.ECHO_REQ, 8, NoPayload.noPayload, 2000).withParam(ParamType.CUSTOM_MAP, custom)
                                                                              .withParam(ParamType.TOMBSTONE_WARNING, 1001));
        message("failure", message(Verb.FAILURE_RSP, 300, RequestFailureReason.INCOMPATIBLE_SCHEMA, 2000)
                           .withParam(ParamType.LOCAL_READ_SIZE_FAIL, 5000000000L));
    }

    static void creationTimes()
    {
        MonotonicClockTranslation identity = new MonotonicClockTranslation()
        {
            public long fromMillisSinceEpoch(long t) { return t * 1000; }
            public long toMillisSinceEpoch(long t) { return t / 1000; }
            public long error() { return 0; }
        };
        long wrap = 400L << 32;
        long[] nows = { 1700000000000L, wrap - 1, wrap, wrap + 1, wrap + 899999, wrap + 900001, wrap - 900001, wrap - 899999 };
        long[] distances = { 0, 1, -1, 899999, 900000, 900001, -899999, -900000, -900001, 3600000, -3600000, 1L << 31 };
        for (long now : nows)
            for (long distance : distances)
            {
                int low = (int) (now + distance);
                long created = Message.Serializer.calculateCreationTimeNanos(low, identity, now * 1000) / 1000;
                print("created", Integer.toUnsignedString(low), now, created);
            }
    }

    public static void main(String[] args) throws Exception
    {
        out = new PrintStream(args[0], "UTF-8");
        endpoints();
        handshakes();
        frames();
        payloads();
        messages();
        creationTimes();
        verbs();
        out.close();
        System.exit(0);
    }
}
