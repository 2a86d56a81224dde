// Prints what Cassandra 5.0.9's own compaction strategies choose among generated SSTables, for tests/strategy. The SSTables
// are mocks (Mockito 4.7.0 with mockito-inline, from Maven Central); everything that chooses is Cassandra's. The program is
// compiled into the package of the strategies:
//
//   javac -cp '<cassandra jars>/*:<mockito jars>/*' -d out StrategyOracle.java
//   java <the --add-opens and --add-exports of Cassandra's own start> \
//     -Dcassandra.config=file:///<a cassandra.yaml of its own folders> \
//     -Dcassandra.clock='org.apache.cassandra.db.compaction.StrategyOracle$FixedClock' \
//     -cp 'out:<cassandra jars>/*:<mockito jars>/*' org.apache.cassandra.db.compaction.StrategyOracle ../data
//
// choices.txt, tab-separated. A case is the life of one table: its SSTables come and go, and its strategy is asked again
// and again.
//   case name options now_millis gc_before flush_bytes min_memtable_timestamp ranges(left:right,…)
//   +  id bytes first last level min_timestamp max_timestamp max_local_deletion_time droppable created_millis repaired
//      coverage partitions read_rate           an SSTable; tokens are its keys, too; timestamps and times count from
//                                              START_MILLIS; droppable is in millionths; "-" for what is not there
//   b id                                       it is an input of a task that runs
//   f id                                       it is free again
//   o id, x id                                 it belongs to another group; it is suspect
//   now millis
//   >  level max_bytes tasks shares ids        the choice; "quiet" for no task; "-" where the strategy tells nothing
//   =  inputs outputs                          the task ended; the outputs came before
// shares.txt: shards of UCS and boundaries. options.txt: options that are checked, and what is read from them.
package org.apache.cassandra.db.compaction;

import java.io.PrintStream;
import java.lang.reflect.*;
import java.util.*;
import java.util.concurrent.TimeUnit;
import java.util.stream.*;

import org.apache.cassandra.config.DatabaseDescriptor;
import org.apache.cassandra.db.*;
import org.apache.cassandra.db.compaction.unified.Controller;
import org.apache.cassandra.db.lifecycle.*;
import org.apache.cassandra.db.memtable.Memtable;
import org.apache.cassandra.db.rows.Cell;
import org.apache.cassandra.dht.*;
import org.apache.cassandra.exceptions.ConfigurationException;
import org.apache.cassandra.io.sstable.*;
import org.apache.cassandra.io.sstable.format.SSTableReader;
import org.apache.cassandra.io.util.File;
import org.apache.cassandra.metrics.*;
import org.apache.cassandra.schema.CompactionParams;
import org.apache.cassandra.utils.*;
import org.mockito.Mockito;
import org.mockito.invocation.InvocationOnMock;

public class StrategyOracle
{
    static final String PACKAGE = "org.apache.cassandra.db.compaction.";
    static final long START_MILLIS = 1700000000000L;
    static PrintStream out;
    static final sun.misc.Unsafe unsafe = unsafe();

    public static class FixedClock implements Clock
    {
        static volatile long millis = START_MILLIS;
        public long nanoTime() { return millis * 1000000L; }
        public long currentTimeMillis() { return millis; }
    }

    static sun.misc.Unsafe unsafe()
    {
        try
        {
            Field f = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
            f.setAccessible(true);
            return (sun.misc.Unsafe) f.get(null);
        }
        catch (Exception e) { throw new RuntimeException(e); }
    }

    static void set(Object o, Class<?> type, String field, Object value) throws Exception
    {
        unsafe.putObject(o, unsafe.objectFieldOffset(type.getDeclaredField(field)), value);
    }

    static Object get(Object o, Class<?> type, String field) throws Exception
    {
        Field f = type.getDeclaredField(field);
        f.setAccessible(true);
        return f.get(o);
    }

    static Object call(Object o, Class<?> type, String method, long gcBefore) throws Exception
    {
        Method m = type.getDeclaredMethod(method, long.class);
        m.setAccessible(true);
        return m.invoke(o, gcBefore);
    }

    // The same numbers as the test's.
    static class SplitMix extends Random
    {
        long state = 0x9E3779B97F4A7C15L;
        public int nextInt(int bound)
        {
            long z = state += 0x9E3779B97F4A7C15L;
            z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
            z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
            return (int) Long.remainderUnsigned(z ^ (z >>> 31), bound);
        }
    }

    static DecoratedKey key(long token)
    {
        return new BufferDecoratedKey(new Murmur3Partitioner.LongToken(token), ByteBufferUtil.bytes(token));
    }

    static class Table
    {
        long bytes, first, last, minTs, maxTs, maxLdt, created, keys;
        int id, level;
        double droppable, coverage = Double.NaN, rate;
        boolean repaired, other, suspect;
        SSTableReader reader;
        DecoratedKey firstKey, lastKey;

        void make() throws Exception
        {
            firstKey = key(first);
            lastKey = key(last);
            EstimatedHistogram cells = Mockito.mock(EstimatedHistogram.class, i -> i.getMethod().getName().equals("mean") ? (Object) 10L
                                                                                   : i.getMethod().getName().equals("count") ? (Object) keys : null);
            RestorableMeter meter = rate == 0 ? null : Mockito.mock(RestorableMeter.class, i -> i.getMethod().getName().equals("twoHourRate") ? rate : null);
            reader = Mockito.mock(SSTableReader.class, i -> answer(i, cells, meter));
            set(reader, SSTable.class, "descriptor",
                new Descriptor(new File("/tmp/strategy-oracle/ks/t-0123456789abcdef0123456789abcdef"), "ks", "t", new SequenceBasedSSTableId(id)));
            set(reader, SSTableReader.class, "openReason", SSTableReader.OpenReason.NORMAL);
        }

        Object answer(InvocationOnMock i, EstimatedHistogram cells, RestorableMeter meter)
        {
            switch (i.getMethod().getName())
            {
                case "onDiskLength": return bytes;
                case "bytesOnDisk": return bytes + 4096;
                case "getFirst": return firstKey;
                case "getLast": return lastKey;
                case "getSSTableLevel": return level;
                case "getMinTimestamp": return minTs;
                case "getMaxTimestamp": return maxTs;
                case "getMaxLocalDeletionTime": return maxLdt;
                case "getEstimatedDroppableTombstoneRatio": return droppable;
                case "getDataCreationTime": return created;
                case "tokenSpaceCoverage": return coverage;
                case "estimatedKeys": return keys;
                case "isRepaired": return repaired;
                case "isMarkedSuspect": return suspect;
                case "isEstimationInformative": return true;
                case "getReadMeter": return meter;
                case "getEstimatedCellPerPartitionCount": return cells;
                case "mutateLevelAndReload": level = i.getArgument(0); return null;
                case "estimatedKeysForRanges": return keysIn(i.getArgument(0));
                case "hashCode": return id;
                case "equals": return i.getArgument(0) == reader;
                case "toString": return "" + id;
                default: throw new AssertionError("not mocked: " + i.getMethod());
            }
        }

        // BtiTableReader does it so, for keys that lie evenly between the first and the last.
        long keysIn(Collection<Range<Token>> ranges)
        {
            long sum = 0;
            for (Range<Token> range : Range.normalize(ranges))
            {
                long left = (Long) range.left.getTokenValue(), right = (Long) range.right.getTokenValue();
                boolean fromStart = left <= first, toEnd = range.right.isMinimum() || right > last;
                if (fromStart && toEnd) return keys;
                if (left > last || (!range.right.isMinimum() && right <= first)) continue;
                long from = Math.max(left, first), to = range.right.isMinimum() ? last : Math.min(right, last);
                sum += (long) (keys * (width(from, to) / width(first, last)));
            }
            return Math.min(sum, keys);
        }

        static double width(long from, long to) { return unsigned(to - from); }
        static double unsigned(long v) { return v >= 0 ? (double) v : ((double) ((v >>> 1) | (v & 1))) * 2; }

        void print()
        {
            line("+", id, bytes, first, last, level, minTs - START_MILLIS * 1000, maxTs - START_MILLIS * 1000,
                 maxLdt == Cell.NO_DELETION_TIME ? "-" : maxLdt, Math.round(droppable * 1e6), created - START_MILLIS, repaired ? 1 : 0,
                 Double.isNaN(coverage) ? "-" : Double.toHexString(coverage), keys, rate == 0 ? "-" : rate / keys);
            if (other) line("o", id);
            if (suspect) line("x", id);
        }
    }

    static void line(Object... fields)
    {
        out.println(Arrays.stream(fields).map(String::valueOf).collect(Collectors.joining("\t")));
    }

    static Map<String, String> options(String text)
    {
        Map<String, String> map = new TreeMap<>();
        for (String pair : text.split(";"))
            if (!pair.isEmpty()) map.put(pair.substring(0, pair.indexOf('=')), pair.substring(pair.indexOf('=') + 1));
        return map;
    }

    // One table with its strategy.
    static class World
    {
        final Map<Integer, Table> tables = new TreeMap<>();
        final Map<SSTableReader, Table> byReader = new IdentityHashMap<>();
        final Set<Integer> busy = new TreeSet<>();
        final ColumnFamilyStore cfs;
        final ColumnFamilyStore.VersionedLocalRanges ranges = new ColumnFamilyStore.VersionedLocalRanges(ColumnFamilyStore.RING_VERSION_IRRELEVANT, 1);
        final CompactionParams params;
        final AbstractCompactionStrategy strategy;
        final long gcBefore, minMemtable;
        final double flush;
        Controller controller;
        ShardManager shards;
        int nextId = 1;

        Set<SSTableReader> select(java.util.function.Predicate<Table> filter)
        {
            Set<SSTableReader> set = new LinkedHashSet<>();
            for (Table t : tables.values()) if (filter.test(t)) set.add(t.reader);
            return set;
        }

        Set<SSTableReader> overlapping(Iterable<SSTableReader> of)
        {
            Set<SSTableReader> given = new HashSet<>();
            of.forEach(given::add);
            return select(t -> !given.contains(t.reader) && given.stream().anyMatch(g -> g.getFirst().compareTo(t.lastKey) <= 0 && t.firstKey.compareTo(g.getLast()) <= 0));
        }

        World(String name, String text, long[][] owned, double flush, long gcBefore, long minMemtable) throws Exception
        {
            this.flush = flush;
            this.gcBefore = gcBefore;
            this.minMemtable = minMemtable;
            FixedClock.millis = START_MILLIS;
            for (long[] r : owned)
                ranges.add(new Splitter.WeightedRange(1.0, new Range<>(new Murmur3Partitioner.LongToken(r[0]), new Murmur3Partitioner.LongToken(r[1]))));
            Map<String, String> map = options(text);
            params = CompactionParams.fromMap(map);
            params.validate();
            line("case", name, text, START_MILLIS, gcBefore, flush, minMemtable,
                 Arrays.stream(owned).map(r -> r[0] + ":" + r[1]).collect(Collectors.joining(",")));
            Memtable memtable = Mockito.mock(Memtable.class);
            Mockito.when(memtable.getMinTimestamp()).thenReturn(minMemtable);
            View view = Mockito.mock(View.class, i -> i.getMethod().getName().equals("getAllMemtables") ? Collections.singletonList(memtable) : null);
            Tracker tracker = Mockito.mock(Tracker.class, i -> {
                switch (i.getMethod().getName())
                {
                    case "getCompacting": return select(t -> busy.contains(t.id));
                    case "getUncompacting":
                        Set<SSTableReader> all = new LinkedHashSet<>();
                        ((Iterable<SSTableReader>) i.getArgument(0)).forEach(r -> { if (!busy.contains(byReader.get(r).id)) all.add(r); });
                        return all;
                    case "getView": return view;
                    default: throw new AssertionError("not mocked: " + i.getMethod());
                }
            });
            CompactionStrategyManager manager = Mockito.mock(CompactionStrategyManager.class, i ->
                i.getMethod().getName().equals("onlyPurgeRepairedTombstones")
                ? (Object) Boolean.parseBoolean(map.get(AbstractCompactionStrategy.ONLY_PURGE_REPAIRED_TOMBSTONES)) : null);
            set(manager, CompactionStrategyManager.class, "compactionLogger", Mockito.mock(CompactionLogger.class));
            cfs = Mockito.mock(ColumnFamilyStore.class, i -> {
                switch (i.getMethod().getName())
                {
                    case "getDirectories": return null;
                    case "getTracker": return tracker;
                    case "getCompactionStrategyManager": return manager;
                    case "getMinimumCompactionThreshold": return params.minCompactionThreshold();
                    case "getMaximumCompactionThreshold": return params.maxCompactionThreshold();
                    case "getNeverPurgeTombstones": return false;
                    case "getUncompactingSSTables": return select(t -> !busy.contains(t.id));
                    case "getLiveSSTables": case "getSSTables": return select(t -> true);
                    case "getOverlappingLiveSSTables": return overlapping(i.getArgument(0));
                    case "getKeyspaceName": case "getTableName": return "t";
                    default: throw new AssertionError("not mocked: " + i.getMethod());
                }
            });
            MovingAverage average = Mockito.mock(MovingAverage.class, i -> i.getMethod().getName().equals("get") ? flush : null);
            TableMetrics metrics = Mockito.mock(TableMetrics.class);
            set(metrics, TableMetrics.class, "flushSizeOnDisk", average);
            set(cfs, ColumnFamilyStore.class, "metric", metrics);
            Map<String, String> own = new HashMap<>(params.options());
            if (params.klass() == UnifiedCompactionStrategy.class)
            {
                controller = Mockito.spy(Controller.fromOptions(cfs, own));
                Mockito.doReturn(new SplitMix()).when(controller).random();
                strategy = new UnifiedCompactionStrategy(cfs, own, controller);
                shards = new ShardManagerNoDisks(ranges);
                set(strategy, UnifiedCompactionStrategy.class, "shardManager", shards);
            }
            else
                strategy = params.klass().getConstructor(ColumnFamilyStore.class, Map.class).newInstance(cfs, own);
        }

        void add(Table t) throws Exception
        {
            t.id = nextId++;
            t.make();
            tables.put(t.id, t);
            byReader.put(t.reader, t);
            t.print();
            if (!t.other) strategy.addSSTable(t.reader);
        }

        void setBusy(int id, boolean to)
        {
            if (to) busy.add(id); else busy.remove(id);
            line(to ? "b" : "f", id);
        }

        void advance(long millis)
        {
            FixedClock.millis += millis;
            line("now", FixedClock.millis);
        }

        // The choice as ids; null: quiet.
        List<Integer> pick() throws Exception
        {
            Collection<SSTableReader> chosen;
            String level = "-", max = "-", shares = "-";
            if (strategy instanceof UnifiedCompactionStrategy)
            {
                UnifiedCompactionStrategy.CompactionPick pick = ((UnifiedCompactionStrategy) strategy).getNextCompactionPick(gcBefore);
                chosen = pick;
                if (pick != null)
                {
                    Set<SSTableReader> inputs = new HashSet<>(pick);
                    inputs.removeAll(CompactionController.getFullyExpiredSSTables(cfs, inputs, overlapping(inputs), gcBefore));
                    if (inputs.size() == pick.size())
                        shares = "" + controller.getNumShards(shards.calculateCombinedDensity(inputs) * shards.shardSetCoverage());
                }
            }
            else if (strategy instanceof LeveledCompactionStrategy)
            {
                LeveledManifest.CompactionCandidate candidate = ((LeveledCompactionStrategy) strategy).manifest.getCompactionCandidates();
                if (candidate == null)
                {
                    SSTableReader droppable = (SSTableReader) call(strategy, LeveledCompactionStrategy.class, "findDroppableSSTable", gcBefore);
                    chosen = droppable == null ? null : Collections.singleton(droppable);
                    if (droppable != null) { level = "" + droppable.getSSTableLevel(); max = "" + strategy.getMaxSSTableBytes(); }
                }
                else
                {
                    chosen = candidate.sstables;
                    level = "" + candidate.level;
                    max = candidate.maxSSTableBytes == Long.MAX_VALUE ? "-" : "" + candidate.maxSSTableBytes;
                }
            }
            else
                chosen = (Collection<SSTableReader>) call(strategy, strategy.getClass(), "getNextBackgroundSSTables", gcBefore);
            boolean expired = tables.values().stream().anyMatch(t -> t.maxLdt < gcBefore);
            Object tasks = expired && !(strategy instanceof SizeTieredCompactionStrategy) && !(strategy instanceof LeveledCompactionStrategy)
                           ? "-" : (Object) strategy.getEstimatedRemainingTasks();
            if (chosen == null || chosen.isEmpty())
            {
                line(">", "quiet", tasks);
                return null;
            }
            List<Integer> ids = chosen.stream().map(r -> byReader.get(r).id).sorted().collect(Collectors.toList());
            line(">", level, max, tasks, shares, ids.stream().map(String::valueOf).collect(Collectors.joining(",")));
            lastLevel = level.equals("-") ? 0 : Integer.parseInt(level);
            lastMax = max.equals("-") ? Long.MAX_VALUE : Long.parseLong(max);
            return ids;
        }
        int lastLevel;
        long lastMax;

        // The inputs become SSTables of at most lastMax bytes, or as many as asked for, side by side.
        void end(List<Integer> inputs, Random random, int pieces) throws Exception
        {
            long bytes = 0, first = Long.MAX_VALUE, last = Long.MIN_VALUE, minTs = Long.MAX_VALUE, maxTs = Long.MIN_VALUE, maxLdt = Long.MIN_VALUE;
            boolean repaired = true;
            for (int id : inputs)
            {
                Table t = tables.get(id);
                bytes += t.bytes;
                first = Math.min(first, t.first);
                last = Math.max(last, t.last);
                minTs = Math.min(minTs, t.minTs);
                maxTs = Math.max(maxTs, t.maxTs);
                maxLdt = Math.max(maxLdt, t.maxLdt);
                repaired &= t.repaired;
            }
            bytes = (long) (bytes * (0.7 + 0.3 * random.nextDouble()));
            if (lastMax != Long.MAX_VALUE) pieces = (int) Math.max(1, bytes / lastMax);
            if (last - first < pieces && last - first >= 0) pieces = 1;
            List<Table> outputs = new ArrayList<>();
            List<Integer> outputIds = new ArrayList<>();
            for (int i = 0; i < pieces; i++)
            {
                Table t = new Table();
                t.id = nextId++;
                t.bytes = bytes / pieces + i;
                t.level = lastLevel;
                t.first = i == 0 ? first : first + Long.divideUnsigned(last - first, pieces) * i + 1;
                t.last = i == pieces - 1 ? last : first + Long.divideUnsigned(last - first, pieces) * (i + 1);
                t.minTs = minTs;
                t.maxTs = maxTs - i;
                t.maxLdt = maxLdt;
                t.created = FixedClock.millis + i;
                t.repaired = repaired;
                t.keys = 1000;
                t.droppable = (random.nextInt(400) * 1000 + t.id) / 1e6;
                t.make();
                t.print();
                outputs.add(t);
                outputIds.add(t.id);
            }
            line("=", join(inputs), join(outputIds));
            List<SSTableReader> removed = new ArrayList<>(), added = new ArrayList<>();
            for (int id : inputs) { removed.add(tables.get(id).reader); busy.remove(id); }
            for (Table t : outputs) { tables.put(t.id, t); byReader.put(t.reader, t); added.add(t.reader); }
            for (int id : inputs) tables.remove(id);
            strategy.replaceSSTables(removed, added);
        }
        static String join(List<Integer> ids) { return ids.stream().map(String::valueOf).collect(Collectors.joining(",")); }
    }

    static long uniform(Random r, long from, long to) { return from + (long) (r.nextDouble() * (to - from)); }
    static long logUniform(Random r, double from, double to) { return (long) Math.exp(Math.log(from) + r.nextDouble() * (Math.log(to) - Math.log(from))); }

    // Where an SSTable lies: nearly everywhere, in one of several equal parts, somewhere, or in one place.
    static void place(Table t, Random r, int style)
    {
        long max = Long.MAX_VALUE, min = Long.MIN_VALUE;
        switch (style)
        {
            case 0: t.first = min + 1 + (r.nextLong() >>> 10); t.last = max - (r.nextLong() >>> 10); break;
            case 1:
                int parts = 1 << r.nextInt(4);
                long width = Long.divideUnsigned(-1L, parts), part = r.nextInt(parts);
                t.first = min + 1 + part * width + (r.nextLong() >>> 16);
                t.last = min + 1 + part * width + (width - (r.nextLong() >>> 16));
                if (t.last < t.first) t.last = max;
                break;
            case 2: long a = r.nextLong(), b = r.nextLong(); t.first = Math.min(a, b); t.last = Math.max(a, b); break;
            default: t.first = r.nextLong(); t.last = r.nextInt(2) == 0 ? t.first : t.first + Math.min(r.nextInt(1000), max - Math.max(t.first, 0));
        }
        if (t.first == min) t.first++;
        if (t.last < t.first) t.last = t.first;
    }

    static Table random(Random r, World w, int[] styles, double low, double high)
    {
        Table t = new Table();
        place(t, r, styles[r.nextInt(styles.length)]);
        t.bytes = logUniform(r, low, high) + w.nextId;
        long now = FixedClock.millis * 1000L;
        t.maxTs = now - (r.nextInt(100) < 70 ? (long) (r.nextDouble() * 86400e6) : (long) (r.nextDouble() * 86400e6 * 6)) / 1000 * 1000 - w.nextId;
        t.minTs = t.maxTs - (long) (r.nextDouble() * 86400e6);
        t.maxLdt = r.nextInt(100) < 15 ? w.gcBefore - 1 - r.nextInt(100000) : Cell.NO_DELETION_TIME;
        t.droppable = ((r.nextInt(3) == 0 ? r.nextInt(700) : r.nextInt(150)) * 1000 + w.nextId) / 1e6;
        t.created = FixedClock.millis - (long) (r.nextDouble() * 86400e3 * 4);
        t.keys = 100 + r.nextInt(100000);
        return t;
    }

    static void play(World w, Random r, int rounds, int[] styles, double low, double high, int pieces) throws Exception
    {
        for (int round = 0; round < rounds; round++)
        {
            List<Integer> ids = w.pick();
            if (ids == null || r.nextInt(4) == 0)
            {
                int flushes = 1 + r.nextInt(3);
                for (int i = 0; i < flushes; i++) w.add(random(r, w, styles, low, high));
                w.advance(r.nextInt(5) == 0 ? 700000 : 1000);
            }
            if (ids == null) continue;
            if (r.nextInt(3) == 0) { for (int id : ids) w.setBusy(id, true); continue; }
            w.end(ids, r, pieces);
            if (r.nextInt(5) == 0 && !w.busy.isEmpty())
                for (int id : new ArrayList<>(w.busy)) w.setBusy(id, false);
        }
    }

    static final long[][] WHOLE = { { Long.MIN_VALUE, Long.MIN_VALUE } };
    static long[][] vnodes(Random r, int count)
    {
        TreeSet<Long> tokens = new TreeSet<>();
        while (tokens.size() < 2 * count) tokens.add(r.nextLong());
        long[][] owned = new long[count][];
        Iterator<Long> it = tokens.iterator();
        for (int i = 0; i < count; i++) owned[i] = new long[] { it.next(), it.next() };
        return owned;
    }

    static long memtable(Random r)
    {
        return r.nextInt(2) == 0 ? Long.MAX_VALUE : (START_MILLIS - r.nextInt(86400000)) * 1000L;
    }

    static String tombstones(Random r)
    {
        String text = "";
        if (r.nextInt(3) == 0) text += ";tombstone_threshold=0." + (5 + r.nextInt(50));
        if (r.nextInt(3) == 0) text += ";tombstone_compaction_interval=" + r.nextInt(200000);
        if (r.nextInt(3) == 0) text += ";unchecked_tombstone_compaction=" + r.nextBoolean();
        if (r.nextInt(6) == 0) text += ";only_purge_repaired_tombstones=true";
        return text;
    }

    static void decorate(World w, Random r, Table t, boolean rates)
    {
        t.repaired = r.nextInt(3) == 0;
        t.other = r.nextInt(12) == 0;
        t.suspect = r.nextInt(25) == 0;
        if (rates) t.rate = r.nextInt(1000000) / 7.0;
    }

    static void sizeTiered(int n) throws Exception
    {
        Random r = new Random(1000 + n);
        String text = "class=" + PACKAGE + "SizeTieredCompactionStrategy" + tombstones(r);
        if (r.nextInt(2) == 0) text += ";min_threshold=" + (2 + r.nextInt(4)) + ";max_threshold=" + (6 + r.nextInt(10));
        if (r.nextInt(3) == 0) text += ";min_sstable_size=" + logUniform(r, 1, 1e9);
        if (r.nextInt(3) == 0) text += ";bucket_low=0." + (3 + r.nextInt(6)) + ";bucket_high=1." + (1 + r.nextInt(8));
        World w = new World("stcs" + n, text, WHOLE, 0, START_MILLIS / 1000 - 864000, memtable(r));
        int[] styles = { 0, 1, 2, 3 };
        boolean rates = r.nextInt(2) == 0;
        int count = 1 + r.nextInt(n % 5 == 0 ? 60 : 20);
        for (int i = 0; i < count; i++)
        {
            Table t = random(r, w, styles, 1e6, n % 2 == 0 ? 1e8 : 1e11);
            decorate(w, r, t, rates);
            w.add(t);
            if (r.nextInt(10) == 0) w.setBusy(t.id, true);
        }
        play(w, r, 8, styles, 1e6, 1e8, 1);
    }

    static void timeWindow(int n) throws Exception
    {
        Random r = new Random(2000 + n);
        String text = "class=" + PACKAGE + "TimeWindowCompactionStrategy" + (r.nextInt(2) == 0 ? tombstones(r) : "");
        if (r.nextInt(2) == 0) text += ";min_threshold=" + (2 + r.nextInt(4)) + ";max_threshold=" + (6 + r.nextInt(10));
        if (r.nextInt(2) == 0) text += ";compaction_window_unit=" + (new String[] { "MINUTES", "HOURS", "DAYS" })[r.nextInt(3)] + ";compaction_window_size=" + (1 + r.nextInt(12));
        if (r.nextInt(5) == 0) text += ";timestamp_resolution=" + (new String[] { "SECONDS", "MILLISECONDS", "NANOSECONDS" })[r.nextInt(3)];
        if (r.nextInt(3) == 0) text += ";expired_sstable_check_frequency_seconds=" + r.nextInt(2);
        World w = new World("twcs" + n, text, WHOLE, 0, START_MILLIS / 1000 - 864000, memtable(r));
        int[] styles = { 0, 2, 3 };
        boolean rates = r.nextInt(3) == 0;
        int count = 1 + r.nextInt(n % 5 == 0 ? 60 : 20);
        for (int i = 0; i < count; i++)
        {
            Table t = random(r, w, styles, 1e6, 1e9);
            decorate(w, r, t, rates);
            if (t.maxLdt < w.gcBefore && r.nextInt(2) == 0) { t.maxTs -= 10 * 86400000000L; t.minTs -= 10 * 86400000000L; }
            w.add(t);
            if (r.nextInt(10) == 0) w.setBusy(t.id, true);
        }
        play(w, r, 8, styles, 1e6, 1e9, 1);
    }

    static void leveled(int n) throws Exception
    {
        Random r = new Random(3000 + n);
        int mb = 1 + r.nextInt(20), fanout = n % 3 == 0 ? 10 : 2 + r.nextInt(5);
        String text = "class=" + PACKAGE + "LeveledCompactionStrategy;sstable_size_in_mb=" + mb + ";fanout_size=" + fanout + tombstones(r);
        if (r.nextInt(3) == 0) text += ";max_threshold=" + (4 + r.nextInt(30));
        World w = new World("lcs" + n, text, WHOLE, 0, START_MILLIS / 1000 - 864000, memtable(r));
        double size = mb * 1048576.0;
        boolean strange = n % 4 == 0;  // levels that overlap, suspects, other groups
        int l0 = n % 7 == 0 ? 33 + r.nextInt(30) : r.nextInt(12);
        int[] styles = n % 2 == 0 ? new int[] { 0, 2 } : new int[] { 1, 2, 3 };
        for (int i = 0; i < l0; i++)
        {
            Table t = random(r, w, styles, size / 8, size * 2);
            if (strange) decorate(w, r, t, false);
            w.add(t);
            if (r.nextInt(12) == 0) w.setBusy(t.id, true);
        }
        int top = r.nextInt(4);
        for (int level = 1; level <= top; level++)
        {
            int count = (int) Math.min(40, Math.pow(fanout, level) * (0.5 + r.nextDouble()));
            TreeSet<Long> tokens = new TreeSet<>();
            while (tokens.size() < 2 * count) tokens.add(r.nextLong());
            Iterator<Long> it = tokens.iterator();
            for (int i = 0; i < count; i++)
            {
                Table t = random(r, w, styles, size * 0.8, size * 1.05);
                t.first = it.next();
                t.last = it.next();
                t.level = level;
                if (strange)
                {
                    if (r.nextInt(8) == 0) place(t, r, 2);
                    decorate(w, r, t, false);
                }
                w.add(t);
                if (r.nextInt(20) == 0) w.setBusy(t.id, true);
            }
        }
        w.strategy.startup();
        play(w, r, strange ? 1 : n % 5 == 0 ? 60 : 12, styles, size / 4, size * 2, 1);
    }

    // Level 1 gives one SSTable after the other while level 3 rests.
    static void starved(int n) throws Exception
    {
        Random r = new Random(5000 + n);
        World w = new World("lcsstarved" + n, "class=" + PACKAGE + "LeveledCompactionStrategy;sstable_size_in_mb=1;fanout_size=2", WHOLE, 0,
                            START_MILLIS / 1000 - 864000, Long.MAX_VALUE);
        long step = Long.divideUnsigned(-1L, 50);
        for (int i = 0; i < 80; i++)
        {
            Table t = random(r, w, new int[] { 0 }, 1e6, 1.05e6);
            long part = i < 50 ? i : (i - 50) * 3 / 2 + r.nextInt(2);
            t.level = i < 50 ? 1 : 3;
            t.first = Long.MIN_VALUE + 1 + part * step + (i < 50 ? 0 : 1000 + i);
            t.last = t.first + (i < 50 ? step - 1 : i % 5 == 0 ? 0 : step / 2);
            t.bytes = i < 50 ? t.bytes : t.bytes / 8;
            w.add(t);
        }
        w.strategy.startup();
        for (int i = 0; i < 45; i++)
        {
            List<Integer> ids = w.pick();
            if (ids == null) break;
            for (int id : ids) w.setBusy(id, true);
        }
    }

    // An SSTable with tombstones, which others overlap in part.
    static void droppable(int n) throws Exception
    {
        Random r = new Random(6000 + n);
        World w = new World("stcsdroppable" + n, "class=" + PACKAGE + "SizeTieredCompactionStrategy;min_sstable_size=0", WHOLE, 0,
                            START_MILLIS / 1000 - 864000, Long.MAX_VALUE);
        for (int i = 0; i < 3; i++)
        {
            Table t = random(r, w, i == 0 ? new int[] { 0 } : n % 3 == 0 ? new int[] { 3 } : new int[] { 2 }, 1e6, 1e10);
            t.maxLdt = Cell.NO_DELETION_TIME;
            t.droppable = i == 0 ? 0.2 + r.nextInt(600000) / 1e6 : 0;
            t.created = START_MILLIS - 86400000L * (1 + r.nextInt(3)) - 1;
            w.add(t);
        }
        w.pick();
    }

    static void unified(int n) throws Exception
    {
        Random r = new Random(4000 + n);
        String text = "class=" + PACKAGE + "UnifiedCompactionStrategy";
        String[] scaling = { "T4", "L4", "N", "T2", "L10", "T8", "T4, N, L4", "L8, T4", "-3, 3, 0" };
        text += ";scaling_parameters=" + scaling[r.nextInt(scaling.length)];
        if (r.nextInt(2) == 0) text += ";target_sstable_size=" + (16 << r.nextInt(6)) + "MiB;min_sstable_size=" + (r.nextInt(4) * 3) + "MiB";
        if (r.nextInt(2) == 0) text += ";base_shard_count=" + (1 + r.nextInt(8));
        if (r.nextInt(2) == 0) text += ";sstable_growth=" + (new String[] { "0", "1", "0.5", "25%" })[r.nextInt(4)];
        if (r.nextInt(3) == 0) text += ";overlap_inclusion_method=" + (new String[] { "NONE", "SINGLE", "TRANSITIVE" })[r.nextInt(3)];
        if (r.nextInt(3) == 0) text += ";max_sstables_to_compact=" + (2 + r.nextInt(20));
        if (r.nextInt(4) == 0) text += ";flush_size_override=" + (1 + r.nextInt(64)) + "MiB";
        if (r.nextInt(4) == 0) text += ";expired_sstable_check_frequency_seconds=1";
        if (r.nextInt(6) == 0) text += ";only_purge_repaired_tombstones=true";
        long[][] owned = n % 3 == 0 ? vnodes(r, 1 + r.nextInt(6)) : WHOLE;
        World w = new World("ucs" + n, text, owned, r.nextInt(4) == 0 ? 0 : logUniform(r, 1e6, 1e8), START_MILLIS / 1000 - 864000, memtable(r));
        int[] styles = n % 4 == 0 ? new int[] { 0 } : n % 4 == 1 ? new int[] { 1 } : new int[] { 0, 1, 2, 3 };
        int count = 1 + r.nextInt(n % 6 == 0 ? 120 : 40);
        double high = n % 2 == 0 ? 4e7 : 1e10;
        for (int i = 0; i < count; i++)
        {
            Table t = random(r, w, styles, 1e7, high);
            decorate(w, r, t, false);
            if (r.nextInt(4) == 0) t.coverage = r.nextInt(3) == 0 ? 0 : r.nextDouble();
            w.add(t);
            if (r.nextInt(12) == 0) w.setBusy(t.id, true);
        }
        if (r.nextInt(2) == 0) w.advance(700000);
        play(w, r, 8, styles, 1e7, high, n % 4 == 1 ? 2 : 1);
    }

    // --- Shards of UCS ---

    static void shares() throws Exception
    {
        Random r = new Random(5);
        for (int n = 0; n < 120; n++)
        {
            String text = "class=" + PACKAGE + "UnifiedCompactionStrategy;base_shard_count=" + (1 + r.nextInt(12)) + ";sstable_growth="
                          + (n % 4 == 0 ? "0" : n % 4 == 1 ? "1" : "0." + (1 + r.nextInt(998)));
            if (r.nextInt(2) == 0) text += ";target_sstable_size=" + (32 << r.nextInt(8)) + "MiB;min_sstable_size=" + r.nextInt(20) + "MiB";
            Map<String, String> own = options(text);
            own.remove("class");
            UnifiedCompactionStrategy.validateOptions(own);
            Controller c = Controller.fromOptions(null, own);
            StringJoiner pairs = new StringJoiner(",");
            for (int i = 0; i < 12; i++)
            {
                double density = i == 0 ? 0 : logUniform(r, 1e5, 1e15);
                pairs.add((long) density + ":" + c.getNumShards(density));
            }
            line("shards", text, pairs);
        }
        for (int n = 0; n < 40; n++)
        {
            long[][] owned = n == 0 ? WHOLE : vnodes(r, 1 + r.nextInt(8));
            if (n % 5 == 4) owned[owned.length - 1][1] = Long.MIN_VALUE;
            ColumnFamilyStore.VersionedLocalRanges ranges = new ColumnFamilyStore.VersionedLocalRanges(ColumnFamilyStore.RING_VERSION_IRRELEVANT, 1);
            for (long[] o : owned)
                ranges.add(new Splitter.WeightedRange(1.0, new Range<>(new Murmur3Partitioner.LongToken(o[0]), new Murmur3Partitioner.LongToken(o[1]))));
            ShardManagerNoDisks shards = new ShardManagerNoDisks(ranges);
            int count = n < 4 ? 1 << n : 1 + r.nextInt(20);
            ShardTracker tracker = shards.boundaries(count);
            StringJoiner ends = new StringJoiner(",");
            while (tracker.shardEnd() != null)
            {
                ends.add("" + tracker.shardEnd().getTokenValue());
                tracker.advanceTo(tracker.shardEnd().nextValidToken());
            }
            StringJoiner spans = new StringJoiner(",");
            for (int i = 0; i < 6; i++)
            {
                long a = r.nextLong(), b = i == 5 ? Long.MAX_VALUE : r.nextLong();
                spans.add(Math.min(a, b) + ":" + Math.max(a, b) + ":" + shards.rangeSpanned(key(Math.min(a, b)), key(Math.max(a, b))));
            }
            line("boundaries", Arrays.stream(owned).map(o -> o[0] + ":" + o[1]).collect(Collectors.joining(",")), shards.localSpaceCoverage(), count, ends, spans);
        }
    }

    // --- Options ---

    static final String[] SIZES = { "1GiB", "100MB", "0B", "1.5GiB", "1e3MiB", "1*2^30B", "1 GiB", "1GiBx", "10", "-1MiB", "NaNB", "InfinityB", "-InfinityB", "999PiB", "9EiB",
                                    "3kB", "3KB", "1MB", "1048576B", "1048575.5B", "2.5MiB", "1.7TiB", "12GB", "B", "MiB", "1*2^B", "1e+7B", "+5MiB", "5MiBB", "50MiB", "0.5GiB", "730MiB", "724MiB", "725MiB" };
    static final String[] NUMBERS = { "0", "1", "-1", "2", "4", "32", "1.5", "x", "", " 1", "2147483647", "2147483648", "-2147483648", "9223372036854775807", "9223372036854775808", "+3", "1e3", "NaN", "0x10", "100" };
    static final String[] REALS = { "0", "0.5", "1", "1.5", "-0.1", "-1", "x", "", "NaN", "Infinity", "1e-3", "50%", "150%", " 5 % ", "%", "0.2f", "1d", "-0", ".5", "5.", "0.333" };
    static final String[] BOOLEANS = { "true", "false", "TRUE", "False", "x", "", "1", "yes" };
    static final String[] WORDS = { "NONE", "none", "Single", "TRANSITIVE", "ROW", "cell", "x", "", "MINUTES", "HOURS", "DAYS", "SECONDS", "hours", "MILLISECONDS", "MICROSECONDS", "NANOSECONDS", "WEEKS" };
    static final String[] SCALINGS = { "T4", "L4", "N", "T4,L4", "T4, N , L10", "-3", "+3", "0", "T1", "L1", "T0", "X", "", "T4,", ",T4", "T99999999999", "L99999999999", "-99999999999", "99999999999", "t4", "N,N,N,N", "--3", "T", "T-4", " T4" };

    static String[] valuesOf(String option)
    {
        switch (option)
        {
            case "scaling_parameters": return SCALINGS;
            case "target_sstable_size": case "flush_size_override": return SIZES;
            case "sstable_growth": case "bucket_low": case "bucket_high": case "tombstone_threshold": return REALS;
            case "unchecked_tombstone_compaction": case "log_all": case "enabled": case "unsafe_aggressive_sstable_expiration":
            case "only_purge_repaired_tombstones": case "single_sstable_uplevel": return BOOLEANS;
            case "overlap_inclusion_method": case "provide_overlapping_tombstones": case "compaction_window_unit": case "timestamp_resolution": return WORDS;
            default: return NUMBERS;
        }
    }

    static final String[] COMMON = { "enabled", "log_all", "tombstone_threshold", "tombstone_compaction_interval", "unchecked_tombstone_compaction", "only_purge_repaired_tombstones", "provide_overlapping_tombstones", "min_threshold", "max_threshold", "min_sstable_size", "bucket_low", "bucket_high" };
    static final Map<String, String[]> OWN = Map.of(
        "SizeTieredCompactionStrategy", new String[] { "fanout_size" },
        "LeveledCompactionStrategy", new String[] { "sstable_size_in_mb", "fanout_size", "single_sstable_uplevel" },
        "TimeWindowCompactionStrategy", new String[] { "timestamp_resolution", "compaction_window_unit", "compaction_window_size", "expired_sstable_check_frequency_seconds", "unsafe_aggressive_sstable_expiration" },
        "UnifiedCompactionStrategy", new String[] { "scaling_parameters", "base_shard_count", "target_sstable_size", "flush_size_override", "max_sstables_to_compact", "expired_sstable_check_frequency_seconds", "unsafe_aggressive_sstable_expiration", "overlap_inclusion_method", "sstable_growth" });

    static void option(String strategy, Map<String, String> map) throws Exception
    {
        StringJoiner text = new StringJoiner(";").add("class=" + strategy);
        map.forEach((k, v) -> text.add(k + "=" + v));
        Map<String, String> all = new HashMap<>(map);
        all.put("class", PACKAGE + strategy);
        try
        {
            CompactionParams params = CompactionParams.fromMap(all);
            params.validate();
            line(text, "ok", describe(params));
        }
        catch (ConfigurationException e) { line(text, "error", e.getMessage()); }
        catch (RuntimeException e) { line(text, "exception", e.getClass().getName()); }
    }

    // The options as the strategy has read them.
    static String describe(CompactionParams params) throws Exception
    {
        Map<String, String> own = new HashMap<>(params.options());
        ColumnFamilyStore cfs = Mockito.mock(ColumnFamilyStore.class);
        AbstractCompactionStrategy s;
        try { s = params.klass().getConstructor(ColumnFamilyStore.class, Map.class).newInstance(cfs, own); }
        catch (InvocationTargetException e) { return "fails"; }
        StringJoiner j = new StringJoiner(" ");
        j.add("" + params.isEnabled()).add("" + params.minCompactionThreshold()).add("" + params.maxCompactionThreshold()).add("" + s.tombstoneThreshold)
         .add("" + s.tombstoneCompactionInterval).add("" + s.uncheckedTombstoneCompaction).add("" + s.disableTombstoneCompactions).add("" + s.logAll).add("" + params.tombstoneOption());
        Object stcs = null;
        if (s instanceof SizeTieredCompactionStrategy) stcs = ((SizeTieredCompactionStrategy) s).sizeTieredOptions;
        if (s instanceof LeveledCompactionStrategy)
        {
            stcs = get(((LeveledCompactionStrategy) s).manifest, LeveledManifest.class, "options");
            j.add("" + s.getMaxSSTableBytes()).add("" + ((LeveledCompactionStrategy) s).getLevelFanoutSize()).add("" + get(s, LeveledCompactionStrategy.class, "singleSSTableUplevel"));
        }
        if (s instanceof TimeWindowCompactionStrategy)
        {
            TimeWindowCompactionStrategyOptions o = (TimeWindowCompactionStrategyOptions) get(s, TimeWindowCompactionStrategy.class, "options");
            stcs = o.stcsOptions;
            j.add("" + o.sstableWindowUnit.toSeconds(o.sstableWindowSize)).add("" + o.timestampResolution).add("" + o.expiredSSTableCheckFrequency);
        }
        if (stcs != null)
        {
            SizeTieredCompactionStrategyOptions o = (SizeTieredCompactionStrategyOptions) stcs;
            j.add("" + o.minSSTableSize).add("" + o.bucketLow).add("" + o.bucketHigh);
        }
        else
        {
            Controller c = ((UnifiedCompactionStrategy) s).getController();
            for (String field : new String[] { "minSSTableSize", "flushSizeOverride", "maxSSTablesToCompact", "expiredSSTableCheckFrequency", "baseShardCount" })
                j.add("" + get(c, Controller.class, field));
            j.add("" + ((Double) get(c, Controller.class, "targetSSTableSize")).longValue()).add("" + get(c, Controller.class, "sstableGrowthModifier"))
             .add("" + get(c, Controller.class, "overlapInclusionMethod")).add(Arrays.stream((int[]) get(c, Controller.class, "scalingParameters")).mapToObj(String::valueOf).collect(Collectors.joining(",")));
        }
        return j.toString();
    }

    static void options() throws Exception
    {
        Random r = new Random(6);
        for (String strategy : new TreeSet<>(OWN.keySet()))
        {
            List<String> names = new ArrayList<>(Arrays.asList(OWN.get(strategy)));
            names.addAll(Arrays.asList(COMMON));
            for (String name : names)
            {
                String[] values = name.equals("min_sstable_size") && strategy.startsWith("Unified") ? SIZES : valuesOf(name);
                for (String value : values) option(strategy, new TreeMap<>(Map.of(name, value)));
            }
            for (int n = 0; n < 60; n++)
            {
                Map<String, String> map = new TreeMap<>();
                for (int i = 0; i < 3; i++)
                {
                    String name = names.get(r.nextInt(names.size()));
                    String[] values = name.equals("min_sstable_size") && strategy.startsWith("Unified") ? SIZES : valuesOf(name);
                    map.put(name, values[r.nextInt(values.length)]);
                }
                option(strategy, map);
            }
        }
    }

    public static void main(String[] args) throws Exception
    {
        DatabaseDescriptor.daemonInitialization();
        out = new PrintStream(args[0] + "/options.txt", "UTF-8");
        options();
        out.close();
        out = new PrintStream(args[0] + "/shares.txt", "UTF-8");
        shares();
        out.close();
        out = new PrintStream(args[0] + "/choices.txt", "UTF-8");
        for (int n = 0; n < 30; n++) sizeTiered(n);
        for (int n = 0; n < 30; n++) timeWindow(n);
        for (int n = 0; n < 42; n++) leveled(n);
        for (int n = 0; n < 60; n++) unified(n);
        for (int n = 0; n < 2; n++) starved(n);
        for (int n = 0; n < 23; n++) droppable(n);
        out.close();
        System.exit(0);
    }
}
