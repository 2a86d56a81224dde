// The node of the scenario, started and controlled by ../support/with_node.py, and clients of it.
const assert = require('node:assert/strict');
const fs = require('node:fs');
const net = require('node:net');
const cassandra = require('cassandra-driver');

const host = process.env.SCENARIO_HOST;
const replicas = process.env.SCENARIO_REPLICAS;
const { consistencies } = cassandra.types;
const controlled = Boolean(process.env.SCENARIO_CONTROL); // it can be restarted
const open = []; // clients to shut down at the end

// Has the node stopped, killed, started or restarted; 'secured': the address of one with passwords.
function control(command) {
  const [address, port] = process.env.SCENARIO_CONTROL.split(':');
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = net.connect(Number(port), address, () => socket.write(`${command}\n`));
    socket.on('error', reject);
    socket.on('data', (data) => {
      answer += data;
      if (!answer.endsWith('\n')) return;
      socket.end();
      if (answer.startsWith('ok')) resolve(answer.slice(2).trim());
      else reject(new Error(answer));
    });
  });
}

function client(options = {}) {
  const made = new cassandra.Client({
    contactPoints: [host], localDataCenter: 'datacenter1', keyspace: 'scenario',
    queryOptions: { consistency: replicas === '1' ? consistencies.localOne : consistencies.quorum },
    socketOptions: { readTimeout: 30000, connectTimeout: 20000 }, protocolOptions: { maxSchemaAgreementWaitSeconds: 30 },
    policies: { reconnection: new cassandra.policies.reconnection.ConstantReconnectionPolicy(100) }, ...options,
  });
  open.push(made);
  return made;
}

async function createSchema() {
  const admin = client({ keyspace: undefined });
  const text = fs.readFileSync(process.env.SCENARIO_SCHEMA, 'utf8').replace(/--.*/g, '');
  for (const statement of ['DROP KEYSPACE IF EXISTS scenario', ...text.split(';\n')]) if (statement.trim()) await admin.execute(statement);
}

const leave = () => Promise.all(open.filter((each) => each.connected).map((each) => each.shutdown()));

// The result of an attempt, once it neither throws nor is falsy.
async function eventually(attempt) {
  for (const deadline = Date.now() + 30000; ;) {
    const result = await Promise.resolve().then(attempt).catch(() => undefined);
    if (result) return result;
    assert.ok(Date.now() < deadline, 'it did not come about');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

module.exports = { host, replicas, controlled, control, client, createSchema, leave, eventually };
