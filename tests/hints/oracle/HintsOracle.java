// Writes files of hints with Cassandra 5.0.9's own HintsWriter, for tests/hints/hints_file_test.cc; and reads one with its
// HintsReader. The classes are private to their package, so the program is compiled into it:
//
//   javac -cp '<cassandra jars>/*' -d out HintsOracle.java
//   java --add-exports java.base/sun.nio.ch=ALL-UNNAMED --add-exports java.base/jdk.internal.ref=ALL-UNNAMED \
//     --add-exports java.base/jdk.internal.misc=ALL-UNNAMED --add-opens java.base/jdk.internal.ref=ALL-UNNAMED \
//     --add-opens java.base/sun.nio.ch=ALL-UNNAMED --add-opens java.base/java.io=ALL-UNNAMED \
//     -cp 'out:<cassandra jars>/*' org.apache.cassandra.hints.HintsOracle write ../data
//   … org.apache.cassandra.hints.HintsOracle read FILE
//
// data/hints.txt has a line for each hint that every file holds: created, gc grace seconds, the mutation in hex; tab-separated.
package org.apache.cassandra.hints;

import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.util.*;

import com.google.common.collect.ImmutableMap;
import org.apache.cassandra.config.*;
import org.apache.cassandra.db.*;
import org.apache.cassandra.db.marshal.*;
import org.apache.cassandra.db.partitions.PartitionUpdate;
import org.apache.cassandra.db.rows.*;
import org.apache.cassandra.dht.Murmur3Partitioner;
import org.apache.cassandra.io.util.DataOutputBuffer;
import org.apache.cassandra.io.util.File;
import org.apache.cassandra.net.MessagingService;
import org.apache.cassandra.schema.*;
import org.apache.cassandra.utils.ByteBufferUtil;

public class HintsOracle
{
    static final long NOW = 1700000000000L;
    static final UUID HOST = UUID.fromString("a1b2c3d4-e5f6-4708-890a-0b0c0d0e0fff");
    static final TableMetadata TABLE;
    static
    {
        DatabaseDescriptor.clientInitialization();
        DatabaseDescriptor.getRawConfig().max_mutation_size = new DataStorageSpec.IntKibibytesBound("16MiB");
        DatabaseDescriptor.getRawConfig().trickle_fsync_interval = new DataStorageSpec.IntKibibytesBound("10240KiB");
        DatabaseDescriptor.setPartitionerUnsafe(Murmur3Partitioner.instance);
        TABLE = TableMetadata.builder("k", "plain", TableId.fromString("11111111-1111-1111-1111-111111111111"))
                             .partitioner(Murmur3Partitioner.instance)
                             .addPartitionKeyColumn("k", UTF8Type.instance)
                             .addRegularColumn("v", UTF8Type.instance).build();
    }

    static Hint hint(String key, String value, long created, int gcgs)
    {
        ColumnMetadata c = TABLE.getColumn(UTF8Type.instance.decompose("v"));
        Row.Builder row = BTreeRow.unsortedBuilder();
        row.newRow(Clustering.EMPTY);
        row.addPrimaryKeyLivenessInfo(LivenessInfo.create(NOW * 1000, 1700000000L));
        row.addCell(new BufferCell(c, NOW * 1000, 0, Cell.NO_DELETION_TIME, UTF8Type.instance.decompose(value), null));
        PartitionUpdate.Builder update = new PartitionUpdate.Builder(TABLE, TABLE.partitioner.decorateKey(UTF8Type.instance.decompose(key)),
                                                                     RegularAndStaticColumns.of(c), 1);
        update.add(row.build());
        return Hint.create(new Mutation(update.build()), created, gcgs);
    }

    static List<Hint> hints()
    {
        List<Hint> out = new ArrayList<>();
        out.add(hint("first", "one", NOW, 864000));
        out.add(hint("second", "two", NOW + 1, 0));
        out.add(hint("third", "a value ".repeat(150), NOW + 2, 127));
        for (int i = 0; i < 10; i++) out.add(hint("many" + i, "value " + i, NOW + 3 + i, 128 + i * 100000));
        return out;
    }

    static void write(File directory, long timestamp, int version, ImmutableMap<String, Object> parameters) throws Exception
    {
        HintsDescriptor descriptor = new HintsDescriptor(HOST, version, timestamp, parameters);
        for (String name : List.of(descriptor.fileName(), descriptor.checksumFileName())) new File(directory, name).tryDelete();
        try (HintsWriter writer = HintsWriter.create(directory, descriptor))
        {
            // Small, so that a compressed file has several chunks.
            try (HintsWriter.Session session = writer.newSession(ByteBuffer.allocateDirect(1400)))
            {
                for (Hint hint : hints()) session.append(hint);
            }
        }
    }

    static ImmutableMap<String, Object> compression(String name, ImmutableMap<String, String> options)
    {
        ImmutableMap.Builder<String, Object> config = ImmutableMap.builder();
        config.put("class_name", name);
        if (options != null) config.put("parameters", options);
        return ImmutableMap.of("compression", config.build());
    }

    static String mutation(Hint hint, int version) throws Exception
    {
        DataOutputBuffer to = new DataOutputBuffer();
        Mutation.serializer.serialize(hint.mutation, to, version);
        return ByteBufferUtil.bytesToHex(to.buffer());
    }

    public static void main(String[] args) throws Exception
    {
        if (args[0].equals("read"))
        {
            try (HintsReader reader = HintsReader.open(new File(args[1])))
            {
                System.out.println(reader.descriptor());
                for (HintsReader.Page page : reader)
                    for (Iterator<ByteBuffer> i = page.buffersIterator(); i.hasNext();)
                        System.out.println(ByteBufferUtil.bytesToHex(i.next()));
            }
            System.exit(0);
        }
        File directory = new File(args[1]);
        try (PrintStream out = new PrintStream(new File(directory, "hints.txt").toJavaIOFile()))
        {
            for (Hint hint : hints())
                out.println(hint.creationTime + "\t" + hint.gcgs + "\t" + mutation(hint, MessagingService.VERSION_40));
        }
        write(directory, NOW + 100, 2, ImmutableMap.of());
        write(directory, NOW + 101, 3, ImmutableMap.of());
        write(directory, NOW + 102, 2, compression("LZ4Compressor", null));
        write(directory, NOW + 103, 2, compression("SnappyCompressor", null));
        write(directory, NOW + 104, 2, compression("DeflateCompressor", null));
        write(directory, NOW + 105, 2, compression("ZstdCompressor", ImmutableMap.of("compression_level", "5")));
        System.exit(0);
    }
}
