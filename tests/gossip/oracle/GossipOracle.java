// Writes what the classes of Cassandra 5.0.9 make of gossip's values and messages, and of silence, for tests/gossip:
//
//   javac -cp '<cassandra jars>/*' -d classes GossipOracle.java
//   java <the --add-opens and --add-exports of Cassandra's own start> -cp 'classes:<cassandra jars>/*' \
//     org.apache.cassandra.gms.GossipOracle ../data/gossip.txt
//
// It is in Cassandra's package to reach what is visible there only. One case a line, tab-separated:
//
//   value    name, the text in UTF-8 as hex
//   message  name, messaging version, the payload as hex
//   arrival  nanoseconds of a heartbeat
//   phi      nanoseconds, phi then, of the arrivals above
//   order    endpoints as Cassandra sorts them

package org.apache.cassandra.gms;

import java.io.PrintStream;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.util.*;

import org.apache.cassandra.config.DatabaseDescriptor;
import org.apache.cassandra.dht.Murmur3Partitioner;
import org.apache.cassandra.dht.Token;
import org.apache.cassandra.io.IVersionedSerializer;
import org.apache.cassandra.io.util.DataOutputBuffer;
import org.apache.cassandra.locator.InetAddressAndPort;

public class GossipOracle
{
    static PrintStream out;
    static final UUID HOST = UUID.fromString("12345678-9abc-4def-8123-456789abcdef");

    static String hex(byte[] bytes) { return HexFormat.of().formatHex(bytes); }

    static void value(String name, VersionedValue v)
    {
        out.println("value\t" + name + "\t" + hex(v.value.getBytes(StandardCharsets.UTF_8)));
    }

    @SuppressWarnings({ "unchecked", "rawtypes" })
    static void message(String name, IVersionedSerializer serializer, Object payload) throws Exception
    {
        for (int version : new int[] { 12, 13 })
        {
            try (DataOutputBuffer buffer = new DataOutputBuffer())
            {
                serializer.serialize(payload, buffer, version);
                if (buffer.getLength() != serializer.serializedSize(payload, version)) throw new AssertionError(name);
                out.println("message\t" + name + "\t" + version + "\t" + hex(buffer.toByteArray()));
            }
        }
    }

    static InetAddressAndPort at(String name) throws Exception { return InetAddressAndPort.getByName(name); }

    static List<Token> tokens(long... values)
    {
        List<Token> list = new ArrayList<>();
        for (long v : values) list.add(new Murmur3Partitioner.LongToken(v));
        return list;
    }

    static void values(VersionedValue.VersionedValueFactory f) throws Exception
    {
        List<Token> some = tokens(-9223372036854775807L, -1, 0, 1, 255, 4611686018427387904L);
        value("BOOT", f.bootstrapping(some));
        value("BOOT_REPLACE", f.bootReplacing(InetAddress.getByName("10.0.0.7")));
        value("BOOT_REPLACE with port", f.bootReplacingWithPort(at("10.0.0.7:7010")));
        value("BOOT_REPLACE of IPv6 with port", f.bootReplacingWithPort(at("[fd00::7]:7010")));
        value("NORMAL", f.normal(some));
        value("LEAVING", f.leaving(some));
        value("LEFT", f.left(some, 1700000000123L));
        value("MOVING", f.moving(some.get(5)));
        value("removing", f.removingNonlocal(HOST));
        value("removed", f.removedNonlocal(HOST, 1700000000123L));
        value("hibernate", f.hibernate(true));
        value("shutdown", f.shutdown(true));
        value("TOKENS", f.tokens(some));
        value("TOKENS of nobody", f.tokens(List.of()));
        value("REMOVAL_COORDINATOR", f.removalCoordinator(HOST));
        value("RPC_READY", f.rpcReady(false));
        value("LOAD", f.load(123456789.0));
        value("SEVERITY", f.severity(0.0));
        value("INTERNAL_IP", f.internalIP(InetAddress.getByName("fd00::7")));
        value("INTERNAL_ADDRESS_AND_PORT", f.internalAddressAndPort(at("[fd00::7]:7010")));
        value("NATIVE_ADDRESS_AND_PORT", f.nativeaddressAndPort(at("10.0.0.7:9042")));
    }

    static EndpointState state(int generation, int version, Object... keysAndValues)
    {
        Map<ApplicationState, VersionedValue> map = new EnumMap<>(ApplicationState.class);
        for (int i = 0; i < keysAndValues.length; i += 3)
            map.put((ApplicationState) keysAndValues[i],
                    VersionedValue.unsafeMakeVersionedValue((String) keysAndValues[i + 1], (Integer) keysAndValues[i + 2]));
        return new EndpointState(new HeartBeatState(generation, version), map);
    }

    static void messages(VersionedValue.VersionedValueFactory f) throws Exception
    {
        message("syn of a shadow round", GossipDigestSyn.serializer,
                new GossipDigestSyn("Test Cluster", Murmur3Partitioner.class.getName(), List.of()));
        List<GossipDigest> digests = List.of(new GossipDigest(at("10.0.0.1:7000"), 1700000000, 42),
                                             new GossipDigest(at("[fd00::7]:7010"), 0, -1),
                                             new GossipDigest(at("10.0.0.255:65535"), 2147483647, 2147483647));
        message("syn", GossipDigestSyn.serializer,
                new GossipDigestSyn("Zürich\u0000€\uD83D\uDE00", Murmur3Partitioner.class.getName(), digests));

        EndpointState rich = state(1700000000, 43,
                                   ApplicationState.STATUS, f.normal(tokens(7)).value, 12,
                                   ApplicationState.LOAD, f.load(98765.0).value, 40,
                                   ApplicationState.DC, "Zürich\u0000€\uD83D\uDE00\uD800", 3,
                                   ApplicationState.HOST_ID, f.hostId(HOST).value, 2,
                                   ApplicationState.TOKENS, f.tokens(tokens(7, -7, Long.MIN_VALUE + 1)).value, 11,
                                   ApplicationState.STATUS_WITH_PORT, f.normal(tokens(7)).value, 13,
                                   ApplicationState.INDEX_STATUS, "{}", 5,
                                   ApplicationState.X10, "", 6);
        EndpointState bare = state(0, -1);
        Map<InetAddressAndPort, EndpointState> states = new LinkedHashMap<>();
        states.put(at("10.0.0.1:7000"), rich);
        states.put(at("[fd00::7]:7010"), bare);
        message("ack of a shadow round", GossipDigestAck.serializer, new GossipDigestAck(List.of(), Map.of()));
        message("ack", GossipDigestAck.serializer, new GossipDigestAck(digests, states));
        message("ack2", GossipDigestAck2.serializer, new GossipDigestAck2(states));
        message("shutdown", GossipShutdown.serializer,
                new GossipShutdown(state(1700000000, 99, ApplicationState.STATUS_WITH_PORT, f.shutdown(true).value, 98)));
    }

    static void silence() throws Exception
    {
        Random random = new Random(5);
        ArrivalWindow window = new ArrivalWindow(1000);
        InetAddressAndPort peer = at("10.0.0.1:7000");
        long now = 1_000_000_000_000L;
        for (int i = 0; i < 2500; ++i)
        {
            window.add(now, peer);
            out.println("arrival\t" + now);
            if (i % 250 == 3 || i < 3)
                for (long later : new long[] { 1, 1_000_000_000L, 18_500_000_000L })
                    out.println("phi\t" + (now + later) + "\t" + window.phi(now + later));
            now += random.nextInt(20) == 0 ? 2_500_000_000L : 900_000_000L + random.nextInt(300_000_000);
        }
    }

    public static void main(String[] args) throws Exception
    {
        DatabaseDescriptor.clientInitialization();
        DatabaseDescriptor.setPartitionerUnsafe(Murmur3Partitioner.instance);
        out = new PrintStream(args[0], "UTF-8");
        VersionedValue.VersionedValueFactory factory = new VersionedValue.VersionedValueFactory(Murmur3Partitioner.instance);
        values(factory);
        messages(factory);
        silence();
        TreeSet<InetAddressAndPort> sorted = new TreeSet<>();
        for (String name : new String[] { "10.0.0.2:7000", "10.0.0.10:7000", "200.0.0.1:7000", "10.0.0.2:6999",
                                          "[fd00::7]:7010", "[a00:2::]:7000", "10.0.0.2:65535" })
            sorted.add(at(name));
        StringJoiner line = new StringJoiner("\t");
        for (InetAddressAndPort a : sorted) line.add(a.getHostAddressAndPort());
        out.println("order\t" + line);
        out.close();
        System.exit(0);
    }
}
