// Writes what Cassandra 5.0.9 itself answers to generated reads of generated partitions, for tests/messaging:
//
//   java <the --add-opens and --add-exports of Cassandra's own start> -javaagent:<jamm> \
//     -Dcassandra.config=file:///<a cassandra.yaml of its own folders, storage_compatibility_mode NONE> \
//     -cp '<cassandra jars>/*' ReadOracle.java ../data/reads.bin
//
// The partitions are written to real tables (ColumnFamilyStore), and each read is ReadCommand.executeLocally. With a second
// argument it reads what the test wrote there instead: our responses, by Cassandra's deserializer, whose digests have to be
// those that it makes itself.
//
// The file: records of type:u8, length:u32 and content.
//   'T'  a table, as text: "name id gc_grace_seconds counter", then a line for each column: name, kind, position, class
//   'M'  a mutation, messaging version 13
//   'C'  a read: u16 length, the command of version 13; its digest (16 bytes); its partitions as a DATA_RESPONSE has them,
//        with EncodingStats as read/response_writer.h chooses them
// Reads that Cassandra answers in two ways, by where the partitions lie, are not written.
import java.io.*;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.util.*;

import org.apache.cassandra.config.DatabaseDescriptor;
import org.apache.cassandra.cql3.FieldIdentifier;
import org.apache.cassandra.cql3.Operator;
import org.apache.cassandra.db.*;
import org.apache.cassandra.db.aggregation.*;
import org.apache.cassandra.db.commitlog.CommitLog;
import org.apache.cassandra.db.context.CounterContext;
import org.apache.cassandra.db.filter.*;
import org.apache.cassandra.db.marshal.*;
import org.apache.cassandra.db.partitions.*;
import org.apache.cassandra.db.rows.*;
import org.apache.cassandra.dht.*;
import org.apache.cassandra.io.util.*;
import org.apache.cassandra.locator.Replica;
import org.apache.cassandra.net.MessagingService;
import org.apache.cassandra.schema.*;
import org.apache.cassandra.utils.*;
import org.apache.cassandra.utils.btree.BTreeSet;

public class ReadOracle
{
    static final long TS = 1700000000000000L;
    static final long NOW = 1700000000L;
    static final int GC_GRACE = 1000;
    static final Random random = new Random(13);
    static DataOutputStream out;

    static int below(int n) { return random.nextInt(n); }
    static boolean one(int in) { return random.nextInt(in) == 0; }
    static ByteBuffer text(String s) { return UTF8Type.instance.decompose(s); }
    static ByteBuffer int32(int v) { return Int32Type.instance.decompose(v); }

    static final ListType<Integer> LIST = ListType.getInstance(Int32Type.instance, true);
    static final MapType<String, Integer> MAP = MapType.getInstance(UTF8Type.instance, Int32Type.instance, true);
    static final MapType<String, Integer> FROZEN_MAP = MapType.getInstance(UTF8Type.instance, Int32Type.instance, false);
    static final SetType<String> SET = SetType.getInstance(UTF8Type.instance, true);
    static final UserType UDT = new UserType("k", text("u"), List.of(FieldIdentifier.forUnquoted("x"), FieldIdentifier.forUnquoted("y")),
                                             List.of(Int32Type.instance, UTF8Type.instance), true);

    static TableMetadata.Builder table(String name, String digit)
    {
        String id = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx".replace("x", digit);
        return TableMetadata.builder("k", name, TableId.fromString(id)).partitioner(Murmur3Partitioner.instance).gcGraceSeconds(GC_GRACE);
    }

    static List<TableMetadata> definitions()
    {
        return List.of(
            table("wide", "1").addPartitionKeyColumn("k", UTF8Type.instance)
               .addClusteringColumn("a", Int32Type.instance).addClusteringColumn("b", ReversedType.getInstance(UTF8Type.instance))
               .addStaticColumn("s", Int32Type.instance).addStaticColumn("sm", MAP)
               .addRegularColumn("v", Int32Type.instance).addRegularColumn("t", UTF8Type.instance)
               .addRegularColumn("l", LIST).addRegularColumn("m", MAP).addRegularColumn("st", SET)
               .addRegularColumn("fm", FROZEN_MAP).addRegularColumn("u", UDT).build(),
            table("fixed", "2").addPartitionKeyColumn("k", Int32Type.instance).addClusteringColumn("c", LongType.instance)
               .addRegularColumn("v", BytesType.instance).addRegularColumn("w", UTF8Type.instance).build(),
            table("single", "3").addPartitionKeyColumn("k", UTF8Type.instance).addPartitionKeyColumn("l", Int32Type.instance)
               .addRegularColumn("v", Int32Type.instance).addRegularColumn("w", UTF8Type.instance).build(),
            table("counts", "4").isCounter(true).addPartitionKeyColumn("k", UTF8Type.instance).addClusteringColumn("a", Int32Type.instance)
               .addStaticColumn("s", CounterColumnType.instance)
               .addRegularColumn("n", CounterColumnType.instance).addRegularColumn("o", CounterColumnType.instance).build());
    }

    // The tables in the form that the schema gives them.
    static List<TableMetadata> tables()
    {
        List<TableMetadata> out = new ArrayList<>();
        for (TableMetadata t : definitions()) out.add(Schema.instance.getTableMetadata("k", t.name));
        return out;
    }

    // ---- The partitions.

    static ByteBuffer clusteringValue(AbstractType<?> type)
    {
        if (type.unwrap() instanceof Int32Type) return int32(below(5));
        if (type.unwrap() instanceof LongType) return LongType.instance.decompose((long) below(8) - 2);
        return text(List.of("", "x", "y", "zz").get(below(4)));
    }

    static Clustering<?> clustering(TableMetadata t)
    {
        ByteBuffer[] values = new ByteBuffer[t.clusteringColumns().size()];
        for (int i = 0; i < values.length; i++) values[i] = clusteringValue(t.comparator.subtype(i));
        return values.length == 0 ? Clustering.EMPTY : Clustering.make(values);
    }

    static ByteBuffer key(TableMetadata t, int i)
    {
        if (t.name.equals("fixed")) return int32(i * 7919);
        if (t.name.equals("single")) return CompositeType.build(ByteBufferAccessor.instance, text("p" + i), int32(i));
        return text("key" + i);
    }

    static long timestamp() { return TS + below(12); }
    static long deletedAt() { return NOW - below(2 * GC_GRACE); }
    // A complex deletion as old as the deletion of its row or range is hidden by a merge, and by nothing else: those of
    // columns are odd.
    static DeletionTime columnDeletion()
    {
        return DeletionTime.build(TS + 2 * below(6) + 1, deletedAt());
    }

    // A memtable keeps the first of two range tombstones with the same timestamp, a merge keeps the one that was deleted
    // last: here the same timestamp has the same time of deletion.
    static DeletionTime deletion()
    {
        long ts = TS + 2 * below(6);
        return DeletionTime.build(ts, NOW - ts * 7919 % (2 * GC_GRACE));
    }

    static ByteBuffer counter()
    {
        int shards = 1 + below(3);
        CounterContext.ContextState state = CounterContext.ContextState.allocate(shards, 0, 0);
        for (int i = 0; i < shards; i++) state.writeGlobal(CounterId.fromInt(1 + i), 1 + below(3), below(100));
        // Two contexts of the same clock and shard have the same count, as in a cluster.
        ByteBuffer context = state.context;
        CounterContext.ContextState walk = CounterContext.ContextState.wrap(context);
        CounterContext.ContextState same = CounterContext.ContextState.allocate(shards, 0, 0);
        for (int i = 0; i < shards; i++, walk.moveToNext()) same.writeGlobal(walk.getCounterId(), walk.getClock(), walk.getClock() * 10);
        return same.context;
    }

    static ByteBuffer value(AbstractType<?> type)
    {
        if (type instanceof Int32Type) return int32(below(4));
        if (type instanceof CounterColumnType) return counter();
        if (type == FROZEN_MAP) return FROZEN_MAP.decompose(Map.of("k" + below(2), below(3)));
        return text(one(8) ? "" : "value" + below(4));
    }

    static CellPath path(ColumnMetadata c)
    {
        if (c.type == LIST) return CellPath.create(ByteBufferUtil.hexToBytes("0000000000001000800000000000000" + below(4)));
        if (c.type == UDT) return CellPath.create(ShortType.instance.decompose((short) below(2)));
        return CellPath.create(text("p" + below(4)));
    }

    static ByteBuffer elementValue(ColumnMetadata c, CellPath path)
    {
        if (c.type == SET) return ByteBufferUtil.EMPTY_BYTE_BUFFER;
        if (c.type == UDT) return ShortType.instance.compose(path.get(0)) == 0 ? int32(below(4)) : text("u" + below(3));
        return int32(below(4));
    }

    static Cell<?> cell(ColumnMetadata c, long ts)
    {
        // Newer than every deletion: a memtable merges counters before it looks at what deletes them.
        if (c.type.isCounter()) ts += 20;
        CellPath path = c.isComplex() ? path(c) : null;
        if (one(6)) return BufferCell.tombstone(c, ts, deletedAt(), path);
        ByteBuffer value = path == null ? value(c.type) : elementValue(c, path);
        if (!c.type.isCounter() && one(4))
        {
            int ttl = 1 + below(3000);
            return new BufferCell(c, ts, ttl, NOW - 1500 + below(2000), value, path);
        }
        return new BufferCell(c, ts, Cell.NO_TTL, Cell.NO_DELETION_TIME, value, path);
    }

    static Row row(TableMetadata t, Clustering<?> clustering)
    {
        boolean isStatic = clustering == Clustering.STATIC_CLUSTERING;
        Row.Builder b = BTreeRow.unsortedBuilder();
        b.newRow(clustering);
        long ts = timestamp();
        // A row hides nothing of its own: no statement makes such a one.
        long hidden = Long.MIN_VALUE;
        if (!isStatic && one(8))
        {
            DeletionTime deletion = deletion();
            b.addRowDeletion(Row.Deletion.regular(deletion));
            hidden = deletion.markedForDeleteAt();
        }
        if (!isStatic && !t.isCounter() && !one(3) && ts > hidden)
        {
            if (one(4)) b.addPrimaryKeyLivenessInfo(LivenessInfo.withExpirationTime(ts, 100, NOW - 1500 + below(2000)));
            else b.addPrimaryKeyLivenessInfo(LivenessInfo.create(ts, NOW));
        }
        for (ColumnMetadata c : isStatic ? t.staticColumns() : t.regularColumns())
        {
            if (one(3)) continue;
            long hiddenCells = hidden;
            if (c.isComplex() && one(4))
            {
                DeletionTime deletion = columnDeletion();
                if (deletion.markedForDeleteAt() > hidden)
                {
                    b.addComplexDeletion(c, deletion);
                    hiddenCells = deletion.markedForDeleteAt();
                }
            }
            int cells = c.isComplex() ? below(4) : 1;
            for (int i = 0; i < cells; i++)
            {
                Cell<?> cell = cell(c, one(2) ? ts : timestamp());
                if (cell.timestamp() > hiddenCells) b.addCell(cell);
            }
        }
        return b.build();
    }

    static ClusteringBound<?> bound(TableMetadata t, boolean isStart, int size)
    {
        if (size == 0) return isStart ? ClusteringBound.BOTTOM : ClusteringBound.TOP;
        ByteBuffer[] values = new ByteBuffer[size];
        for (int i = 0; i < size; i++) values[i] = clusteringValue(t.comparator.subtype(i));
        ClusteringPrefix.Kind kind = isStart ? one(2) ? ClusteringPrefix.Kind.INCL_START_BOUND : ClusteringPrefix.Kind.EXCL_START_BOUND
                                             : one(2) ? ClusteringPrefix.Kind.INCL_END_BOUND : ClusteringPrefix.Kind.EXCL_END_BOUND;
        return ByteBufferAccessor.instance.factory().bound(kind, values);
    }

    // Not empty; null when it came out so.
    static Slice slice(TableMetadata t)
    {
        int n = t.clusteringColumns().size();
        Slice s = Slice.make(bound(t, true, below(n + 1)), bound(t, false, below(n + 1)));
        return s.isEmpty(t.comparator) ? null : s;
    }

    static PartitionUpdate update(TableMetadata t, DecoratedKey key)
    {
        PartitionUpdate.Builder b = new PartitionUpdate.Builder(t, key, t.regularAndStaticColumns(), 4);
        if (one(8)) b.addPartitionDeletion(deletion());
        if (!t.staticColumns().isEmpty() && one(3))
        {
            Row s = row(t, Clustering.STATIC_CLUSTERING);
            if (!s.isEmpty()) b.add(s);
        }
        int rows = below(4);
        for (int i = 0; i < rows; i++)
        {
            Row r = row(t, clustering(t));
            if (!r.isEmpty()) b.add(r);
        }
        if (!t.clusteringColumns().isEmpty())
            for (int i = below(3); i > 0; i--)
            {
                Slice s = slice(t);
                if (s != null) b.add(new RangeTombstone(s, deletion()));
            }
        return b.build();
    }

    // ---- The reads.

    static ColumnMetadata anyColumn(TableMetadata t, boolean complex)
    {
        List<ColumnMetadata> all = new ArrayList<>();
        for (ColumnMetadata c : t.regularAndStaticColumns()) if (!complex || c.isComplex()) all.add(c);
        return all.isEmpty() ? null : all.get(below(all.size()));
    }

    static ColumnFilter columns(TableMetadata t, RowFilter filter)
    {
        RegularAndStaticColumns.Builder queried = RegularAndStaticColumns.builder();
        for (RowFilter.Expression e : filter) if (!e.column().isPrimaryKeyColumn()) queried.add(e.column());
        for (int i = below(3); i > 0; i--) queried.add(anyColumn(t, false));
        switch (below(5))
        {
            case 0: return ColumnFilter.all(t);
            case 1: return ColumnFilter.selection(t, queried.build(), one(2));
            case 2: return ColumnFilter.selection(queried.build());
            default:
                ColumnMetadata c = anyColumn(t, true);
                if (c == null || c.type == UDT) return ColumnFilter.selection(t, queried.build(), true);
                ColumnFilter.Builder b = one(2) ? ColumnFilter.selectionBuilder() : ColumnFilter.allRegularColumnsBuilder(t, one(2));
                b.addAll(queried.build());
                if (one(2)) b.select(c, path(c));
                else b.slice(c, CellPath.create(text("p0")), CellPath.create(text("p" + below(3))));
                if (one(3)) b.select(c, path(c));
                if (c.type == LIST) return ColumnFilter.all(t);
                return b.build();
        }
    }

    static RowFilter filter(TableMetadata t)
    {
        RowFilter f = RowFilter.create(one(3));
        if (!one(4)) return f;
        List<Operator> ops = List.of(Operator.EQ, Operator.LT, Operator.LTE, Operator.GT, Operator.GTE);
        for (int i = 1 + below(2); i > 0; i--)
        {
            ColumnMetadata c = anyColumn(t, false);
            if (c.type.isCounter()) f.add(c, ops.get(below(5)), LongType.instance.decompose((long) below(60)));
            else if (c.type == SET) f.add(c, Operator.CONTAINS, text("p" + below(4)));
            else if (c.type == MAP || c.type == FROZEN_MAP)
            {
                if (one(2)) f.addMapEquality(c, text((c.type == MAP ? "p" : "k") + below(3)), Operator.EQ, int32(below(4)));
                else f.add(c, Operator.CONTAINS_KEY, text((c.type == MAP ? "p" : "k") + below(3)));
            }
            else if (!c.isComplex()) f.add(c, ops.get(below(5)), value(c.type));
        }
        if (!t.clusteringColumns().isEmpty() && one(4))
        {
            ColumnMetadata c = t.clusteringColumns().get(0);
            f.add(c, ops.get(below(5)), clusteringValue(c.type));
        }
        return f;
    }

    static DataLimits limits(TableMetadata t, ByteBuffer lastKey)
    {
        int perPartition = 2 + below(4);
        switch (below(9))
        {
            case 0: return DataLimits.cqlLimits(1 + below(6));
            case 1: return DataLimits.cqlLimits(1 + below(8), perPartition);
            case 2: return DataLimits.distinctLimits(1 + below(5));
            case 3: return DataLimits.cqlLimits(DataLimits.NO_LIMIT, perPartition).forPaging(1 + below(8), lastKey, 1 + below(perPartition));
            case 4:
            case 5:
                AggregationSpecification by = one(4) ? AggregationSpecification.AGGREGATE_EVERYTHING
                    : AggregationSpecification.aggregatePkPrefixFactory(t.comparator, below(t.clusteringColumns().size() + 1)).newInstance(null);
                DataLimits groups = DataLimits.groupByLimits(1 + below(6), perPartition, one(2) ? DataLimits.NO_LIMIT : 1 + below(10), by);
                if (one(3)) return groups.forPaging(1 + below(6), lastKey, 1 + below(perPartition));
                if (one(3) && !t.clusteringColumns().isEmpty())
                    return groups.forGroupByInternalPaging(new GroupingState(lastKey, clustering(t)));
                return groups;
            default: return DataLimits.NONE;
        }
    }

    static ClusteringIndexFilter clusterings(TableMetadata t)
    {
        boolean reversed = one(2);
        if (t.clusteringColumns().isEmpty())
            return one(2) ? new ClusteringIndexNamesFilter(FBUtilities.singleton(Clustering.EMPTY, t.comparator), false)
                          : new ClusteringIndexSliceFilter(Slices.ALL, reversed);
        switch (below(6))
        {
            case 0: case 1: return new ClusteringIndexSliceFilter(Slices.ALL, reversed);
            case 2: case 3:
                Slices.Builder slices = new Slices.Builder(t.comparator);
                for (int i = 1 + below(3); i > 0; i--)
                {
                    Slice s = slice(t);
                    if (s != null) slices.add(s);
                }
                return new ClusteringIndexSliceFilter(slices.build(), reversed);
            default:
                BTreeSet.Builder<Clustering<?>> names = BTreeSet.builder(t.comparator);
                for (int i = below(4); i > 0; i--) names.add(clustering(t));
                return new ClusteringIndexNamesFilter(names.build(), reversed);
        }
    }

    static PartitionPosition position(TableMetadata t, int keys)
    {
        DecoratedKey key = t.partitioner.decorateKey(key(t, below(keys)));
        switch (below(3))
        {
            case 0: return key;
            case 1: return key.getToken().minKeyBound();
            default: return key.getToken().maxKeyBound();
        }
    }

    static DataRange range(TableMetadata t, int keys)
    {
        ClusteringIndexFilter filter = clusterings(t);
        PartitionPosition end = one(2) ? t.partitioner.getMinimumToken().minKeyBound() : position(t, keys);
        if (one(4) && !t.clusteringColumns().isEmpty())
        {
            DecoratedKey start = t.partitioner.decorateKey(key(t, below(keys)));
            if (!end.isMinimum() && start.compareTo(end) > 0) return null;
            return new DataRange(new Bounds<>(start, end), filter).forPaging(new Bounds<>(start, end), t.comparator, clustering(t), one(2));
        }
        PartitionPosition start = one(3) ? t.partitioner.getMinimumToken().minKeyBound() : position(t, keys);
        if (!end.isMinimum() && start.compareTo(end) >= 0) return null;
        switch (below(4))
        {
            case 0: return new DataRange(new Bounds<>(start, end), filter);
            case 1: return new DataRange(new Range<>(start, end), filter);
            case 2: return new DataRange(new IncludingExcludingBounds<>(start, end), filter);
            default: return new DataRange(new ExcludingBounds<>(start, end), filter);
        }
    }

    static ReadCommand command(TableMetadata t, int keys)
    {
        RowFilter filter = filter(t);
        ColumnFilter columns = columns(t, filter);
        DataLimits limits = limits(t, key(t, below(keys)));
        long now = one(20) ? 3000000000L : NOW;
        if (!one(5))
        {
            DecoratedKey key = t.partitioner.decorateKey(key(t, below(keys)));
            return SinglePartitionReadCommand.create(t, now, columns, filter, limits, key, clusterings(t));
        }
        DataRange range = range(t, keys);
        return range == null ? null : PartitionRangeReadCommand.create(t, now, columns, filter, limits, range);
    }

    // ---- The answers.

    static void collect(Row row, EncodingStats.Collector c)
    {
        c.update(row.primaryKeyLivenessInfo());
        c.update(row.deletion().time());
        for (ColumnData d : row)
        {
            if (d.column().isComplex()) c.update(((ComplexColumnData) d).complexDeletion());
        }
        for (Cell<?> cell : row.cells()) c.update(cell);
    }

    static EncodingStats stats(UnfilteredRowIterator it, Unfiltered first)
    {
        EncodingStats.Collector c = new EncodingStats.Collector();
        c.update(it.partitionLevelDeletion());
        if (!it.staticRow().isEmpty()) collect(it.staticRow(), c);
        if (first instanceof Row) collect((Row) first, c);
        if (first instanceof RangeTombstoneBoundMarker) c.update(((RangeTombstoneBoundMarker) first).deletionTime());
        if (first instanceof RangeTombstoneBoundaryMarker)
        {
            c.update(((RangeTombstoneBoundaryMarker) first).startDeletionTime());
            c.update(((RangeTombstoneBoundaryMarker) first).endDeletionTime());
        }
        return c.get();
    }

    static UnfilteredRowIterator withStats(UnfilteredRowIterator it)
    {
        List<Unfiltered> all = new ArrayList<>();
        while (it.hasNext()) all.add(it.next());
        Iterator<Unfiltered> each = all.iterator();
        return new AbstractUnfilteredRowIterator(it.metadata(), it.partitionKey(), it.partitionLevelDeletion(), it.columns(),
                                                 it.staticRow(), it.isReverseOrder(), stats(it, all.isEmpty() ? null : all.get(0)))
        {
            protected Unfiltered computeNext() { return each.hasNext() ? each.next() : endOfData(); }
        };
    }

    static byte[] partitions(ReadCommand c) throws IOException
    {
        try (ReadExecutionController controller = c.executionController();
             UnfilteredPartitionIterator it = c.executeLocally(controller);
             DataOutputBuffer buffer = new DataOutputBuffer())
        {
            buffer.writeBoolean(false);
            while (it.hasNext())
                try (UnfilteredRowIterator partition = it.next())
                {
                    buffer.writeBoolean(true);
                    UnfilteredRowIteratorSerializer.serializer.serialize(withStats(partition), c.columnFilter(), buffer, MessagingService.VERSION_50);
                }
            buffer.writeBoolean(false);
            return buffer.toByteArray();
        }
    }

    static byte[] digest(ReadCommand c)
    {
        try (ReadExecutionController controller = c.executionController();
             UnfilteredPartitionIterator it = c.executeLocally(controller))
        {
            return ByteBufferUtil.getArray(ReadResponse.createDigestResponse(it, c).digest(c));
        }
    }

    static byte[] serialize(ReadCommand c, int version) throws IOException
    {
        try (DataOutputBuffer buffer = new DataOutputBuffer())
        {
            ReadCommand.serializer.serialize(c, buffer, version);
            return buffer.toByteArray();
        }
    }

    static void record(char type, byte[]... parts) throws IOException
    {
        int length = 0;
        for (byte[] p : parts) length += p.length;
        out.writeByte(type);
        out.writeInt(length);
        for (byte[] p : parts) out.write(p);
    }

    static void describe(TableMetadata t) throws IOException
    {
        StringBuilder s = new StringBuilder();
        s.append(t.name).append(' ').append(t.id).append(' ').append(t.params.gcGraceSeconds).append(' ').append(t.isCounter() ? 1 : 0).append('\n');
        for (ColumnMetadata c : t.columns())
            s.append(c.name).append(' ').append(c.kind.ordinal()).append(' ').append(c.position()).append(' ').append(c.type.toString()).append('\n');
        record('T', s.toString().getBytes(StandardCharsets.UTF_8));
    }

    static void generate(int keys, int count) throws IOException
    {
        Map<String, Integer> refused = new TreeMap<>();
        for (TableMetadata t : tables()) describe(t);
        for (TableMetadata t : tables())
            for (int i = 0; i < keys; i++)
                for (int n = below(6); n > 0; n--)
                {
                    PartitionUpdate u = update(t, t.partitioner.decorateKey(key(t, i)));
                    if (u.isEmpty()) continue;
                    Mutation m = new Mutation(u);
                    m.applyUnsafe();
                    try (DataOutputBuffer buffer = new DataOutputBuffer())
                    {
                        Mutation.serializer.serialize(m, buffer, MessagingService.VERSION_50);
                        record('M', buffer.toByteArray());
                    }
                }
        List<ReadCommand> commands = new ArrayList<>();
        List<byte[]> fromMemtable = new ArrayList<>();
        for (TableMetadata t : tables())
            for (int i = 0; i < count; i++)
            {
                ReadCommand c = command(t, keys);
                if (c == null) continue;
                try
                {
                    fromMemtable.add(partitions(c));
                    commands.add(c);
                }
                catch (IllegalStateException e)
                {
                    refused.merge(String.valueOf(e.getMessage()).replaceAll("for .* has", "has"), 1, Integer::sum);
                }
            }
        for (TableMetadata t : tables()) Keyspace.open("k").getColumnFamilyStore(t.name).forceBlockingFlush(ColumnFamilyStore.FlushReason.UNIT_TESTS);
        int written = 0, different = 0;
        for (int i = 0; i < commands.size(); i++)
        {
            ReadCommand c = commands.get(i);
            byte[] data = partitions(c);
            ReadCommand sent = one(3) ? c.copyAsDigestQuery(List.<Replica>of()) : c;
            byte[] bytes = serialize(sent, MessagingService.VERSION_50);
            if (c.nowInSec() == NOW && !Arrays.equals(bytes, serialize(sent, MessagingService.VERSION_40)))
                throw new AssertionError("versions differ");
            // Its answers differ by where it has the data: a partition without a static row has an empty one in an SSTable;
            // without any rows to read, a memtable names no regular columns.
            if (!Arrays.equals(data, fromMemtable.get(i)))
            {
                different++;
                continue;
            }
            record('C', new byte[] { (byte) (bytes.length >> 8), (byte) bytes.length }, bytes, digest(c), data);
            written++;
        }
        System.err.println(written + " reads and " + different + " whose answer depends on where the data lies; refused by Cassandra itself: " + refused);
    }

    // Our responses by Cassandra's deserializer.
    static void check(String ours, String reads) throws IOException
    {
        List<byte[]> commands = new ArrayList<>(), digests = new ArrayList<>();
        DataInputStream in = new DataInputStream(new BufferedInputStream(new FileInputStream(reads)));
        for (int type; (type = in.read()) >= 0;)
        {
            byte[] content = in.readNBytes(in.readInt());
            if (type != 'C') continue;
            int length = (content[0] & 255) << 8 | content[1] & 255;
            commands.add(Arrays.copyOfRange(content, 2, 2 + length));
            digests.add(Arrays.copyOfRange(content, 2 + length, 18 + length));
        }
        DataInputStream responses = new DataInputStream(new BufferedInputStream(new FileInputStream(ours)));
        int same = 0;
        for (int i = 0; i < commands.size(); i++)
        {
            byte[] body = responses.readNBytes(responses.readInt());
            for (int version : new int[] { MessagingService.VERSION_40, MessagingService.VERSION_50 })
            {
                ReadCommand c = ReadCommand.serializer.deserialize(new DataInputBuffer(commands.get(i)), MessagingService.VERSION_50);
                ReadResponse r = ReadResponse.serializer.deserialize(new DataInputBuffer(body), version);
                // An empty partition has lost its columns on the way, and with them its digest.
                boolean hasEmpty = false;
                try (UnfilteredPartitionIterator it = r.makeIterator(c))
                {
                    while (it.hasNext()) try (UnfilteredRowIterator partition = it.next()) { hasEmpty |= partition.isEmpty(); }
                }
                if (!hasEmpty && !Arrays.equals(ByteBufferUtil.getArray(r.digest(c)), digests.get(i)))
                    throw new AssertionError("read " + i + ": " + c);
            }
            same++;
        }
        System.err.println(same + " responses have Cassandra's digest");
    }

    public static void main(String[] args) throws Exception
    {
        DatabaseDescriptor.daemonInitialization();
        DatabaseDescriptor.createAllDirectories();
        CommitLog.instance.start();
        Keyspace.setInitialized();
        Schema.instance.transform(SchemaTransformations.addKeyspace(
            KeyspaceMetadata.create("k", KeyspaceParams.local(), Tables.of(definitions()), Views.none(), Types.of(UDT), UserFunctions.none()), true));
        if (args.length > 1)
        {
            check(args[1], args[0]);
        }
        else
        {
            out = new DataOutputStream(new BufferedOutputStream(new FileOutputStream(args[0])));
            generate(40, 1100);
            out.close();
        }
        System.exit(0);
    }
}
