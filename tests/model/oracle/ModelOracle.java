// Prints what Cassandra 5.0.9 itself makes of the cases that tests/model builds by the same names:
//
//   java --add-exports java.base/sun.nio.ch=ALL-UNNAMED --add-exports java.base/jdk.internal.ref=ALL-UNNAMED \
//     -cp '<cassandra jars>/*' ModelOracle.java ../data/model.txt
//
// One case a line: group, name, then the results, tab-separated; byte strings in hex, "null" where there is none.

import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.util.*;

import org.apache.cassandra.config.DataStorageSpec;
import org.apache.cassandra.config.DatabaseDescriptor;
import org.apache.cassandra.cql3.Operator;
import org.apache.cassandra.db.*;
import org.apache.cassandra.db.context.CounterContext;
import org.apache.cassandra.db.filter.RowFilter;
import org.apache.cassandra.db.marshal.*;
import org.apache.cassandra.db.partitions.PartitionUpdate;
import org.apache.cassandra.db.rows.*;
import org.apache.cassandra.dht.Murmur3Partitioner;
import org.apache.cassandra.io.util.DataOutputBuffer;
import org.apache.cassandra.net.MessagingService;
import org.apache.cassandra.schema.*;
import org.apache.cassandra.utils.*;
import org.apache.cassandra.utils.bytecomparable.*;

public class ModelOracle
{
    static final long TS = 1700000000000000L;
    static final long NOW = 1700000000L;
    static final int VERSION = MessagingService.VERSION_50;

    static PrintStream out;

    static ByteBuffer hex(String s) { return ByteBufferUtil.hexToBytes(s); }
    static ByteBuffer text(String s) { return UTF8Type.instance.decompose(s); }
    static ByteBuffer int32(int v) { return Int32Type.instance.decompose(v); }
    static String show(ByteBuffer b) { return b == null ? "null" : ByteBufferUtil.bytesToHex(b); }

    static void print(String group, String name, Object... results)
    {
        StringBuilder line = new StringBuilder(group).append('\t').append(name);
        for (Object r : results) line.append('\t').append(r);
        out.println(line);
    }

    static TableMetadata.Builder table(String name, String digit)
    {
        String id = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx".replace("x", digit);
        return TableMetadata.builder("k", name, TableId.fromString(id)).partitioner(Murmur3Partitioner.instance);
    }

    static final ListType<Integer> LIST = ListType.getInstance(Int32Type.instance, true);
    static final MapType<String, Integer> MAP = MapType.getInstance(UTF8Type.instance, Int32Type.instance, true);
    static final SetType<String> SET = SetType.getInstance(UTF8Type.instance, true);

    static TableMetadata plain()
    {
        TableMetadata.Builder b = table("plain", "1").addPartitionKeyColumn("k", BytesType.instance);
        for (int i = 0; i < 5; i++) b.addRegularColumn("c" + i, BytesType.instance);
        return b.build();
    }

    static TableMetadata wide()
    {
        return table("wide", "2").addPartitionKeyColumn("k", UTF8Type.instance)
               .addClusteringColumn("a", Int32Type.instance)
               .addClusteringColumn("b", ReversedType.getInstance(UTF8Type.instance))
               .addStaticColumn("s", Int32Type.instance).addStaticColumn("sm", MAP)
               .addRegularColumn("v", Int32Type.instance).addRegularColumn("t", UTF8Type.instance)
               .addRegularColumn("l", LIST).addRegularColumn("m", MAP).addRegularColumn("st", SET)
               .addRegularColumn("fl", ListType.getInstance(Int32Type.instance, false))
               .addRegularColumn("fm", MapType.getInstance(UTF8Type.instance, Int32Type.instance, false))
               .build();
    }

    static TableMetadata many()
    {
        TableMetadata.Builder b = table("many", "3").addPartitionKeyColumn("k", Int32Type.instance);
        for (int i = 0; i < 70; i++) b.addRegularColumn(String.format("r%02d", i), Int32Type.instance);
        return b.build();
    }

    static TableMetadata counts()
    {
        return table("counts", "4").isCounter(true).addPartitionKeyColumn("k1", UTF8Type.instance)
               .addPartitionKeyColumn("k2", Int32Type.instance)
               .addRegularColumn("c", CounterColumnType.instance).addRegularColumn("d", CounterColumnType.instance).build();
    }

    static final TableMetadata PLAIN, WIDE, MANY, COUNTS;
    static
    {
        DatabaseDescriptor.clientInitialization();
        DatabaseDescriptor.getRawConfig().max_mutation_size = new DataStorageSpec.IntKibibytesBound("16MiB");
        DatabaseDescriptor.setPartitionerUnsafe(Murmur3Partitioner.instance);
        PLAIN = plain();
        WIDE = wide();
        MANY = many();
        COUNTS = counts();
    }

    // A row under construction.
    static class R
    {
        final TableMetadata table;
        final Row.Builder b = BTreeRow.unsortedBuilder();

        R(TableMetadata table, Clustering<?> clustering)
        {
            this.table = table;
            b.newRow(clustering);
        }
        ColumnMetadata col(String name) { return table.getColumn(text(name)); }
        R live(long ts) { b.addPrimaryKeyLivenessInfo(LivenessInfo.create(ts, NOW)); return this; }
        R live(long ts, int ttl, long expires)
        {
            b.addPrimaryKeyLivenessInfo(LivenessInfo.withExpirationTime(ts, ttl, expires));
            return this;
        }
        R delete(long ts, long ldt) { b.addRowDeletion(Row.Deletion.regular(DeletionTime.build(ts, ldt))); return this; }
        R set(String c, long ts, ByteBuffer v) { return cell(c, ts, 0, Cell.NO_DELETION_TIME, v, null); }
        R put(String c, long ts, ByteBuffer path, ByteBuffer v) { return cell(c, ts, 0, Cell.NO_DELETION_TIME, v, path); }
        R tombstone(String c, long ts, long ldt) { return cell(c, ts, 0, ldt, ByteBufferUtil.EMPTY_BYTE_BUFFER, null); }
        R cell(String c, long ts, int ttl, long ldt, ByteBuffer v, ByteBuffer path)
        {
            b.addCell(new BufferCell(col(c), ts, ttl, ldt, v, path == null ? null : CellPath.create(path)));
            return this;
        }
        R deleteAll(String c, long ts, long ldt) { b.addComplexDeletion(col(c), DeletionTime.build(ts, ldt)); return this; }
        Row build() { return b.build(); }
    }

    static Clustering<?> wideAt(int a, String b) { return Clustering.make(int32(a), text(b)); }
    static R wideRow(int a, String b) { return new R(WIDE, wideAt(a, b)); }
    static ByteBuffer path(int i) { return hex("0000000000001000800000000000000" + i); }  // a version 1 uuid

    // An update under construction, with the columns that it has.
    static class U
    {
        final TableMetadata table;
        final DecoratedKey key;
        final List<Row> rows = new ArrayList<>();
        Row staticRow = Rows.EMPTY_STATIC_ROW;
        DeletionTime deletion = DeletionTime.LIVE;
        final List<RangeTombstone> ranges = new ArrayList<>();

        U(TableMetadata table, ByteBuffer key) { this.table = table; this.key = table.partitioner.decorateKey(key); }
        U row(R r) { rows.add(r.build()); return this; }
        U stat(R r) { staticRow = r.build(); return this; }
        U delete(long ts, long ldt) { deletion = DeletionTime.build(ts, ldt); return this; }
        U range(ClusteringBound<?> from, ClusteringBound<?> to, long ts, long ldt)
        {
            ranges.add(new RangeTombstone(Slice.make(from, to), DeletionTime.build(ts, ldt)));
            return this;
        }
        PartitionUpdate build()
        {
            RegularAndStaticColumns.Builder columns = RegularAndStaticColumns.builder();
            for (Row r : rows) for (ColumnMetadata c : r.columns()) columns.add(c);
            for (ColumnMetadata c : staticRow.columns()) columns.add(c);
            PartitionUpdate.Builder b = new PartitionUpdate.Builder(table, key, columns.build(), rows.size() + 1);
            if (!deletion.isLive()) b.addPartitionDeletion(deletion);
            if (!staticRow.isEmpty()) b.add(staticRow);
            for (Row r : rows) b.add(r);
            for (RangeTombstone r : ranges) b.add(r);
            return b.build();
        }
    }

    static String serialize(Mutation m) throws Exception
    {
        try (DataOutputBuffer out = new DataOutputBuffer())
        {
            Mutation.serializer.serialize(m, out, VERSION);
            return show(out.buffer());
        }
    }

    static String serialize(U update) throws Exception { return serialize(new Mutation(update.build())); }

    static R insert(long ts)
    {
        R r = new R(PLAIN, Clustering.EMPTY).live(ts);
        for (int i = 0; i < 5; i++) r.set("c" + i, ts, hex("a0a1a2a" + i));
        return r;
    }

    static ClusteringBound<?> bound(ClusteringPrefix.Kind kind, ByteBuffer... values)
    {
        return ByteBufferAccessor.instance.factory().bound(kind, values);
    }

    static U ranges()
    {
        return new U(WIDE, text("key"))
               .range(bound(ClusteringPrefix.Kind.INCL_START_BOUND, int32(1)), bound(ClusteringPrefix.Kind.EXCL_END_BOUND, int32(2)), TS, NOW)
               .range(bound(ClusteringPrefix.Kind.INCL_START_BOUND, int32(2)), bound(ClusteringPrefix.Kind.INCL_END_BOUND, int32(4)), TS + 1, NOW + 1)
               .range(bound(ClusteringPrefix.Kind.EXCL_START_BOUND, int32(5), text("x")), bound(ClusteringPrefix.Kind.INCL_END_BOUND, int32(5)), TS + 2, NOW)
               .range(bound(ClusteringPrefix.Kind.EXCL_START_BOUND, int32(9)), ClusteringBound.TOP, TS + 3, NOW)
               .row(wideRow(0, "z").set("v", TS, int32(0)))
               .row(wideRow(2, "q").set("v", TS + 9, int32(2)))
               .row(wideRow(5, "y").live(TS + 9))
               .row(wideRow(5, "a").live(TS + 9))
               .row(wideRow(7, "a").set("t", TS + 9, text("seven")));
    }

    static U rich()
    {
        return new U(WIDE, text("key"))
               .stat(new R(WIDE, Clustering.STATIC_CLUSTERING).set("s", TS, int32(7)).deleteAll("sm", TS - 1, NOW)
                     .put("sm", TS, text("x"), int32(1)).put("sm", TS, text("y"), int32(2)))
               .row(wideRow(1, "b").live(TS).set("v", TS, int32(5)).tombstone("t", TS, NOW).put("l", TS, path(1), int32(10))
                    .put("l", TS, path(2), int32(20)))
               .row(wideRow(1, "a").live(TS + 5, 100, NOW + 100).cell("v", TS + 5, 100, NOW + 100, int32(6), null)
                    .cell("t", TS + 6, 200, NOW + 200, text("six"), null))
               .row(wideRow(2, "").delete(TS + 7, NOW + 7))
               .row(wideRow(3, "c").deleteAll("m", TS, NOW).put("m", TS + 1, text("k"), int32(1)).deleteAll("st", TS, NOW)
                    .put("l", TS, path(1), int32(9)).set("fl", TS, frozenList(1, 2)));
    }

    static ByteBuffer frozenList(Integer... v) { return ListType.getInstance(Int32Type.instance, false).decompose(Arrays.asList(v)); }
    static ByteBuffer frozenMap(Map<String, Integer> m) { return MapType.getInstance(UTF8Type.instance, Int32Type.instance, false).decompose(m); }

    static void mutations() throws Exception
    {
        print("mutation", "insert", serialize(new U(PLAIN, hex("cafe")).row(insert(TS))));
        R ttl = new R(PLAIN, Clustering.EMPTY).live(TS, 3600, NOW + 3600);
        for (int i = 0; i < 5; i++) ttl.cell("c" + i, TS, 3600, NOW + 3600, hex("b" + i), null);
        print("mutation", "insert with ttl", serialize(new U(PLAIN, hex("cafe")).row(ttl)));
        print("mutation", "update", serialize(new U(PLAIN, hex("00")).row(new R(PLAIN, Clustering.EMPTY)
              .set("c1", TS, hex("01")).tombstone("c3", TS + 1, NOW).set("c4", TS + 2, ByteBufferUtil.EMPTY_BYTE_BUFFER))));
        print("mutation", "negative timestamp", serialize(new U(PLAIN, hex("00")).row(new R(PLAIN, Clustering.EMPTY)
              .set("c1", -5, hex("01")).cell("c2", 3, 100, 4200000000L, hex("02"), null).cell("c3", 3, 200, NOW, hex("03"), null))));
        print("mutation", "row deletion", serialize(new U(PLAIN, hex("00")).row(new R(PLAIN, Clustering.EMPTY).delete(TS, NOW))));
        print("mutation", "partition deletion", serialize(new U(PLAIN, hex("00")).delete(TS, NOW)));
        print("mutation", "nothing", serialize(new U(PLAIN, hex("00"))));
        print("mutation", "rich", serialize(rich()));
        print("mutation", "ranges", serialize(ranges()));
        R few = new R(MANY, Clustering.EMPTY), most = new R(MANY, Clustering.EMPTY);
        R all = new R(MANY, Clustering.EMPTY);
        for (int i = 0; i < 70; i++)
        {
            if (i % 30 == 1) few.set(String.format("r%02d", i), TS, int32(i));
            if (i % 7 != 3) most.set(String.format("r%02d", i), TS, int32(i));
            all.set(String.format("r%02d", i), TS, int32(i));
        }
        // One row can not have all the columns of the header and only some of them: these come as SSTable rows.
        sstableRow("few of many columns", MANY, few.build(), 0);
        sstableRow("most of many columns", MANY, most.build(), 300);
        sstableRow("all of many columns", MANY, all.build(), 0);
        sstableRow("plain", PLAIN, insert(TS).build(), 0);
        for (Row r : rich().build()) sstableRow("rich " + r.clustering().toString(WIDE), WIDE, r, 17);
        sstableRow("rich static", WIDE, rich().build().staticRow(), 0);
        sstableMarkers();
        print("mutation", "counter update", serialize(new U(COUNTS, CompositeType.build(ByteBufferAccessor.instance, text("a"), int32(1)))
              .row(new R(COUNTS, Clustering.EMPTY).set("c", TS, CounterContext.instance().createUpdate(5)))));
        PartitionUpdate one = new U(PLAIN, text("key")).row(insert(TS)).build();
        PartitionUpdate two = new U(WIDE, text("key")).row(wideRow(1, "b").live(TS)).build();
        print("mutation", "two tables", serialize(Mutation.merge(List.of(new Mutation(one), new Mutation(two)))));
    }

    static SerializationHeader sstableHeader(TableMetadata t)
    {
        return new SerializationHeader(true, t, t.regularAndStaticColumns(), new EncodingStats(TS - 10, NOW - 10, 5));
    }

    static void sstableRow(String name, TableMetadata t, Row row, long previous) throws Exception
    {
        try (DataOutputBuffer out = new DataOutputBuffer())
        {
            UnfilteredSerializer.serializer.serialize(row, new SerializationHelper(sstableHeader(t)), out, previous, VERSION);
            print("sstable row", name, show(out.buffer()));
        }
    }

    static void sstableMarkers() throws Exception
    {
        UnfilteredRowIterator it = ranges().build().unfilteredIterator();
        int i = 0;
        while (it.hasNext())
        {
            Unfiltered u = it.next();
            if (u.isRow()) continue;
            try (DataOutputBuffer out = new DataOutputBuffer())
            {
                UnfilteredSerializer.serializer.serialize(u, new SerializationHelper(sstableHeader(WIDE)), out, 200, VERSION);
                print("sstable marker", "marker " + i++, show(out.buffer()));
            }
        }
    }

    static void comparables()
    {
        AbstractType<?>[] plain = { Int32Type.instance, UTF8Type.instance };
        AbstractType<?>[] reversed = { ReversedType.getInstance(Int32Type.instance), ReversedType.getInstance(UTF8Type.instance) };
        ByteBuffer empty = ByteBufferUtil.EMPTY_BYTE_BUFFER;
        ByteBuffer[][] values = { {}, { int32(5) }, { int32(-1), text("ab") }, { null, text("") }, { empty, null }, { int32(0), text("a\0b") } };
        for (AbstractType<?>[] types : List.of(plain, reversed))
        {
            ClusteringComparator comparator = new ClusteringComparator(types);
            for (ByteBuffer[] v : values)
            {
                String name = (types == plain ? "plain" : "reversed");
                for (ByteBuffer b : v) name += " " + show(b);
                List<String> results = new ArrayList<>();
                for (ClusteringPrefix.Kind kind : ClusteringPrefix.Kind.values())
                {
                    if (kind.ordinal() > 7) continue;
                    ClusteringPrefix<?> p;
                    if (kind == ClusteringPrefix.Kind.STATIC_CLUSTERING) p = v.length == 0 ? Clustering.STATIC_CLUSTERING : null;
                    else if (kind == ClusteringPrefix.Kind.CLUSTERING) p = v.length == 2 ? Clustering.make(v) : null;
                    else if (v.length == 0) p = null;
                    else if (kind.isBoundary()) p = ByteBufferAccessor.instance.factory().boundary(kind, v);
                    else p = ByteBufferAccessor.instance.factory().bound(kind, v);
                    results.add(p == null ? "null" : show(ByteBuffer.wrap(ByteSourceInverse.readBytes(
                        comparator.asByteComparable(p).asComparableBytes(ByteComparable.Version.OSS50)))));
                }
                print("comparable", name, results.toArray());
            }
        }
    }

    static CounterId counterId(int i) { return CounterId.fromInt(i); }

    // "g1:5:10,l2:…": kind, id, clock, count.
    static ByteBuffer context(String shards)
    {
        int g = 0, l = 0, r = 0;
        String[] parts = shards.isEmpty() ? new String[0] : shards.split(",");
        for (String p : parts) switch (p.charAt(0)) { case 'g': g++; break; case 'l': l++; break; default: r++; }
        CounterContext.ContextState state = CounterContext.ContextState.allocate(g, l, r);
        for (String p : parts)
        {
            String[] f = p.substring(1).split(":");
            CounterId id = counterId(Integer.parseInt(f[0]));
            long clock = Long.parseLong(f[1]), count = Long.parseLong(f[2]);
            switch (p.charAt(0))
            {
                case 'g': state.writeGlobal(id, clock, count); break;
                case 'l': state.writeLocal(id, clock, count); break;
                default: state.writeRemote(id, clock, count);
            }
        }
        return state.context;
    }

    static void counters()
    {
        CounterContext c = CounterContext.instance();
        print("counter", "global", show(c.createGlobal(counterId(7), 3, -4)));
        print("counter", "update", show(c.createUpdate(12)));
        // None with equal clocks and different counts: Cassandra asks a running compaction manager whether to log these.
        String[] contexts = { "g1:1:5", "g1:2:3", "g2:1:7", "g1:1:5,g2:1:7", "g1:3:1,g3:1:100", "l1:1:2", "l1:5:6,r2:3:3",
                              "r1:4:4", "r1:-3:9", "r1:-9:8", "g2:9:9,r3:1:1", "l2:1:1,g3:7:7,r4:1:2" };
        for (String a : contexts)
            for (String b : contexts)
            {
                ByteBuffer merged = c.merge(context(a), context(b));
                print("counter merge", a + " " + b, show(context(a)), show(context(b)), show(merged), c.total(merged, ByteBufferAccessor.instance));
            }
    }

    static void tokens()
    {
        for (String key : List.of("", "00", "6b6579", "ff", "0001020304050607", "000102030405060708090a0b0c0d0e0f", "c3a9c3a9c3a9",
                                  "000102030405060708090a0b0c0d0e0f808182838485868788"))
            print("token", key, Murmur3Partitioner.instance.getToken(hex(key)).getTokenValue());
        print("key", "composite", show(CompositeType.build(ByteBufferAccessor.instance, text("a"), int32(1), ByteBufferUtil.EMPTY_BYTE_BUFFER)));
    }

    static void columnOrder()
    {
        TableMetadata.Builder b = table("order", "5").addPartitionKeyColumn("k", Int32Type.instance);
        for (String n : List.of("zz", "\u00e9t\u00e9", "a\u00e9", "az", "Upper", "a", "abcdefgh", "abcdefghi", "abcdef\u00e9", "_u"))
            b.addRegularColumn(n, Int32Type.instance);
        for (String n : List.of("ba", "\u00fcber", "b\u00e9")) b.addRegularColumn(n, SET);
        b.addStaticColumn("stat", Int32Type.instance).addStaticColumn("amap", MAP);
        TableMetadata t = b.build();
        List<String> cells = new ArrayList<>(), select = new ArrayList<>();
        for (ColumnMetadata c : t.regularColumns()) cells.add(c.name.toString());
        t.allColumnsInSelectOrder().forEachRemaining(c -> select.add(c.name.toString()));
        print("column order", "cells", cells.toArray());
        print("column order", "select", select.toArray());
    }

    static void reconciliation()
    {
        ColumnMetadata c = PLAIN.getColumn(text("c0"));
        List<Cell<?>> cells = new ArrayList<>();
        for (long ts : new long[] { TS, TS + 1 })
            for (String v : new String[] { "01", "02", "80" })
            {
                cells.add(new BufferCell(c, ts, 0, Cell.NO_DELETION_TIME, hex(v), null));
                cells.add(new BufferCell(c, ts, 10, NOW + 10, hex(v), null));
                cells.add(new BufferCell(c, ts, 20, NOW + 10, hex(v), null));
                cells.add(new BufferCell(c, ts, 20, NOW + 20, hex(v), null));
            }
        cells.add(new BufferCell(c, TS, 0, NOW, ByteBufferUtil.EMPTY_BYTE_BUFFER, null));
        cells.add(new BufferCell(c, TS, 0, NOW + 30, ByteBufferUtil.EMPTY_BYTE_BUFFER, null));
        for (Cell<?> a : cells)
        {
            StringBuilder wins = new StringBuilder();
            for (Cell<?> b : cells) wins.append(Cells.reconcile(a, b) == a ? (Cells.reconcile(b, a) == b && a != b ? '=' : '1') : '0');
            print("reconcile", a.timestamp() + " " + a.ttl() + " " + a.localDeletionTime() + " " + show(a.buffer()), wins);
        }
    }

    static void merge(String name, TableMetadata t, ByteBuffer key, DeletionTime deletion, R... rows) throws Exception
    {
        Row.Merger merger = new Row.Merger(rows.length, true);
        List<String> results = new ArrayList<>();
        results.add(Long.toString(deletion.markedForDeleteAt()));
        results.add(Long.toString(deletion.localDeletionTime()));
        List<String> inputs = new ArrayList<>();
        for (int i = 0; i < rows.length; i++)
        {
            Row row = rows[i].build();
            merger.add(i, row);
            U u = new U(t, key);
            u.rows.add(row);
            inputs.add(serialize(u));
        }
        Row merged = merger.merge(deletion);
        U u = new U(t, key);
        if (merged != null) u.rows.add(merged);
        results.add(serialize(u));
        results.addAll(inputs);
        print("merge", name, results.toArray());
    }

    static R[] counterRows()
    {
        return new R[] { new R(COUNTS, Clustering.EMPTY).set("c", TS, context("g1:1:5")).set("d", TS + 5, context("g1:1:5")),
                         new R(COUNTS, Clustering.EMPTY).set("c", TS + 1, context("g2:1:7")).tombstone("d", TS, NOW),
                         new R(COUNTS, Clustering.EMPTY).set("c", TS - 1, context("g1:2:9")) };
    }

    static void merges() throws Exception
    {
        ByteBuffer k = text("key");
        DeletionTime live = DeletionTime.LIVE;
        merge("newer wins", PLAIN, k, live, insert(TS), insert(TS + 1));
        merge("columns interleave", PLAIN, k, live, new R(PLAIN, Clustering.EMPTY).set("c0", TS, hex("01")).set("c3", TS, hex("02")),
              new R(PLAIN, Clustering.EMPTY).set("c1", TS, hex("03")).set("c3", TS + 1, hex("04")));
        merge("row deletion", PLAIN, k, live, insert(TS), new R(PLAIN, Clustering.EMPTY).delete(TS, NOW), new R(PLAIN, Clustering.EMPTY)
              .set("c2", TS + 1, hex("05")));
        merge("outer deletion covers the row's", PLAIN, k, DeletionTime.build(TS + 1, NOW), insert(TS + 2),
              new R(PLAIN, Clustering.EMPTY).delete(TS, NOW));
        merge("everything is deleted", PLAIN, k, DeletionTime.build(TS + 1, NOW), insert(TS), insert(TS + 1));
        merge("liveness with ttl", PLAIN, k, live, new R(PLAIN, Clustering.EMPTY).live(TS, 100, NOW + 100), insert(TS));
        merge("collections", WIDE, k, live,
              wideRow(1, "b").deleteAll("m", TS, NOW).put("m", TS + 1, text("a"), int32(1)).put("m", TS + 1, text("b"), int32(2))
                  .put("l", TS, path(1), int32(1)).put("st", TS, text("x"), ByteBufferUtil.EMPTY_BYTE_BUFFER),
              wideRow(1, "b").put("m", TS, text("a"), int32(7)).put("m", TS + 2, text("b"), int32(8)).put("m", TS + 1, text("c"), int32(9))
                  .put("l", TS, path(2), int32(2)).deleteAll("st", TS + 1, NOW),
              wideRow(1, "b").deleteAll("m", TS - 1, NOW).cell("l", TS + 3, 0, NOW, ByteBufferUtil.EMPTY_BYTE_BUFFER, path(1))
                  .set("v", TS, int32(1)));
        merge("a complex deletion under a row deletion", WIDE, k, live, wideRow(1, "b").deleteAll("m", TS, NOW).put("m", TS + 5, text("a"), int32(1)),
              wideRow(1, "b").delete(TS + 1, NOW));
        ByteBuffer ck = CompositeType.build(ByteBufferAccessor.instance, text("a"), int32(1));
        merge("counters", COUNTS, ck, live, counterRows());
        merge("deleted counter shards stay away", COUNTS, ck, DeletionTime.build(TS, NOW), counterRows());
    }

    static void filter(String name, U update, String column, Operator op, ByteBuffer mapKey, ByteBuffer value) throws Exception
    {
        RowFilter filter = RowFilter.create(false);
        ColumnMetadata c = update.table.getColumn(text(column));
        if (mapKey != null) filter.addMapEquality(c, mapKey, op, value); else filter.add(c, op, value);
        Row row = c.isStatic() ? update.staticRow : update.rows.get(0);
        boolean result = filter.isSatisfiedBy(update.table, update.key, row, NOW + 150);
        print("filter", name, serialize(update), column, op.getValue(), show(mapKey), show(value), result);
    }

    static void filters() throws Exception
    {
        U u = new U(WIDE, text("key"))
            .stat(new R(WIDE, Clustering.STATIC_CLUSTERING).set("s", TS, int32(7)).put("sm", TS, text("x"), int32(1)))
            .row(wideRow(1, "bob").live(TS).set("v", TS, int32(5)).set("t", TS, text("hello"))
                 .put("l", TS, path(1), int32(10)).put("m", TS, text("k"), int32(1)).cell("m", TS, 100, NOW + 100, int32(2), text("gone"))
                 .put("st", TS, text("x"), ByteBufferUtil.EMPTY_BYTE_BUFFER).set("fl", TS, frozenList(1, 2))
                 .set("fm", TS, frozenMap(Map.of("k", 1))));
        U bare = new U(WIDE, text("key")).row(wideRow(1, "").live(TS).set("t", TS, text("")).tombstone("v", TS, NOW));
        Operator[] comparisons = { Operator.EQ, Operator.NEQ, Operator.LT, Operator.LTE, Operator.GT, Operator.GTE };
        for (Operator op : comparisons)
        {
            for (int v : new int[] { 4, 5, 6 }) filter("v " + op + " " + v, u, "v", op, null, int32(v));
            for (int v : new int[] { 6, 7 }) filter("s " + op + " " + v, u, "s", op, null, int32(v));
            for (int v : new int[] { 0, 1 }) filter("a " + op + " " + v, u, "a", op, null, int32(v));
            for (String v : List.of("abc", "bob", "c")) filter("b " + op + " " + v, u, "b", op, null, text(v));
            for (String v : List.of("key", "z")) filter("k " + op + " " + v, u, "k", op, null, text(v));
            filter("t " + op + " empty", bare, "t", op, null, text(""));
            filter("deleted v " + op, bare, "v", op, null, int32(5));
            filter("fl " + op, u, "fl", op, null, frozenList(1, 2));
        }
        filter("v in", u, "v", Operator.IN, null, frozenList(1, 5));
        filter("v not in", u, "v", Operator.IN, null, frozenList(1, 6));
        for (Operator op : new Operator[] { Operator.LIKE_PREFIX, Operator.LIKE_SUFFIX, Operator.LIKE_CONTAINS, Operator.LIKE_MATCHES })
            for (String v : List.of("he", "lo", "ell", "hello", "x")) filter("t " + op + " " + v, u, "t", op, null, text(v));
        for (int v : new int[] { 1, 2, 10 })
        {
            filter("l contains " + v, u, "l", Operator.CONTAINS, null, int32(v));
            filter("m contains " + v, u, "m", Operator.CONTAINS, null, int32(v));
            filter("sm contains " + v, u, "sm", Operator.CONTAINS, null, int32(v));
            filter("fl contains " + v, u, "fl", Operator.CONTAINS, null, int32(v));
            filter("fm contains " + v, u, "fm", Operator.CONTAINS, null, int32(v));
            filter("nothing contains " + v, bare, "m", Operator.CONTAINS, null, int32(v));
        }
        for (String v : List.of("k", "x", "gone"))
        {
            filter("st contains " + v, u, "st", Operator.CONTAINS, null, text(v));
            filter("m contains key " + v, u, "m", Operator.CONTAINS_KEY, null, text(v));
            filter("fm contains key " + v, u, "fm", Operator.CONTAINS_KEY, null, text(v));
            filter("nothing contains key " + v, bare, "fm", Operator.CONTAINS_KEY, null, text(v));
            for (int i : new int[] { 1, 2 })
            {
                filter("m[" + v + "] = " + i, u, "m", Operator.EQ, text(v), int32(i));
                filter("sm[" + v + "] = " + i, u, "sm", Operator.EQ, text(v), int32(i));
                filter("fm[" + v + "] = " + i, u, "fm", Operator.EQ, text(v), int32(i));
            }
        }
        U counter = new U(COUNTS, CompositeType.build(ByteBufferAccessor.instance, text("a"), int32(1)))
            .row(new R(COUNTS, Clustering.EMPTY).set("c", TS, context("g1:1:5,g2:1:7")));
        for (long v : new long[] { 11, 12 })
            for (Operator op : new Operator[] { Operator.EQ, Operator.GT, Operator.LTE })
            {
                filter("c " + op + " " + v, counter, "c", op, null, LongType.instance.decompose(v));
                filter("d " + op + " " + v, counter, "d", op, null, LongType.instance.decompose(v));
            }
        filter("k1 = a", counter, "k1", Operator.EQ, null, text("a"));
        filter("k2 > 0", counter, "k2", Operator.GT, null, int32(0));
        filter("k2 > 1", counter, "k2", Operator.GT, null, int32(1));
    }

    public static void main(String[] args) throws Exception
    {
        out = new PrintStream(args[0], "UTF-8");
        mutations();
        comparables();
        counters();
        tokens();
        columnOrder();
        reconciliation();
        merges();
        filters();
        out.close();
        System.exit(0);
    }
}
