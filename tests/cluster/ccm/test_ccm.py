"""ccm, as it comes from PyPI, takes what `cmake --install` lays out for a Cassandra: it creates, starts, stops, kills and removes
a cluster. And bin/cassandra takes the options of Cassandra's starter."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import pytest
from cassandra import ConsistencyLevel, Unavailable
from cassandra.cluster import Cluster, ExecutionProfile, EXEC_PROFILE_DEFAULT
from cassandra.policies import FallthroughRetryPolicy, WhiteListRoundRobinPolicy
from cassandra.query import SimpleStatement

from node import BUILD, answers

ADDRESSES = ["127.0.0.31", "127.0.0.32", "127.0.0.33"]
SCRIPTS = pathlib.Path(sys.executable).parent

if shutil.which("java") is None:
    pytest.skip("ccm asks java for its version", allow_module_level=True)


@pytest.fixture(scope="module")
def installation(tmp_path_factory):
    prefix = tmp_path_factory.mktemp("installation")
    subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix], check=True, capture_output=True)
    return prefix


class Ccm:
    def __init__(self, home):
        home.mkdir()
        self.environment = {**os.environ, "CCM_CONFIG_DIR": str(home), "PATH": f"{SCRIPTS}:{os.environ['PATH']}"}
        for name in ("CASSANDRA_HOME", "CASSANDRA_CONF", "CASSANDRA_INCLUDE"):
            self.environment.pop(name, None)

    def __call__(self, *words):
        done = subprocess.run([SCRIPTS / "python", SCRIPTS / "ccm", *words], env=self.environment, capture_output=True, text=True, timeout=180)
        assert done.returncode == 0, f"ccm {' '.join(words)}: {done.stdout}{done.stderr}"
        return done.stdout

    def states(self, node="node1"):
        lines = self(node, "nodetool", "status").splitlines()
        return {line.split()[1]: line.split()[0] for line in lines if line[:2] in ("UN", "DN")}

    def wait_for_states(self, *states):
        end = time.time() + 60
        while self.states() != dict(zip(ADDRESSES, states)):
            assert time.time() < end, self.states()
            time.sleep(0.5)


@pytest.fixture
def ccm(installation, tmp_path):
    ccm = Ccm(tmp_path / "ccm")
    ccm("create", "test", f"--install-dir={installation}", "-n", "3", "-I", "127.0.0.3%d")
    yield ccm
    ccm("remove")


def session(*addresses):
    profile = ExecutionProfile(load_balancing_policy=WhiteListRoundRobinPolicy(addresses), retry_policy=FallthroughRetryPolicy(),
                               request_timeout=20)
    cluster = Cluster(addresses, execution_profiles={EXEC_PROFILE_DEFAULT: profile})
    return cluster, cluster.connect()


def run(session, text, level=ConsistencyLevel.QUORUM):
    return list(session.execute(SimpleStatement(text, consistency_level=level)))


def test_a_cluster_of_three_from_its_creation_to_its_end(ccm, tmp_path):
    ccm("start", "--root")
    assert ccm("status").count(": UP") == 3
    assert ccm.states() == dict.fromkeys(ADDRESSES, "UN")
    assert "5.0.9" in ccm("node2", "nodetool", "version")

    cluster, cql = session(ADDRESSES[0])
    run(cql, "CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 3}")
    run(cql, "CREATE TABLE k.t (k int PRIMARY KEY, v int)")
    run(cql, "INSERT INTO k.t (k, v) VALUES (1, 1)", ConsistencyLevel.ALL)

    ccm("node2", "stop")
    ccm.wait_for_states("UN", "DN", "UN")
    assert ccm("status").count(": DOWN") == 1
    run(cql, "INSERT INTO k.t (k, v) VALUES (1, 2)")
    ccm("node3", "stop", "--not-gently")
    ccm.wait_for_states("UN", "DN", "DN")
    with pytest.raises(Unavailable):
        run(cql, "INSERT INTO k.t (k, v) VALUES (1, 3)")

    ccm("node2", "start", "--root")
    ccm("node3", "start", "--root")
    ccm.wait_for_states("UN", "UN", "UN")
    assert [row.v for row in run(cql, "SELECT v FROM k.t WHERE k = 1", ConsistencyLevel.ALL)] == [2]
    ccm("node1", "flush")
    ccm("node1", "cqlsh", "-x", "INSERT INTO k.t (k, v) VALUES (2, 2);")
    assert len(run(cql, "SELECT * FROM k.t")) == 2
    cluster.shutdown()

    ccm("stop")
    assert ccm("status").count(": DOWN") == 3
    ccm("start", "--root")
    ccm.wait_for_states("UN", "UN", "UN")


def test_nodes_that_are_started_without_waiting_and_killed(ccm):
    ccm("start", "--root", "--no-wait")
    assert ccm("status").count(": UP") == 3
    ccm("stop", "--not-gently")
    assert not any(answers(address, 9042) for address in ADDRESSES)


def cassandra(installation, *options, **environment):
    return subprocess.run([installation / "bin/cassandra", *options], env={**os.environ, **environment}, capture_output=True, text=True, timeout=60)


def test_the_starter_knows_the_version_and_its_options(installation):
    assert cassandra(installation, "-v").stdout == "5.0.9\n"
    assert "-p   its process id" in cassandra(installation, "-h").stdout
    replaced = cassandra(installation, "-Dcassandra.replace_address=127.0.0.9")
    assert (replaced.returncode, "streaming is not supported yet" in replaced.stderr) == (1, True)
    assert "unknown option -z" in cassandra(installation, "-z").stderr


def test_properties_become_settings(installation, tmp_path):
    pidfile = tmp_path / "pid"
    options = ["-p", pidfile, f"-Dcassandra.storagedir={tmp_path}/data", f"-Dcassandra.logdir={tmp_path}/logs",
               "-D", "cassandra.jmx.local.port=7431", "-Dcassandra.settings.listen_address=127.0.0.31",
               "-Dcassandra.settings.rpc_address=127.0.0.31", "-Dcassandra.join_ring=False", "-Dcassandra.boot_without_jna=true",
               "-Dcassandra.no_such_thing=1"]
    seeds = "[{class_name: SimpleSeedProvider, parameters: [{seeds: 127.0.0.31}]}]".replace(" ", "")
    started = subprocess.Popen([installation / "bin/cassandra", "-f", *options, f"-Dcassandra.settings.seed_provider={seeds.replace(':', ': ')}"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        end = time.time() + 30
        while not answers("127.0.0.31", 9042):
            assert started.poll() is None and time.time() < end, started.stderr.read()
            time.sleep(0.05)
        assert int(pidfile.read_text()) == started.pid
        info = subprocess.run([installation / "bin/nodetool", "-p", "7431", "info"], capture_output=True, text=True, check=True).stdout
        assert "(node is not joined to the cluster)" in info
        assert (tmp_path / "logs/system.log").exists() and (tmp_path / "data/commitlog").exists()
    finally:
        started.send_signal(signal.SIGHUP)
        assert started.wait(60) == 0
    assert "-Dcassandra.no_such_thing means nothing to this node" in started.stderr.read()
