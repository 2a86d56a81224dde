// Writes which tokens Cassandra 5.0.9 allocates to the nodes of clusters that grow, for tests/ring/token_allocator_test.cc:
//
//   javac -cp '<cassandra jars>/*' -d classes AllocationOracle.java
//   java <the --add-opens and --add-exports of Cassandra's own start> -cp 'classes:<cassandra jars>/*' \
//     org.apache.cassandra.dht.tokenallocator.AllocationOracle ../data/allocations.txt
//
// It is in Cassandra's package to reach what is visible there only. One line each, tab-separated: "cluster", replicas,
// number of tokens; then its nodes in the order of joining: "node", datacenter, rack, tokens as they were chosen.

package org.apache.cassandra.dht.tokenallocator;

import java.io.PrintStream;
import java.net.InetAddress;
import java.util.*;

import org.apache.cassandra.config.DatabaseDescriptor;
import org.apache.cassandra.dht.Murmur3Partitioner;
import org.apache.cassandra.dht.Token;
import org.apache.cassandra.locator.*;

public class AllocationOracle
{
    static PrintStream out;
    static final Map<InetAddressAndPort, String[]> locations = new HashMap<>();

    // Nodes take turns among the places: "dc1:r1".
    static void cluster(int replicas, int numTokens, int nodes, String... places) throws Exception
    {
        out.println("cluster\t" + replicas + "\t" + numTokens);
        locations.clear();
        for (int n = 0; n < nodes; ++n)
        {
            InetAddressAndPort address = InetAddressAndPort.getByAddress(InetAddress.getByAddress(new byte[] { 10, 0, 0, (byte) (n + 1) }));
            locations.put(address, places[n % places.length].split(":"));
        }
        List<InetAddressAndPort> order = new ArrayList<>(locations.keySet());
        order.sort(Comparator.naturalOrder());
        String[] local = new String[1];
        IEndpointSnitch snitch = new AbstractNetworkTopologySnitch()
        {
            public String getRack(InetAddressAndPort e) { return locations.get(e)[1]; }
            public String getDatacenter(InetAddressAndPort e) { return locations.get(e)[0]; }
            public String getLocalDatacenter() { return local[0]; }
        };
        TokenMetadata metadata = new TokenMetadata(snitch);
        for (InetAddressAndPort node : order)
        {
            local[0] = snitch.getDatacenter(node);
            Collection<Token> tokens = TokenAllocation.create(snitch, metadata, replicas, numTokens).allocate(node);
            metadata.updateNormalTokens(tokens, node);
            StringBuilder line = new StringBuilder("node\t" + snitch.getDatacenter(node) + "\t" + snitch.getRack(node));
            for (Token t : tokens) line.append('\t').append(t);
            out.println(line);
        }
    }

    public static void main(String[] args) throws Exception
    {
        DatabaseDescriptor.clientInitialization();
        DatabaseDescriptor.setPartitionerUnsafe(Murmur3Partitioner.instance);
        out = new PrintStream(args[0], "UTF-8");
        cluster(3, 16, 12, "dc1:r1");
        cluster(3, 16, 12, "dc1:r1", "dc1:r2", "dc1:r3");
        cluster(3, 8, 15, "dc1:r1", "dc1:r2", "dc1:r3", "dc1:r4", "dc1:r5");
        cluster(1, 4, 10, "dc1:r1");
        cluster(2, 4, 12, "dc1:r1", "dc2:r1");
        cluster(3, 64, 5, "dc1:r1");
        cluster(3, 1, 10, "dc1:r1");
        cluster(1, 1, 6, "dc1:r1");
        out.close();
        System.exit(0);
    }
}
