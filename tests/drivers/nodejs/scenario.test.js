// The items of SCENARIO.md, by their names. The driver speaks protocols 3 and 4, and compresses nothing.
const assert = require('node:assert/strict');
const { test, before, after } = require('node:test');
const cassandra = require('cassandra-driver');
const { host, replicas, controlled, control, client, createSchema, leave, eventually } = require('./node.js');
const kinds = require('./kinds.js');
const { types } = cassandra;
const { responseErrorCodes: codes, consistencies } = types;

const prepare = { prepare: true };
const restarts = { skip: !controlled && 'this node cannot be restarted' };
const upTo = (n) => Array.from({ length: n }, (_, i) => i);
const sorted = (values) => values.sort((x, y) => x - y);
const column = (result, name) => result.rows.map((row) => row[name]);

let session;
before(async () => {
  await createSchema();
  session = client();
  await session.connect();
});
// A client that saw its node die may never be done with shutting down.
after(() => Promise.race([leave(), new Promise((resolve) => setTimeout(resolve, 1000))]));

// The driver notices late that some of its connections died: it is over that when it has answers for a while.
async function settled() {
  for (let answers = 0; answers < 20; ) {
    await new Promise((resolve) => setTimeout(resolve, 25));
    answers = await session.execute('SELECT key FROM system.local').then(() => answers + 1, () => 0);
  }
}

for (const version of [3, 4]) {
  test(`connect with version ${version}`, async () => {
    const connected = client({ protocolOptions: { maxVersion: version } });
    const text = 'compressible '.repeat(20000) + '\0\u{1f600}';
    await connected.execute('INSERT INTO pairs (k, b) VALUES (?, ?)', [1, text], prepare);
    assert.equal((await connected.execute('SELECT b FROM pairs WHERE k = 1')).first().b, text);
    assert.equal(connected.controlConnection.protocolVersion, version);
  });
}

test('schema metadata', async () => {
  const keyspace = session.metadata.keyspaces.scenario;
  assert.deepEqual({ ...keyspace.strategyOptions }, { replication_factor: replicas });
  assert.equal(keyspace.durableWrites, true);
  const address = await session.metadata.getUdt('scenario', 'address');
  assert.deepEqual(address.fields.map((field) => field.name), ['street', 'tags', 'place']);
  const table = await session.metadata.getTable('scenario', 'events');
  assert.deepEqual(table.partitionKeys.map((c) => c.name), ['a', 'b']);
  assert.deepEqual(table.clusteringKeys.map((c) => c.name), ['at', 'seq']);
  assert.deepEqual(table.clusteringOrder, ['DESC', 'ASC']);
  assert.deepEqual(table.columns.filter((c) => c.isStatic).map((c) => c.name), ['owner']);
  assert.deepEqual([table.comment, table.gcGraceSeconds, table.defaultTtl, table.speculativeRetry], ["it's everything", 3600, 86400, '95p']);
  assert.deepEqual(Object.fromEntries(table.indexes.map((index) => [index.name, index.target])), {
    events_what: 'what', events_seq: 'seq', events_label_names: 'keys(labels)', events_labels: 'entries(labels)',
    events_tags: 'values(tags)', events_path: 'full(path)',
  });
  assert.equal((await session.metadata.getTable('scenario', 'kinds')).columns.length, 29);
});

for (const version of [3, 4]) {
  test(`types with version ${version}`, async () => {
    const connected = client({ protocolOptions: { maxVersion: version } });
    await connected.execute('TRUNCATE kinds');
    for (const [name, values] of Object.entries(kinds)) {
      // Protocol 3 has no number for these: they travel as custom types, which the driver does not write.
      if (version === 3 && ['date_', 'duration_', 'smallint_', 'time_', 'tinyint_'].includes(name)) continue;
      for (const value of [...values, null]) {
        await connected.execute(`INSERT INTO kinds (id, ${name}) VALUES (?, ?)`, [1, value], prepare);
        const back = (await connected.execute(`SELECT ${name} FROM kinds WHERE id = 1`, [], prepare)).first()[name];
        assert.equal(kinds.text(back), kinds.text(value), name);
      }
    }
  });
}

test('types have empty values', async () => {
  for (const kind of ['bigint', 'boolean', 'decimal', 'double', 'float', 'inet', 'int', 'timestamp', 'timeuuid', 'uuid', 'varint']) {
    await session.execute(`INSERT INTO kinds (id, ${kind}_) VALUES (2, blob_as_${kind}(0x))`);
    const select = `SELECT ${kind}_as_blob(${kind}_) AS b FROM kinds WHERE id = 2`;
    assert.equal((await session.execute(select)).first().b.length, 0, kind);
    await session.execute(`INSERT INTO kinds (id, ${kind}_) VALUES (2, null)`);
    assert.equal((await session.execute(select)).first().b, null, kind);
  }
});

test('values', async () => {
  const insert = 'INSERT INTO pairs (k, a, b) VALUES (:k, :a, :b)';
  const pair = async (k) => Object.values((await session.execute('SELECT a, b FROM pairs WHERE k = ?', [k], prepare)).first());
  await session.execute('INSERT INTO pairs (k, a, b) VALUES (?, ?, ?)', [1, 10, 'by position'], prepare);
  await session.execute(insert, { k: 2, a: 20, b: 'by name' }, prepare);
  await session.execute(insert, { k: 3, a: 30, b: 'unprepared' }, { hints: { k: 'int', a: 'int' } });
  assert.deepEqual([await pair(1), await pair(2), await pair(3)], [[10, 'by position'], [20, 'by name'], [30, 'unprepared']]);
  await session.execute(insert, { k: 1, a: types.unset, b: null }, prepare);
  await session.execute(insert, { k: 2, a: 21, b: types.unset }, prepare);
  assert.deepEqual([await pair(1), await pair(2)], [[10, null], [21, 'by name']]);
});

async function fill(rows, partitions) {
  await session.execute('TRUNCATE rows');
  const parameters = upTo(rows).map((i) => [i % partitions, i]);
  const done = await cassandra.concurrent.executeConcurrent(session, 'INSERT INTO rows (k, c) VALUES (?, ?)', parameters, { concurrencyLevel: 500 });
  assert.deepEqual(done.errors, []);
}

test('paging', async () => {
  await fill(10000, 7);
  const read = async (query, fetchSize) => {
    const seen = [];
    for await (const row of session.stream(query, [], { prepare: true, fetchSize, autoPage: true })) seen.push(row.c);
    return seen;
  };
  assert.deepEqual(sorted(await read('SELECT c FROM rows', 777)), upTo(10000));
  assert.equal((await session.execute('SELECT c FROM rows', [], { prepare: true, fetchSize: 777 })).rowLength, 777);
  assert.deepEqual(await read('SELECT c FROM rows WHERE k = 3 ORDER BY c DESC', 100), upTo(10000).filter((i) => i % 7 === 3).reverse());
  assert.equal((await read('SELECT c FROM rows LIMIT 1500', 1000)).length, 1500);
});

test('paging across a restart', restarts, async () => {
  await fill(500, 5);
  const page = (pageState) => session.execute('SELECT c FROM rows', [], { prepare: true, fetchSize: 200, pageState });
  let result = await page();
  const seen = column(result, 'c');
  await control('restart');
  while (result.pageState) {
    const { pageState } = result;
    result = await eventually(() => page(pageState));
    seen.push(...column(result, 'c'));
  }
  assert.deepEqual(sorted(seen), upTo(500));
  await settled();
});

test('batches', async () => {
  for (const logged of [true, false]) {
    await session.execute('TRUNCATE rows');
    const queries = upTo(20).map((i) => ({ query: 'INSERT INTO rows (k, c, v) VALUES (?, ?, ?)', params: [i % 4, i, 'v'] }));
    queries.push({ query: 'DELETE FROM rows WHERE k = ? AND c = ?', params: [0, 4] });
    await session.batch(queries, { prepare: true, logged });
    await session.batch(['INSERT INTO rows (k, c) VALUES (9, 99)'], { logged });
    assert.deepEqual(sorted(column(await session.execute('SELECT c FROM rows'), 'c')), [...upTo(20).filter((i) => i !== 4), 99]);
  }
  await session.execute('TRUNCATE counts');
  await session.batch(upTo(6).map((i) => ({
    query: 'UPDATE counts SET n = n + ?, total = total + 1 WHERE k = ? AND c = ?', params: [i, 1, i % 2],
  })), { prepare: true, counter: true });
  const sums = (await session.execute('SELECT n, total FROM counts')).rows.map((row) => `${row.n} ${row.total}`);
  assert.deepEqual(sums, ['6 6', '9 6']);
});

test('concurrency', async () => {
  await session.execute('TRUNCATE pairs');
  const run = (query, parameters) => cassandra.concurrent.executeConcurrent(session, query, parameters, { concurrencyLevel: 500, collectResults: true });
  const written = await run('INSERT INTO pairs (k, a) VALUES (?, ?)', upTo(5000).map((i) => [i, i * i]));
  assert.equal(written.totalExecuted, 5000);
  const read = await run('SELECT a FROM pairs WHERE k = ?', upTo(5000).map((i) => [i]));
  assert.deepEqual(read.resultItems.map((result) => result.first().a), upTo(5000).map((i) => i * i));
});

test('events', async () => {
  const other = client();
  const { metadata } = session;
  await other.execute('DROP KEYSPACE IF EXISTS scenario_events');
  await other.execute("CREATE KEYSPACE scenario_events WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
  await eventually(() => metadata.keyspaces.scenario_events);
  await other.execute('CREATE TYPE scenario_events.pair (a int, b int)');
  await eventually(() => metadata.getUdt('scenario_events', 'pair'));
  await other.execute('CREATE TABLE scenario_events.t (k int PRIMARY KEY, v int)');
  const table = () => metadata.getTable('scenario_events', 't');
  await eventually(table);
  await other.execute('ALTER TABLE scenario_events.t ADD w list<int>');
  await eventually(async () => (await table()).columnsByName.w);
  await other.execute('ALTER TYPE scenario_events.pair ADD c text');
  await eventually(async () => (await metadata.getUdt('scenario_events', 'pair')).fields.length === 3);
  await other.execute('DROP TABLE scenario_events.t');
  await eventually(async () => !(await table()));
  await other.execute('DROP KEYSPACE scenario_events');
  await eventually(() => !metadata.keyspaces.scenario_events);
});

test("events of the node's status", restarts, async () => {
  const seen = [];
  const listening = client();
  await listening.connect();
  listening.on('hostDown', () => seen.push('down'));
  listening.on('hostUp', () => seen.push('up'));
  // With no other node to ask, the control connection may be back before the pool is; it puts another host in its place.
  listening.on('hostAdd', () => seen.push('up'));
  // The driver looks at a node when it has something to ask.
  const sees = (what) => eventually(() => listening.execute('SELECT key FROM system.local').catch(() => {}).then(() => seen.includes(what)));
  await control('stop');
  await sees('down');
  await control('start');
  await sees('up');
  await settled();
});

// The answer of the node, not the driver's error that no other node was left to ask.
async function refusal(query, options) {
  try {
    await session.execute(query, [], options);
  } catch (error) {
    return error.innerErrors ? Object.values(error.innerErrors)[0] : error;
  }
  return assert.fail(`it succeeded: ${query}`);
}

test('errors', async () => {
  await session.execute('INSERT INTO pairs (k) VALUES (1)');
  const expected = {
    'SELEC 1': codes.syntaxError, 'SELECT nothing FROM pairs': codes.invalid, 'CREATE TABLE pairs (k int PRIMARY KEY)': codes.alreadyExists,
    "CREATE KEYSPACE wrong WITH replication = {'class': 'NoSuchStrategy'}": codes.configError,
    'GRANT SELECT ON ALL KEYSPACES TO nobody': codes.unauthorized, 'SELECT k / 0 FROM pairs WHERE k = 1': codes.functionFailure,
  };
  for (const [query, code] of Object.entries(expected)) assert.equal((await refusal(query)).code, code, query);
  const exists = await refusal('CREATE TABLE pairs (k int PRIMARY KEY)');
  assert.deepEqual([exists.keyspace, exists.table], ['scenario', 'pairs']);
  if (replicas !== '1') return; // all replicas are there
  for (const query of ['INSERT INTO pairs (k, a) VALUES (1, 1)', 'SELECT * FROM pairs']) {
    const { code, consistencies: level, required, alive } = await refusal(query, { consistency: consistencies.three });
    assert.deepEqual([code, level, required, alive], [codes.unavailableException, consistencies.three, 3, 1]);
  }
});

test('errors of reads', { skip: replicas !== '1' && 'the errors of a keyspace with one replica' }, async () => {
  for (const i of [0, 1]) await session.execute('UPDATE sparse SET m = m - ? WHERE k = 1', [upTo(60000).map((n) => i * 60000 + n)], prepare);
  const error = await refusal('SELECT m FROM sparse WHERE k = 1', { consistency: consistencies.localQuorum });
  await session.execute('TRUNCATE sparse');
  assert.deepEqual([error.code, error.consistencies, error.blockFor, error.received, error.failures],
    [codes.readFailure, consistencies.localQuorum, 1, 0, 1]);
});

test('passwords', restarts, async () => {
  const address = await control('secured');
  const logIn = async (username, password) => {
    const secured = client({ contactPoints: [address], keyspace: undefined, credentials: username && { username, password } });
    await secured.connect();
    return secured;
  };
  const admin = await logIn('cassandra', 'cassandra');
  await admin.execute("CREATE ROLE IF NOT EXISTS reader WITH PASSWORD = 'secret' AND LOGIN = true");
  for (const wrong of [['cassandra', 'wrong'], ['nobody', 'cassandra'], []]) {
    await assert.rejects(logIn(...wrong), (e) => Object.values(e.innerErrors)[0] instanceof cassandra.errors.AuthenticationError, String(wrong));
  }
  const reader = await logIn('reader', 'secret');
  await assert.rejects(reader.execute('CREATE ROLE another WITH SUPERUSER = true'), { code: codes.unauthorized });
});

test('prepared after a schema change', async () => {
  await session.execute('INSERT INTO changing (k, v) VALUES (1, 2)');
  const read = async () => (await session.execute('SELECT * FROM changing WHERE k = ?', [1], prepare)).first();
  assert.equal((await read()).v, 2);
  await session.execute('ALTER TABLE changing ADD w text');
  await session.execute("UPDATE changing SET w = 'new' WHERE k = 1");
  assert.equal((await read()).v, 2);
  await session.execute('ALTER TABLE changing DROP w');
  assert.equal((await read()).v, 2);
});

test('prepared after a restart', restarts, async () => {
  const write = (a) => session.execute('INSERT INTO pairs (k, a) VALUES (?, ?)', [77, a], prepare);
  const read = () => session.execute('SELECT a FROM pairs WHERE k = ?', [77], prepare);
  await write(2);
  await read();
  await control('restart');
  assert.equal((await eventually(read)).first().a, 2);
  await settled();
  await write(3);
  assert.equal((await read()).first().a, 3);
});

test('reconnection', restarts, async () => {
  await session.execute('INSERT INTO pairs (k, a) VALUES (7, 8)');
  await control('kill');
  try {
    await assert.rejects(session.execute('SELECT a FROM pairs WHERE k = 7'));
  } finally {
    await control('start');
  }
  assert.equal((await eventually(() => session.execute('SELECT a FROM pairs WHERE k = 7'))).first().a, 8);
  await settled();
});

// Lists the only node three times, so that a speculative execution has somewhere to go.
class TheNodeThreeTimes extends cassandra.policies.loadBalancing.RoundRobinPolicy {
  newQueryPlan(keyspace, options, callback) {
    super.newQueryPlan(keyspace, options, (error, plan) => {
      const nodes = [];
      for (let item = plan?.next(); item && !item.done; item = plan.next()) nodes.push(item.value);
      callback(error, [...nodes, ...nodes, ...nodes][Symbol.iterator]());
    });
  }
}

test('speculative execution', async () => {
  await session.execute('TRUNCATE pairs');
  for (const k of upTo(100)) await session.execute('INSERT INTO pairs (k, b) VALUES (?, ?)', [k, 'x'.repeat(50000)], prepare);
  const policies = {
    loadBalancing: new TheNodeThreeTimes(),
    speculativeExecution: new cassandra.policies.speculativeExecution.ConstantSpeculativeExecutionPolicy(1, 2),
  };
  const result = await client({ policies }).execute('SELECT k, b FROM pairs', [], { isIdempotent: true });
  assert.deepEqual(sorted(column(result, 'k')), upTo(100));
  assert.ok(result.info.speculativeExecutions > 0);
});

test('tracing', async () => {
  const { info } = await session.execute('INSERT INTO pairs (k, a) VALUES (1, 1)', [], { traceQuery: true });
  const trace = await eventually(() => session.metadata.getTrace(info.traceId));
  assert.equal(trace.requestType, 'Execute CQL3 query');
  assert.equal(trace.parameters.query, 'INSERT INTO pairs (k, a) VALUES (1, 1)');
  assert.ok(process.env.SCENARIO_NODES.split(',').includes(String(trace.coordinator)));
  assert.ok(trace.events.length > 0);
});

test('large rows', async () => {
  await session.execute('TRUNCATE large');
  const insert = (k, v) => session.execute('INSERT INTO large (k, v) VALUES (?, ?)', [k, v], prepare);
  const value = Buffer.alloc(16 << 20, 'abcdefg');
  await insert(1, value.subarray(1000));
  assert.ok((await session.execute('SELECT v FROM large WHERE k = 1')).first().v.equals(value.subarray(1000)));
  for (const beyond of [value, Buffer.concat([value, value])]) {
    await assert.rejects(insert(2, beyond), { code: codes.invalid });
    assert.deepEqual(column(await session.execute('SELECT k FROM large'), 'k'), [1]);
  }
  await session.execute('TRUNCATE large');
});
