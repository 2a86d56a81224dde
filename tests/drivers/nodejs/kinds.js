// Item 3: values of every type, by the columns of table kinds.
const { types } = require('cassandra-driver');

const { BigDecimal, Duration, InetAddress, Integer, LocalDate, LocalTime, Long, TimeUuid, Tuple, Uuid, Vector } = types;

const addresses = [
  { street: { name: 'Elm', number: 5 }, tags: ['', 'a'], place: new Tuple(1.5, null) },
  { street: { name: null, number: 5 }, tags: null, place: null },
  { street: null, tags: ['only'], place: null },
];

const kinds = {
  ascii_: ['', 'plain'],
  bigint_: [Long.ZERO, Long.MIN_VALUE, Long.MAX_VALUE],
  blob_: [Buffer.alloc(0), Buffer.from([0, 255])],
  boolean_: [true, false],
  date_: [LocalDate.fromString('1970-01-01'), new LocalDate(-(2 ** 31)), new LocalDate(2 ** 31 - 1)],
  decimal_: ['0', '-1.50', '123456789012345678901234567890.123'].map((text) => BigDecimal.fromString(text)),
  double_: [0, -1.5e300, Number.MIN_VALUE, Number.MAX_VALUE, -Infinity],
  duration_: [new Duration(0, 0, Long.ZERO), new Duration(-1, -2, Long.fromNumber(-3)), new Duration(2 ** 31 - 1, 2 ** 31 - 1, Long.MAX_VALUE)],
  float_: [0.5, 2 ** -149, Infinity],
  inet_: ['0.0.0.0', '255.255.255.255', '::1'].map((text) => InetAddress.fromString(text)),
  int_: [0, -(2 ** 31), 2 ** 31 - 1],
  smallint_: [-32768, 32767],
  text_: ['', 'grüße, 世界 \u{1f600}', '\0', 'x'.repeat(100000)],
  time_: ['00:00:00', '23:59:59.999999999'].map((text) => LocalTime.fromString(text)),
  timestamp_: [new Date(0), new Date(-8.64e15), new Date(8.64e15)],
  timeuuid_: [TimeUuid.fromString('d2177dd0-eaa2-11de-a572-001b779c76e3')],
  tinyint_: [-128, 127],
  uuid_: ['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff'].map((text) => Uuid.fromString(text)),
  varchar_: ['', 'another name of text'],
  varint_: ['0', '-129', '123456789012345678901234567890'].map((text) => Integer.fromString(text)),
  list_: [[1, 2, 1], Array(10000).fill(7)],
  set_: [['', 'a', 'b']],
  map_: [{ '': Long.ONE, a: Long.MIN_VALUE }],
  nested_: [{ 1: [['x', 'y'], ['']], 2: [['z']] }], // the driver has no way to write an empty collection within another
  tuple_: [new Tuple(1, 'a', [0.5]), new Tuple(null, 'b', [])],
  udt_: addresses,
  frozen_: addresses,
  vector_: [new Vector([1.5, -2, 0.25], 'float')],
};

// To compare by: an absent field is null.
const text = (value) => JSON.stringify(value, (_, v) => {
  if (typeof v === 'number' && !Number.isFinite(v)) return String(v);
  return v === undefined || (Array.isArray(v) && v.length === 0) ? null : v;
});
Object.defineProperty(kinds, 'text', { value: text, enumerable: false });

module.exports = kinds;
