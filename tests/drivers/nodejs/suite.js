// The Node.js driver: connect, metadata, types, prepared statements, pages, batches, concurrency, errors, events.
const assert = require('assert');
const cassandra = require('cassandra-driver');
const { types } = cassandra;

const host = process.env.CASSANDRA_HOST;
const client = new cassandra.Client({ contactPoints: [host], localDataCenter: 'datacenter1', keyspace: undefined });
const prepared = { prepare: true };
const tests = {};

tests['connects and reads the schema'] = async () => {
  await client.execute("CREATE KEYSPACE IF NOT EXISTS nodejs WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
  await client.execute('CREATE TABLE IF NOT EXISTS nodejs.meta (a int, b text, c timeuuid, d int static, PRIMARY KEY ((a, b), c)) WITH CLUSTERING ORDER BY (c DESC)');
  const table = await client.metadata.getTable('nodejs', 'meta');
  assert.deepStrictEqual(table.partitionKeys.map((c) => c.name), ['a', 'b']);
  assert.deepStrictEqual(table.clusteringOrder, ['DESC']);
};

tests['every type there and back'] = async () => {
  await client.execute('CREATE TYPE IF NOT EXISTS nodejs.address (street text, number int)');
  await client.execute(`CREATE TABLE IF NOT EXISTS nodejs.kinds (id int PRIMARY KEY, t text, b bigint, bl blob, bo boolean, de decimal, d double, f float,
    i inet, s smallint, ti tinyint, da date, tm time, ts timestamp, u uuid, tu timeuuid, v varint, l list<int>, se set<text>, m map<text, int>,
    tup tuple<int, text>, a frozen<nodejs.address>)`);
  const values = {
    id: 1, t: 'grüße', b: types.Long.fromString('-9223372036854775808'), bl: Buffer.from([0, 255]), bo: true,
    de: types.BigDecimal.fromString('-1.50'), d: 1.5, f: 0.25, i: types.InetAddress.fromString('::1'), s: -5, ti: 7,
    da: types.LocalDate.fromString('2026-11-21'), tm: types.LocalTime.fromString('10:11:12.000000013'), ts: new Date(1500000000123),
    u: types.Uuid.fromString('1b4d86f4-ccff-4256-a63d-45c905df2677'), tu: types.TimeUuid.fromString('d2177dd0-eaa2-11de-a572-001b779c76e3'),
    v: types.Integer.fromString('123456789012345678901234567890'), l: [3, 1], se: ['a', 'b'], m: { x: 1 }, tup: new types.Tuple(1, 'z'),
    a: { street: 'Elm', number: 5 },
  };
  const names = Object.keys(values);
  await client.execute(`INSERT INTO nodejs.kinds (${names}) VALUES (${names.map(() => '?')})`, Object.values(values), prepared);
  const row = (await client.execute('SELECT * FROM nodejs.kinds WHERE id = 1')).first();
  for (const name of names) assert.strictEqual(JSON.stringify(row[name]), JSON.stringify(values[name]), name);
};

tests['ten thousand rows in pages'] = async () => {
  await client.execute('CREATE TABLE IF NOT EXISTS nodejs.many (k int, c int, PRIMARY KEY (k, c))');
  const parameters = Array.from({ length: 10000 }, (_, i) => [i % 5, i]);
  await cassandra.concurrent.executeConcurrent(client, 'INSERT INTO nodejs.many (k, c) VALUES (?, ?)', parameters, { concurrencyLevel: 200 });
  const seen = [];
  for await (const row of client.stream('SELECT c FROM nodejs.many', [], { prepare: true, fetchSize: 900, autoPage: true })) seen.push(row.c);
  assert.deepStrictEqual(seen.sort((x, y) => x - y), parameters.map((p) => p[1]));
};

tests['batches'] = async () => {
  await client.execute('CREATE TABLE IF NOT EXISTS nodejs.batched (k int PRIMARY KEY, v text)');
  await client.batch([
    { query: 'INSERT INTO nodejs.batched (k, v) VALUES (?, ?)', params: [1, 'one'] },
    { query: 'INSERT INTO nodejs.batched (k, v) VALUES (?, ?)', params: [2, 'two'] },
    { query: 'DELETE FROM nodejs.batched WHERE k = ?', params: [3] },
  ], prepared);
  assert.strictEqual((await client.execute('SELECT * FROM nodejs.batched')).rowLength, 2);
};

tests['errors keep their codes'] = async () => {
  await assert.rejects(client.execute('SELEC'), { code: types.responseErrorCodes.syntaxError });
  await assert.rejects(client.execute('SELECT * FROM nodejs.nothing'), { code: types.responseErrorCodes.invalid });
  await assert.rejects(client.execute('CREATE TABLE nodejs.meta (k int PRIMARY KEY)'), { code: types.responseErrorCodes.alreadyExists });
  await assert.rejects(client.execute('INSERT INTO nodejs.batched (k) VALUES (9)', [], { consistency: types.consistencies.three }),
    (e) => JSON.stringify(e).includes('4096') || e.code === types.responseErrorCodes.unavailableException);
};

tests['schema events reach the metadata'] = async () => {
  await client.execute('ALTER TABLE nodejs.meta ADD extra list<int>');
  const deadline = Date.now() + 10000;
  while (Date.now() < deadline) {
    const table = await client.metadata.getTable('nodejs', 'meta');
    if (table.columnsByName.extra) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.fail('the new column did not appear');
};

async function main() {
  let passed = 0, failed = 0;
  for (const [name, test] of Object.entries(tests)) {
    try {
      await test();
      passed++;
    } catch (error) {
      failed++;
      console.log(`FAILED: ${name}\n${error.stack}`);
    }
  }
  await client.execute('DROP KEYSPACE IF EXISTS nodejs').catch(() => {});
  await client.shutdown();
  console.log(`${passed} passed, ${failed} failed, 0 skipped`);
  process.exit(failed ? 1 : 0);
}

main();
