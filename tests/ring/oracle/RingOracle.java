// Prints where Cassandra 5.0.9 places replicas on the rings that tests/ring/replication_test.cc builds:
//
//   java --add-exports java.base/sun.nio.ch=ALL-UNNAMED --add-exports java.base/jdk.internal.ref=ALL-UNNAMED \
//     -cp '<cassandra jars>/*' RingOracle.java ../data/replicas.txt
//
// One case a line, tab-separated: "node", number, datacenter, rack, tokens… (those that follow are of this ring, up to
// the next "ring" line); "replicas", strategy, options, token, numbers of the replicas in order.

import java.io.PrintStream;
import java.net.InetAddress;
import java.util.*;

import org.apache.cassandra.config.DatabaseDescriptor;
import org.apache.cassandra.dht.Murmur3Partitioner;
import org.apache.cassandra.dht.Token;
import org.apache.cassandra.locator.*;

public class RingOracle
{
    record Node(int number, String datacenter, String rack, List<Long> tokens) {}

    static PrintStream out;

    static InetAddressAndPort address(int number) throws Exception
    {
        return InetAddressAndPort.getByAddress(InetAddress.getByAddress(new byte[] { 10, 0, 0, (byte) number }));
    }

    static int number(InetAddressAndPort a) { return a.getAddress().getAddress()[3]; }

    static void ring(List<Node> nodes, List<Map<String, String>> strategies) throws Exception
    {
        out.println("ring");
        Map<InetAddressAndPort, Node> byAddress = new HashMap<>();
        for (Node n : nodes) byAddress.put(address(n.number), n);
        IEndpointSnitch snitch = new AbstractNetworkTopologySnitch()
        {
            public String getRack(InetAddressAndPort e) { return byAddress.get(e).rack; }
            public String getDatacenter(InetAddressAndPort e) { return byAddress.get(e).datacenter; }
        };
        TokenMetadata metadata = new TokenMetadata(snitch);
        TreeSet<Long> probes = new TreeSet<>(List.of(Long.MIN_VALUE, 0L, Long.MAX_VALUE));
        for (Node n : nodes)
        {
            List<Token> tokens = new ArrayList<>();
            StringBuilder line = new StringBuilder("node\t" + n.number + "\t" + n.datacenter + "\t" + n.rack);
            for (long t : n.tokens)
            {
                tokens.add(new Murmur3Partitioner.LongToken(t));
                line.append('\t').append(t);
                if (probes.size() < 40) probes.addAll(List.of(t, t + 1));
            }
            out.println(line);
            metadata.updateNormalTokens(tokens, address(n.number));
        }
        for (Map<String, String> options : strategies)
        {
            Map<String, String> own = new TreeMap<>(options);
            String name = own.remove("class");
            AbstractReplicationStrategy strategy = name.equals("SimpleStrategy")
                ? new SimpleStrategy("k", metadata, snitch, own) : new NetworkTopologyStrategy("k", metadata, snitch, own);
            for (long t : probes)
            {
                StringBuilder line = new StringBuilder("replicas\t" + name + "\t");
                own.forEach((k, v) -> line.append(k).append('=').append(v).append(' '));
                line.append('\t').append(t).append('\t');
                for (Replica r : strategy.calculateNaturalReplicas(new Murmur3Partitioner.LongToken(t), metadata))
                    line.append(number(r.endpoint())).append(' ');
                out.println(line);
            }
        }
    }

    static Map<String, String> simple(int factor) { return Map.of("class", "SimpleStrategy", "replication_factor", "" + factor); }

    static Map<String, String> network(Object... options)
    {
        Map<String, String> m = new HashMap<>(Map.of("class", "NetworkTopologyStrategy"));
        for (int i = 0; i < options.length; i += 2) m.put((String) options[i], "" + options[i + 1]);
        return m;
    }

    static List<Node> vnodes(int seed, int tokens, String... places)
    {
        Random random = new Random(seed);
        List<Node> nodes = new ArrayList<>();
        for (String place : places)
        {
            List<Long> own = new ArrayList<>();
            for (int i = 0; i < tokens; i++) own.add(random.nextLong());
            nodes.add(new Node(nodes.size() + 1, place.split("/")[0], place.split("/")[1], own));
        }
        return nodes;
    }

    public static void main(String[] args) throws Exception
    {
        DatabaseDescriptor.clientInitialization();
        DatabaseDescriptor.setPartitionerUnsafe(Murmur3Partitioner.instance);
        out = new PrintStream(args[0], "UTF-8");
        ring(List.of(new Node(1, "dc1", "r1", List.of(-100L, 200L)), new Node(2, "dc1", "r1", List.of(0L, 300L)),
                     new Node(3, "dc1", "r1", List.of(100L))),
             List.of(simple(1), simple(2), simple(3), simple(5), network("dc1", 2), network("dc2", 2), network("dc1", 0)));
        ring(vnodes(1, 4, "dc1/r1", "dc1/r1", "dc1/r2", "dc1/r3", "dc2/r1", "dc2/r1", "dc2/r1"),
             List.of(simple(3), network("dc1", 3), network("dc1", 2, "dc2", 2), network("dc1", 4, "dc2", 3), network("dc1", 9, "dc2", 1)));
        ring(vnodes(2, 8, "a/x", "a/x", "a/x", "a/y", "a/y", "b/x", "b/y", "b/z", "b/z", "c/x"),
             List.of(network("a", 3, "b", 3, "c", 3), network("a", 1, "b", 2), network("a", 2), network("b", 4), network("a", 5)));
        out.close();
        System.exit(0);
    }
}
