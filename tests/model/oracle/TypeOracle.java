// Writes tests/model/data/types.txt: what Apache Cassandra 5.0.9 itself does with many types and values.
//
//   java -Duser.timezone=UTC -cp '<cassandra 5.0.9>/lib/*' TypeOracle.java > tests/model/data/types.txt
//
// Fields are separated by tabs; backslash, tab, newline and carriage return are escaped. `!` starts an error message.
//   T class cql fixed-length empty-meaningless allows-empty      the type of the following lines
//   V value comparable decoded text literal json from-text    bytes in hex; `-`: no comparable form; `=`: the value itself
//   O row                       compare(value i, value 0..n-1) for the i-th V line: < = >, or ( # ) where Cassandra's
//                               comparable forms have another order (of NaNs, and of empty and null in tuples), ? for none
//   X value message             what validate() says of an invalid value
//   P text value                what fromString() makes of a text
//   I text class cql            what TypeParser makes of a class name
//   L text class cql            what CQLTypeParser makes of a type in CQL
//   C class row                 isValueCompatibleWith the class of each C line, one character each
//   Q name quoted               ColumnIdentifier.maybeQuote
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.*;
import org.apache.cassandra.config.DatabaseDescriptor;
import org.apache.cassandra.cql3.ColumnIdentifier;
import org.apache.cassandra.db.marshal.*;
import org.apache.cassandra.schema.CQLTypeParser;
import org.apache.cassandra.schema.Types;
import org.apache.cassandra.serializers.CollectionSerializer;
import org.apache.cassandra.transport.ProtocolVersion;
import org.apache.cassandra.utils.ByteBufferUtil;
import org.apache.cassandra.utils.bytecomparable.*;

public class TypeOracle {
    static final ByteComparable.Version V = ByteComparable.Version.OSS50;
    static final StringBuilder out = new StringBuilder();

    public static void main(String[] args) throws Exception {
        DatabaseDescriptor.clientInitialization();
        DatabaseDescriptor.setPartitionerUnsafe(org.apache.cassandra.dht.Murmur3Partitioner.instance);
        simpleTypes();
        nestedTypes();
        legacyTypes();
        classNames();
        cqlNames();
        compatibility();
        identifiers();
        System.out.write(out.toString().getBytes(StandardCharsets.UTF_8));
        System.out.flush();
    }

    // ---- output

    static void line(Object... fields) {
        for (int i = 0; i < fields.length; ++i) {
            if (i > 0) out.append('\t');
            out.append(String.valueOf(fields[i]).replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r"));
        }
        out.append('\n');
    }

    interface Call { Object run() throws Exception; }

    static Object attempt(Call c) {
        try { return c.run(); }
        catch (Throwable t) { return "!" + (t.getMessage() == null ? t.getClass().getSimpleName() : t.getMessage()); }
    }

    static String hex(ByteBuffer b) { return b == null ? "null" : ByteBufferUtil.bytesToHex(b); }
    static ByteBuffer bytes(String hex) { return ByteBufferUtil.hexToBytes(hex); }

    static String hex(ByteSource s) {
        return s == null ? "-" : ByteBufferUtil.bytesToHex(ByteBuffer.wrap(ByteSourceInverse.readBytes(s)));
    }

    static AbstractType<?> type(String name) { return TypeParser.parse(name); }

    static void emit(AbstractType<?> t, List<ByteBuffer> values, String[] invalid, String[] texts) {
        line("T", t.toString(), t.asCQL3Type().toString(), t.valueLengthIfFixed(), t.isEmptyValueMeaningless() ? 1 : 0, t.allowsEmpty() ? 1 : 0);
        for (ByteBuffer v : values) {
            String h = hex(v);
            String comparable = String.valueOf(attempt(() -> hex(t.asComparableBytes(v, V))));
            Object decoded = attempt(() -> hex(t.fromComparableBytes(ByteSource.peekable(t.asComparableBytes(v, V)), V)));
            Object text = attempt(() -> t.getString(v));
            Object back = attempt(() -> hex(t.fromString(t.getString(v))));
            line("V", h, comparable, decoded.equals(h) ? "=" : decoded, text,
                 attempt(() -> t.toCQLString(v)), attempt(() -> t.toJSONString(v, ProtocolVersion.CURRENT)),
                 back.equals(h) ? "=" : back);
        }
        for (ByteBuffer a : values) {
            StringBuilder row = new StringBuilder();
            for (ByteBuffer b : values) row.append(order(t, a, b));
            line("O", row);
        }
        for (String x : invalid) line("X", x, attempt(() -> { t.validate(bytes(x)); return "valid"; }));
        for (String p : texts) line("P", p, attempt(() -> hex(t.fromString(p))));
    }

    static char order(AbstractType<?> t, ByteBuffer a, ByteBuffer b) {
        try {
            int c = Integer.signum(t.compare(a, b));
            ByteSource x = t.asComparableBytes(a, V), y = t.asComparableBytes(b, V);
            boolean agrees = x == null || y == null || c == Integer.signum(ByteComparable.compare(v -> x, v -> y, V));
            return (agrees ? "<=>" : "(#)").charAt(c + 1);
        }
        catch (Throwable e) { return '?'; }
    }

    static String[] strings(String... s) { return s; }
    static String[] none() { return new String[0]; }

    static List<ByteBuffer> hexes(String... hex) {
        List<ByteBuffer> r = new ArrayList<>();
        for (String h : hex) r.add(bytes(h));
        return r;
    }

    static List<ByteBuffer> parsed(String cls, String... texts) {
        List<ByteBuffer> r = new ArrayList<>();
        for (String s : texts) r.add(type(cls).fromString(s));
        return r;
    }

    @SafeVarargs static List<ByteBuffer> all(List<ByteBuffer>... lists) {
        List<ByteBuffer> r = new ArrayList<>();
        for (List<ByteBuffer> l : lists) r.addAll(l);
        return r;
    }

    // ---- simple types

    static final String[] INTS = {"", "0", "1", "-1", "63", "64", "-64", "-65", "127", "-128"};

    static void simpleTypes() {
        integers();
        floats();
        bigNumbers();
        texts();
        times();
        others();
    }

    static void integers() {
        emit(type("ByteType"), parsed("ByteType", "0", "1", "-1", "127", "-128"), strings("", "0000"),
             strings("", "+5", "128", "x", " 1", "-", "0x1", "-129"));
        emit(type("ShortType"), parsed("ShortType", "0", "1", "-1", "255", "256", "32767", "-32768"), strings("", "00", "000000"),
             strings("", "+5", "32768", "1.0"));
        emit(type("Int32Type"), parsed("Int32Type", "", "0", "1", "-1", "127", "128", "-129", "65535", "2147483647", "-2147483648"),
             strings("00", "000000", "0000000000"), strings("+12", "2147483648", "-2147483648", "abc", "1e3"));
        List<String> longs = new ArrayList<>(Arrays.asList(INTS));
        for (int bits = 13; bits <= 62; bits += 7)
            for (long d : new long[] {-1, 0}) { longs.add(String.valueOf((1L << bits) + d)); longs.add(String.valueOf(-(1L << bits) + d)); }
        longs.addAll(Arrays.asList("9223372036854775807", "-9223372036854775808", "1234567890123", "-1234567890123"));
        emit(type("LongType"), parsed("LongType", longs.toArray(new String[0])), strings("00", "00000000", "000000000000000000"),
             strings("9223372036854775808", "+9", "", "9.0"));
        emit(type("CounterColumnType"), hexes("", "0000000000000000", "ffffffffffffffff", "7fffffffffffffff"), strings("00"), strings("0x00", "zz", "00ff"));
        emit(type("BooleanType"), hexes("", "00", "01", "02", "ff"), strings("0000"), strings("", "true", "TRUE", "fAlse", "yes", "1"));
    }

    static void floats() {
        String[] texts = {"", "0", "-0", "1", "-1", "0.001", "0.0009999", "9999999", "1E7", "12345678", "1.5", "-1.5", "3.14159265358979", "1e10",
                          "1e-10", "123456.789", "0.1", "0.3", "100", "1e21", "1e22", "3.4028235e38", "1.4e-45", "Infinity", "-Infinity",
                          "NaN", "33333333", "1.0E-5", "16777216", "16777217", "2.5e-3", "7.0e-45"};
        String[] odd = {" 1.5 ", "1.5f", "1.5D", "0x1.8p1", "+1", ".5", "5.", "1e400", "-1e400", "1e-400", "nan", "inf", "1_0", "1e", "", "--1", "+NaN",
                        "-Infinity", "Infinityx", "0x", "1 2", "\t2\n", "1e5000000000", "0x1p3", "1.0e+3"};
        emit(type("FloatType"), all(parsed("FloatType", texts), hexes("ffc00000", "7f800001", "80000001")), strings("00", "0000000000"), odd);
        List<ByteBuffer> doubles = parsed("DoubleType", texts);
        doubles.addAll(parsed("DoubleType", "1.7976931348623157e308", "4.9e-324", "2.2250738585072014E-308", "9007199254740993", "0.1234567890123456",
                              "5e-324", "9.5e-323", "123456789012345678"));
        Random random = new Random(7);
        for (int i = 0; i < 40; ++i) {
            // JDK 17 sometimes prints a digit too many (1.0E23 as 9.999999999999999E22); none of these.
            double d = Double.longBitsToDouble(random.nextLong());
            if (Double.isNaN(d)) continue;
            doubles.add(DoubleType.instance.decompose(d));
        }
        doubles.addAll(hexes("fff8000000000000", "7ff0000000000001"));
        emit(type("DoubleType"), doubles, strings("00", "00000000"), odd);
    }

    static void bigNumbers() {
        String[] big = {"", "0", "1", "-1", "63", "64", "-64", "-65", "127", "128", "255", "256", "-128", "-129", "-256", "32767", "32768", "-32768", "-32769",
                        "8388607", "8388608", "2147483647", "2147483648", "-2147483649", "549755813887", "140737488355328", "-140737488355328",
                        "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
                        "36028797018963967", "36028797018963968", "-36028797018963968", "-36028797018963969", "72057594037927935", "72057594037927936",
                        "-72057594037927936", "-72057594037927937", "340282366920938463463374607431768211456", "-340282366920938463463374607431768211456",
                        "123456789012345678901234567890123456789012345678901234567890", "-123456789012345678901234567890123456789012345678901234567890",
                        "1" + "0".repeat(330), "-1" + "0".repeat(330)};
        emit(type("IntegerType"), all(parsed("IntegerType", big), hexes("0000", "000001", "ffff", "ff80", "0080", "00000000000000000001", "ffffffffffffffffff01")),
             none(), strings("+7", "1.0", "-", "--1", "007", " 1", "0x10", "-0"));
        String[] decimals = {"", "0", "0.0", "0E+5", "-0", "1", "1.0", "1.00", "-1", "-1.0", "10", "100", "1E+2", "0.1", "0.10", "0.01", "-0.1", "-0.01", "12.34",
                             "-12.34", "12.345", "-12.345", "-12.3456", "123456789.123456789", "-123456789.123456789", "1E+10", "1E-10", "-1E+10", "-1E-10",
                             "9.99", "-9.99", "99", "-99", "-100", "-100.01", "1E-7", "0.000001", "0.0000001", "0.00000012", "123E+5", "1E+1000", "1E-1000",
                             "-1E+1000", "-1E-1000", "1E+2147483647", "1E-2147483647", "-1E+2147483647", "1.5E+300", "123456789012345678901234567890.123456789012345678901234567890",
                             "-123456789012345678901234567890.123456789012345678901234567890", "1234567890123456789", "-9223372036854775808", "9223372036854775808"};
        emit(type("DecimalType"), all(parsed("DecimalType", decimals), hexes("00000000", "0000000200ff", "00000001ffff00", "8000000001", "7fffffff01")), strings("00", "000000"),
             strings("1.", ".5", "+1", "1e5", "1e+5", "1e-5", "1E99999999999", "1E2147483648", "1E-2147483648", "1E-2147483647", "abc", " 1", "1.2.3", "e5", "", ".", "1e", "-", "0e0", "1e00000000000000000005"));
    }

    static void texts() {
        String[] strings = {"", "a", "ab", "b", "it's", "q\"\\/\b\f\n\r\t\u0001\u001f\u007f", "0x:@!", "a:b", "x@y", "\u00e9", "\u20ac", "\ud83d\ude00", "zz"};
        emit(type("UTF8Type"), all(parsed("UTF8Type", strings), hexes("00", "0000", "0001", "6100", "610000", "61000062", "6100ff", "6101")),
             strings("ff", "80", "c0", "c080", "c180", "c280", "e0a080", "e08080", "e04180", "e18080", "e180", "eda080", "f0908080", "f0808080", "f4908080", "f58080", "f5808080", "f8", "c27f", "61c3"),
             strings("any"));
        emit(type("AsciiType"), parsed("AsciiType", "", "a", "it's", "a\"b", "\u0000", "\u007f"), strings("80", "61ff"), strings("\u00e9", "\ud83d\ude00", "a\u20acb"));
        emit(type("BytesType"), hexes("", "00", "0000", "000000", "00ff", "0000ff00", "01", "0100", "010001", "01000001", "ff", "ff00", "ffff", "fe", "00fe", "00fefe", "cafebabe",
                                      "00".repeat(20), "ab".repeat(40)), none(), strings("abc", "zz", "CAFE", "", "0xca"));
    }

    static void times() {
        emit(type("TimestampType"), all(parsed("TimestampType", "", "0", "1", "-1", "1425689999999", "-62135596800000", "-62167219200000", "253402300799999", "253402300800000",
             "-62198755200000"), hexes("7fffffffffffffff", "8000000000000000")), strings("00", "00000000"),
             strings("2015-03-07", "2015-3-7", "2015-03-07 00:59", "2015-03-07 0:5", "2015-03-07T00:59:59", "2015-03-07 00:59:59.999", "2015-03-07 00:59:59.999999999",
                     "2015-03-07 00:59:59.9999999999", "2015-03-07 00:59:59.", "2015-03-07 00:59.5", "2015-03-07 00:59:59.1Z", "2015-03-07 00:59:59+0000", "2015-03-07 00:59:59+01",
                     "2015-03-07 00:59:59+01:30", "2015-03-07 00:59:59 +0130", "2015-03-07 00:59:59 +01:30", "2015-03-07 00:59:59-0800", "2015-03-07T00:59:59Z", "2015-03-07T00:59:59 Z",
                     "2015-03-07T00:59:59 UTC", "2015-03-07T00:59:59 GMT", "2015-03-07T00:59:59 GMT+01:00", "2015-03-07T00:59:59 GMT+1", "2015-03-07T00:59:59 UT", "2015-03-07T00:59:59 UTC+01:00",
                     "2015-03-07+0000", "2015-03-07 +0000", "2015-03-07Z", "2015-03-07+01:00", "2015-03-07 -0130", "2015-02-31", "2015-02-31 10:00", "2016-02-30 10:00", "2015-04-31T01:02", "2015-13-01 00:00",
                     "2015-01-32 00:00", "2015-01-01 24:00", "2015-01-01 24:01", "2015-01-01 25:00", "2015-01-01 10:60", "0000-01-01 00:00", "-0001-01-01", "0000-01-01", "0001-01-01 00:00", "+10000-01-01",
                     "10000-01-01", "10000-01-01 00:00", "99999-1-1 1:1", "now2", "", " ", "20150307", "-5", "9223372036854775808", "2015-03-07t00:59", "2015-03-07  00:59", "2015-03-07 00:59 ",
                     "2015-03-07 00:59:59+1", "2015-03-07 00:59:59+18:00", "2015-03-07 00:59:59+19:00", "2015-03-07 00:59:59+0160", "2015-03-07 00:59:59 GMT0", "2015-03-07 00:59z", "2015-03-07 00:59 z",
                     "2015-03-07 00:59:59,5", "0002015-03-07 00:59", "2015-003-07 00:59", "2015-03-07T10:10+02:00:00", "2015-03-07 10:10 +02:00:01", "2015-03-07+02:00:01", "2015-03-07 10:10 Coordinated Universal Time", "999999999-1-1 1:1", "1000000000-1-1 1:1"));
        emit(type("SimpleDateType"), all(parsed("SimpleDateType", "0", "2147483647", "2147483648", "2147483649", "4294967295", "1970-01-01", "1969-12-31", "2000-02-29", "0000-01-01", "-0001-12-31", "+10000-01-01",
             "9999-12-31")), strings("", "000000", "0000000000"),
             strings("", "2015-02-29", "2015-2-1", "12345-01-01", "+2015-01-01", "-5877641-06-23", "-5877641-06-22", "+5881580-07-11", "+5881580-07-12", "-1", "4294967296", "2015-01-01 ", "x", "+999999999-12-31", "+1000000000-01-01"));
        emit(type("TimeType"), parsed("TimeType", "0", "1", "00:00:00.000000001", "12:34:56", "23:59:59.999999999", "01:02:03.004005006", "86399999999999"), strings("", "00000000"),
             strings("24:00:00", "1:2:3", " 1:2:3 ", "+1:+2:+3", "-1:00:00", "00:60:00", "00:00:60", "00:00:00.", "00:00:00.1234567890", "00:00:00.12a", "00:00", "86400000000000", "-1", "", "a:b:c",
                     "00:00:01.5", "::", "1::2", "1:2:", "00:00:00.+5", "00:00:00.5+"));
        String[] durations = {"1y2mo3w4d5h6m7s8ms9us10ns", "1d", "12h", "-1y", "1y12mo", "P1Y2M3DT4H5M6S", "P2W", "P0001-02-03T04:05:06", "-P1D", "2147483647d", "9223372036854775807ns", "1MO", "5µs", "5US",
                              "0d", "178956970y7mo", "-2147483647mo2147483647d9223372036854775807ns", "15ms", "14us", "49h", "PT0S", "100ns"};
        emit(type("DurationType"), all(parsed("DurationType", durations), hexes("000000", "010101", "fffffffffff00000000000")), strings("", "00", "0000", "000201", "020001", "f1000000000000", "00f10000000000"),
             strings("", "1x", "x", "1d2", "1h1d", "1d1d", "1y1y", "P", "PT", "P1", "P1W2D", "P1Y-2", "2147483648d", "178956971y", "9223372036854775808ns", "99999999999999999999d", "1mo1y", "--1d", "1 d", "1m1mo", "1mo1m", "-", "1d 2h",
                     "106751991167300d", "2562048h", "2562047788015216h"));
    }

    static void others() {
        emit(type("InetAddressType"), all(parsed("InetAddressType", "", "127.0.0.1", "0.0.0.0", "255.255.255.255", "::", "::1", "fe80::1", "2001:db8::ff00:42:8329", "::ffff:1.2.3.4", "1.2.3"), hexes("00000000000000000000ffff01020304")),
             strings("00", "0000000000", "000000000000000000000000000000000000"),
             strings("[::1]", "1.2", "1", "256.1.1.1", "1.2.3.4.5", "::1::", "1:2:3:4:5:6:7:8:9", ":::", "12345::", "::1.2.3.4", "1:2:3:4:5:6:1.2.3.4", "01.02.03.04", "::%1", "1:2:3:4:5:6:7::", "g::1", "1.2.3.", "4294967295", "1.16777215", "::ffff:102:304"));
        String[] uuids = {"", "00000000-0000-0000-0000-000000000000", "00000000-0000-1000-0000-000000000000", "ffffffff-ffff-1fff-ffff-ffffffffffff", "00000001-0000-1000-8080-808080808080", "00000000-0001-1000-7f7f-7f7f7f7f7f7f",
                          "ffffffff-ffff-4fff-bfff-ffffffffffff", "123e4567-e89b-12d3-a456-426614174000", "123e4567-e89b-12d3-2456-426614174000", "f23e4567-e89b-42d3-a456-426614174000", "023e4567-e89b-42d3-a456-426614174000",
                          "ffffffff-ffff-ffff-ffff-ffffffffffff", "7fffffff-ffff-7fff-7fff-ffffffffffff", "80000000-0000-8000-8000-000000000000", "D5B2A4E8-3A5C-11EE-BE56-0242AC120002"};
        String[] bad = {"123e4567e89b12d3a456426614174000", "123e4567-e89b-12d3-a456-42661417400", "g23e4567-e89b-12d3-a456-426614174000", "f23e4567-e89b-42d3-a456-426614174000", "1-2-3-4-5", "", "1-2-3-4", "1-2-3-4-5-6",
                        "fffffffff-2-3-4-5", "-1-2-3-4-5", "1-2-3-4-123456789abcd", "zz-2-3-4-5", " 1-2-3-4-5", "1--3-4-5"};
        emit(type("UUIDType"), parsed("UUIDType", uuids), strings("00", "00".repeat(15), "00".repeat(17)), bad);
        List<String> time = new ArrayList<>();
        for (String u : uuids) if (u.isEmpty() || u.charAt(14) == '1') time.add(u);
        emit(type("TimeUUIDType"), parsed("TimeUUIDType", time.toArray(new String[0])), strings("00", "00".repeat(16), "123e4567e89b42d3a456426614174000", "f23e4567e89b42d3a456426614174000"), bad);
        emit(type("LexicalUUIDType"), parsed("LexicalUUIDType", uuids), strings("00"), bad);
        emit(type("LegacyTimeUUIDType"), parsed("LegacyTimeUUIDType", time.toArray(new String[0])), strings("00"), none());
        emit(type("DateType"), parsed("DateType", "", "0", "-1", "1425689999999"), strings("00"), none());
        emit(type("EmptyType"), hexes(""), strings("00"), strings("", "x"));
    }

    // ---- nested types

    static ByteBuffer pack(int count, ByteBuffer... elements) { return CollectionSerializer.pack(Arrays.asList(elements), ByteBufferAccessor.instance, count); }

    static ByteBuffer tuple(ByteBuffer... fields) { return TupleType.buildValue(fields); }

    static List<ByteBuffer> sequences(List<ByteBuffer> e) {
        List<ByteBuffer> r = new ArrayList<>();
        r.add(pack(0));
        for (ByteBuffer x : e) r.add(pack(1, x));
        for (int i = 0; i < e.size(); ++i) r.add(pack(2, e.get(i), e.get((i * 2 + 1) % e.size())));
        r.add(pack(3, e.get(0), e.get(e.size() - 1), e.get(0)));
        return r;
    }

    static List<ByteBuffer> maps(List<ByteBuffer> k, List<ByteBuffer> v) {
        List<ByteBuffer> r = new ArrayList<>();
        r.add(pack(0));
        for (int i = 0; i < k.size(); ++i) for (int j = 0; j < v.size(); ++j) r.add(pack(1, k.get(i), v.get(j)));
        r.add(pack(2, k.get(0), v.get(0), k.get(1), v.get(0)));
        r.add(pack(2, k.get(0), v.get(0), k.get(1), v.get(1)));
        return r;
    }

    static List<ByteBuffer> tuples(List<ByteBuffer> a, List<ByteBuffer> b) {
        List<ByteBuffer> r = new ArrayList<>();
        r.add(bytes(""));
        r.add(tuple((ByteBuffer) null));
        r.add(tuple(null, (ByteBuffer) null));
        for (ByteBuffer x : a) { r.add(tuple(x)); r.add(tuple(x, null)); }
        for (ByteBuffer y : b) r.add(tuple(null, y));
        for (ByteBuffer x : a) for (ByteBuffer y : b) r.add(tuple(x, y));
        return r;
    }

    static final String UDT = "UserType(ks,746970,61:Int32Type,54776f:UTF8Type,6c:ListType(Int32Type))";

    static void nestedTypes() {
        List<ByteBuffer> ints = parsed("Int32Type", "1", "-1", "256"), texts = parsed("UTF8Type", "", "a", "it's:@"), bools = parsed("BooleanType", "false", "true");
        List<ByteBuffer> longs = parsed("LongType", "1", "-1", "70000"), varints = parsed("IntegerType", "0", "-1", "123456789012345678901234567890");
        List<ByteBuffer> intsOrEmpty = parsed("Int32Type", "", "1", "-5"), blobs = hexes("", "00", "0000", "01");
        emit(type("ListType(Int32Type)"), sequences(ints), strings("", "000000", "00000001", "0000000100000004", "000000010000000400", "0000000000", "00000001ffffffff", "0000000100000002000000", "ffffffff", "000000010000000200ff"), strings("abc", "00000000"));
        emit(type("FrozenType(ListType(Int32Type))"), sequences(intsOrEmpty), none(), none());
        emit(type("FrozenType(ListType(UTF8Type))"), sequences(texts), strings("0000000100000001ff"), none());
        emit(type("SetType(BytesType)"), sequences(blobs), strings("", "000000", "00000001", "0000000000", "00000001ffffffff"), none());
        emit(type("FrozenType(SetType(InetAddressType))"), sequences(parsed("InetAddressType", "", "1.2.3.4", "::1")), none(), none());
        emit(type("MapType(UTF8Type,Int32Type)"), maps(texts, ints), strings("", "000000", "00000001", "0000000100000000", "0000000100000000ffffffff", "000000010000000000000003000000", "0000000000"), none());
        emit(type("FrozenType(MapType(Int32Type,FrozenType(ListType(BooleanType))))"), maps(ints, sequences(bools).subList(0, 3)), none(), none());
        emit(type("FrozenType(MapType(UUIDType,DoubleType))"), maps(parsed("UUIDType", "123e4567-e89b-12d3-a456-426614174000", "f23e4567-e89b-42d3-a456-426614174000"), parsed("DoubleType", "1", "NaN")), none(), none());
        emit(type("TupleType(Int32Type,UTF8Type)"), tuples(intsOrEmpty, texts), strings("00", "0000000400", "00000004000000010000000100", "0000000400000001000000016100000000", "00000003000000", "00000004000000010000000261", "0000000400000001000000"),
             strings("1:a", "@:@", "1", "1:a:b", "x:a", "1:a\\:b\\@", "", ":", "@"));
        emit(type("TupleType(TupleType(Int32Type,BytesType),LongType)"), tuples(tuples(ints.subList(0, 2), blobs.subList(1, 3)), longs.subList(0, 2)), none(), none());
        emit(type("TupleType(FrozenType(SetType(UTF8Type)),TimeUUIDType)"), tuples(sequences(texts.subList(0, 2)), parsed("TimeUUIDType", "123e4567-e89b-12d3-a456-426614174000")), none(), none());
        List<ByteBuffer> udts = new ArrayList<>(tuples(ints.subList(0, 2), texts));
        udts.add(tuple(ints.get(0), texts.get(1), pack(1, ints.get(1))));
        udts.add(tuple(null, null, pack(2, ints.get(1), ints.get(2))));
        emit(type("FrozenType(" + UDT + ")"), udts, strings("00", "0000000200ff", "0000000400000001000000016100000000", "0000000400000001000000016100000004000000000000", "00000004000000010000000261"), strings("1:b", "@:x"));
        emit(type(UDT), udts.subList(0, 4), none(), none());
        emit(type("VectorType(FloatType , 3)"), hexes("3f800000c00000007f800000", "3f800000c000000000000000", "000000000000000000000000", "800000000000000000000000", "7fc000000000000000000000"),
             strings("", "00", "000000000000000000000000ff"), strings("00", "abc"));
        emit(type("VectorType(Int32Type,2)"), hexes("0000000100000002", "ffffffff00000000", "0000000100000001"), strings("00000001"), none());
        emit(type("VectorType(UTF8Type,2)"), hexes("0161026262", "0000", "000161", "016100", "0161" + "8080" + "63".repeat(128)), strings("", "01", "0161", "0161016200", "01ff0161", "0161026161ff"), none());
        emit(type("VectorType(IntegerType,2)"), hexes("01010102", "01ff0100", "0100090100000000000000ff"), none(), none());
        emit(type("VectorType(FrozenType(ListType(Int32Type)),1)"), hexes("0400000000", "0c000000010000000400000007"), none(), none());
        emit(type("VectorType(VectorType(Int32Type,2),2)"), hexes("00000001000000020000000300000004", "00000001000000020000000300000005"), none(), none());
        emit(type("ListType(VectorType(ShortType,2))"), sequences(hexes("020001020002", "02ffff020002")), none(), none());
        for (String base : strings("Int32Type", "UTF8Type", "LongType", "BytesType", "IntegerType", "DecimalType", "DoubleType", "TimeUUIDType")) {
            List<ByteBuffer> values = base.equals("UTF8Type") ? texts : base.equals("BytesType") ? all(blobs, hexes("ff", "ff00", "00ff", "0000ff"))
                : base.equals("TimeUUIDType") ? parsed(base, "", "123e4567-e89b-12d3-a456-426614174000") : parsed(base, "", "0", "1", "-1", "700", "-70000");
            emit(type("ReversedType(" + base + ")"), values, none(), none());
        }
        emit(type("ReversedType(FrozenType(ListType(UTF8Type)))"), sequences(texts), strings(""), none());
        emit(type("ReversedType(TupleType(Int32Type,ReversedType(UTF8Type)))"), tuples(ints, texts), none(), none());
    }

    // ---- types of Thrift's time

    static void legacyTypes() {
        CompositeType composite = (CompositeType) type("CompositeType(Int32Type,UTF8Type,ReversedType(LongType))");
        List<ByteBuffer> composites = new ArrayList<>();
        ByteBuffer one = bytes("00000001"), minus = bytes("ffffffff"), a = bytes("61"), empty = bytes(""), odd = bytes("3a215c"), big = bytes("0000000000000007");
        ByteBuffer[][] parts = {{one}, {minus}, {empty}, {one, a}, {one, empty}, {one, odd}, {minus, a, big}, {one, a, empty}};
        composites.add(empty);
        for (ByteBuffer[] p : parts)
            for (byte eoc : new byte[] {0, 1, -1}) composites.add(CompositeType.build(ByteBufferAccessor.instance, false, p, eoc));
        composites.add(CompositeType.build(ByteBufferAccessor.instance, true, parts[0], (byte) 0));
        emit(composite, composites, strings("00", "000400", "000400000001", "0004000000010100", "000300000100", "00040000000100000161000008000000000000000700000000", "0004000000010000"),
             strings("1:a", "1:!", "1:_", "1:a\\:b", "", "x", "1:a:7"));
        DynamicCompositeType dynamic = (DynamicCompositeType) type("DynamicCompositeType(a=>UTF8Type,i=>Int32Type,r=>ReversedType(Int32Type))");
        String utf8 = "0008" + hex(UTF8Type.instance.fromString("UTF8Type")), int32 = "0009" + hex(UTF8Type.instance.fromString("Int32Type"));
        emit(dynamic, hexes("", "8061" + "0001" + "61" + "00", "8061" + "0001" + "62" + "00", "8069" + "0004" + "00000001" + "00", utf8 + "0001" + "61" + "00", int32 + "0004" + "00000001" + "01", "8072" + "0004" + "00000001" + "00",
                            "8072" + "0004" + "00000002" + "00", "8061" + "0001" + "61" + "00" + "8069" + "0004" + "ffffffff" + "00", "8061" + "0000" + "00", "8061" + "0001" + "61" + "ff"),
             strings("00", "8061", "80610001", "806100016100ff", "8062000161", "806100016101806100016100", "00036162", "80690003000000" + "00", "0003616161000000"),
             strings("a@x", "i@5:a@y", "i@5:!", "UTF8Type@z", "a@x@y", "q@1", ""));
        emit(type("PartitionerDefinedOrder(org.apache.cassandra.dht.Murmur3Partitioner)"), hexes("61", "62", "00", "0000", "00ff", "ff"), none(), none());
    }

    // ---- class names

    static void classNames() {
        String prefix = "org.apache.cassandra.db.marshal.";
        String[] names = {"Int32Type", prefix + "UTF8Type", " UTF8Type ", "ListType(Int32Type)", "ListType( Int32Type )", "SetType(FrozenType(ListType(UTF8Type)))", "FrozenType(SetType(ListType(UTF8Type)))",
                          "MapType(Int32Type,ListType(UTF8Type))", "MapType(Int32Type , UTF8Type)", "FrozenType(Int32Type)", "FrozenType(TupleType(ListType(Int32Type),UTF8Type))", "TupleType(" + UDT + ",Int32Type)", UDT,
                          "FrozenType(" + UDT + ")", "ListType(" + UDT + ")", "UserType(ks,74,61:" + UDT + ",62:FrozenType(MapType(Int32Type,Int32Type)))", "FrozenType(UserType(ks,74,61:" + UDT + ",62:MapType(Int32Type,Int32Type)))",
                          "VectorType(FloatType,3)", "VectorType(FloatType , 3)", "VectorType(ListType(Int32Type) , 3)", "FrozenType(ListType(VectorType(FloatType , 3)))", "VectorType(FloatType , 0)", "VectorType(FloatType , -1)",
                          "ReversedType(UTF8Type)", "ReversedType(FrozenType(ListType(Int32Type)))", "ReversedType(ReversedType(Int32Type))", "ReversedType(Int32Type,Int32Type)", "CompositeType(UTF8Type,ReversedType(Int32Type))",
                          "DynamicCompositeType(s=>UTF8Type,b=>BytesType,a=>AsciiType,P=>Int32Type)", "DynamicCompositeType(ab=>UTF8Type)", "Int32Type(reversed=true)", "Int32Type(reversed)", "Int32Type(reversed=false)", "UTF8Type()",
                          "PartitionerDefinedOrder(org.apache.cassandra.dht.Murmur3Partitioner)", "Nope", "a.b.Nope", "", "ListType", "ListType()", "ListType(Int32Type",
                          "ListType(Nope)", "MapType(Int32Type)", "TupleType()", "EmptyType", "ListType(Int32Type) trailing", "UserType(ks,zz,61:Int32Type)", "UserType(ks,74,61Int32Type)", "UserType(ks,74,61:Int32Type", "ListType(Int32Type,)",
                          "TupleType(Int32Type;UTF8Type)"};
        for (String n : names) line("I", n, attempt(() -> type(n).toString()), attempt(() -> type(n).asCQL3Type().toString()));
    }

    static void cqlNames() {
        UserType tip = (UserType) type(UDT), quoted = (UserType) type("UserType(ks,4d79,61:Int32Type)");
        Types udts = Types.of(tip, quoted);
        String[] names = {"int", "INT", "varchar", "text", "empty", "list<int>", "LIST < Int >", "frozen<list<int>>", "set<text>", "map<int, text>", "map<int,frozen<list<text>>>", "frozen<map<int, list<text>>>", "list<list<int>>",
                          "frozen<list<list<set<int>>>>", "tuple<int>", "tuple<int, list<text>, tip>", "frozen<tuple<int, text>>", "vector<float, 3>", "vector<list<int>, 2>", "frozen<vector<float,3>>", "list<vector<float, 3>>", "vector<float, 0>", "vector<float>",
                          "tip", "TIP", "ks.tip", "other.tip", "frozen<tip>", "list<tip>", "list<frozen<tip>>", "frozen<list<tip>>", "\"My\"", "frozen<\"My\">", "My", "\"tip\"", "nope", "frozen<nope>", "list<nope>", "frozen<int>", "map<counter, int>",
                          "tuple<counter>", "set<duration>", "list<duration>", "map<duration, int>", "map<int, duration>", "counter", "list<int", "list<>", "map<int>", "map<int, int, int>", "", "<int>", "foo<int>",
                          "'org.apache.cassandra.db.marshal.Int32Type'", "'CompositeType(Int32Type,UTF8Type)'", "'Nope'", "list<'LexicalUUIDType'>", "'ListType(Int32Type'", "tuple<>", "byte", "list<byte>", "int int", "frozen<frozen<list<int>>>"};
        for (String n : names)
            line("L", n, attempt(() -> CQLTypeParser.parse("ks", n, udts).toString()), attempt(() -> CQLTypeParser.parse("ks", n, udts).asCQL3Type().toString()));
    }

    static void compatibility() {
        String[] names = {"AsciiType", "BytesType", "UTF8Type", "Int32Type", "LongType", "IntegerType", "TimestampType", "DateType", "SimpleDateType", "TimeType", "UUIDType", "TimeUUIDType", "LexicalUUIDType", "ShortType", "DurationType",
                          "ReversedType(BytesType)", "ReversedType(UTF8Type)", "ListType(UTF8Type)", "ListType(BytesType)", "ListType(TimestampType)", "ListType(LongType)", "FrozenType(ListType(UTF8Type))", "FrozenType(ListType(BytesType))", "FrozenType(ListType(LongType))",
                          "FrozenType(ListType(TimestampType))", "SetType(UTF8Type)", "SetType(BytesType)", "FrozenType(SetType(UTF8Type))", "FrozenType(SetType(BytesType))", "FrozenType(SetType(LongType))", "MapType(UTF8Type,LongType)", "MapType(BytesType,LongType)",
                          "FrozenType(MapType(UTF8Type,LongType))", "FrozenType(MapType(BytesType,TimestampType))", "TupleType(UTF8Type)", "TupleType(BytesType)", "TupleType(UTF8Type,Int32Type)", "TupleType(LongType)", "TupleType(TimestampType)",
                          "UserType(ks,74,61:UTF8Type)", "UserType(ks,74,61:BytesType)", "UserType(ks,74,61:UTF8Type,62:Int32Type)", "FrozenType(UserType(ks,74,61:UTF8Type))", "UserType(k2,74,61:UTF8Type)", "VectorType(FloatType , 2)", "VectorType(FloatType , 3)",
                          "CompositeType(UTF8Type)", "CompositeType(BytesType)", "CompositeType(UTF8Type,LongType)", "DynamicCompositeType(a=>UTF8Type)", "DynamicCompositeType(a=>UTF8Type,b=>BytesType)", "EmptyType", "CounterColumnType"};
        for (String a : names) {
            StringBuilder row = new StringBuilder();
            for (String b : names) row.append(type(a).isValueCompatibleWith(type(b)) ? '1' : '0');
            line("C", a, row);
        }
    }

    static void identifiers() {
        for (String n : strings("a", "A", "a1_", "_a", "1a", "select", "Select", "table", "key", "a b", "a\"b", "", "nan", "entries", "default", "mbean", "void", "is", "\u00e9"))
            line("Q", n, ColumnIdentifier.maybeQuote(n));
        String reserved = "ADD ALLOW ALTER AND APPLY ASC AUTHORIZE BATCH BEGIN BY COLUMNFAMILY CREATE DELETE DESC DESCRIBE DROP ENTRIES EXECUTE FROM FULL GRANT IF IN INDEX INFINITY INSERT INTO IS KEYSPACE "
            + "LIMIT MATERIALIZED MODIFY NAN NORECURSIVE NOT NULL OF ON OR ORDER PRIMARY RENAME REPLACE REVOKE SCHEMA SELECT SET TABLE TO TOKEN TRUNCATE UNLOGGED UPDATE USE USING VIEW WHERE WITH VECTOR TUPLE ANN";
        for (String n : reserved.toLowerCase().split(" ")) line("Q", n, ColumnIdentifier.maybeQuote(n));
    }
}
