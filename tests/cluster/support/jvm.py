"""Apache Cassandra 5.0.9 from its jars: its offline tools, and a node, on a data directory that is already there."""
import glob
import json
import os
import pathlib
import subprocess
import time

from node import answers

HERE = pathlib.Path(__file__).resolve().parent
JARS = pathlib.Path(os.environ["CASSANDRA_JARS"])
# The keys that both are configured with, by the version and format of the files that they write then.
SETTINGS = {"da-bti": {"storage_compatibility_mode": "NONE", "sstable": {"selected_format": "bti"}},
            "nb-big": {"storage_compatibility_mode": "CASSANDRA_4"},
            "oa-big": {"storage_compatibility_mode": "NONE", "sstable": {"selected_format": "big"}}}
OPENS = """java.lang java.lang.module java.lang.reflect java.io java.net java.nio java.util java.util.concurrent
 java.util.concurrent.atomic jdk.internal.loader jdk.internal.math jdk.internal.module jdk.internal.ref jdk.internal.reflect
 jdk.internal.util.jar sun.nio.ch""".split()
EXPORTS = ["java.base/jdk.internal.misc", "java.base/jdk.internal.ref", "java.base/sun.nio.ch",
           "java.management.rmi/com.sun.jmx.remote.internal.rmi", "java.rmi/sun.rmi.registry", "java.rmi/sun.rmi.server",
           "java.sql/java.sql", "jdk.unsupported/sun.misc"]


class Jvm:
    """`home` gets the configuration and the log, `data` is the data directory to be read, `settings` are keys more. A setting of None
    is Cassandra's default."""
    def __init__(self, home, data, address, settings):
        self.home, self.address, self.process = pathlib.Path(home), address, None
        self.home.mkdir(parents=True)
        values = {
            "cluster_name": "Test Cluster", "num_tokens": 16, "partitioner": "org.apache.cassandra.dht.Murmur3Partitioner",
            "seed_provider": [{"class_name": "org.apache.cassandra.locator.SimpleSeedProvider", "parameters": [{"seeds": address}]}],
            "listen_address": address, "rpc_address": address, "endpoint_snitch": "SimpleSnitch",
            "commitlog_sync": "periodic", "commitlog_sync_period": "10s", "data_file_directories": [str(data)],
            **{f"{name}_directory": str(self.home / name) for name in ("commitlog", "saved_caches", "hints", "cdc_raw")},
            "uuid_sstable_identifiers_enabled": True, "memtable_allocation_type": "heap_buffers", **settings}
        (self.home / "cassandra.yaml").write_text(json.dumps({key: value for key, value in values.items() if value is not None}))
        (self.home / "logback.xml").write_text(f"""<configuration>
<appender name="F" class="ch.qos.logback.core.FileAppender"><file>{self.home}/system.log</file>
<encoder><pattern>%-5level [%thread] %date %F:%L - %msg%n</pattern></encoder></appender>
<root level="INFO"><appender-ref ref="F"/></root></configuration>""")

    def command(self, *words):
        command = ["java", "-Xmx1g", "-Xss512k", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Djdk.attach.allowAttachSelf=true",
                   "-Dio.netty.tryReflectionSetAccessible=true", "-Djava.security.manager=allow",
                   f"-javaagent:{glob.glob(str(JARS / 'jamm-*.jar'))[0]}"]
        command += [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENS]
        command += [f"--add-exports={package}=ALL-UNNAMED" for package in EXPORTS]
        command += [f"-Dcassandra.config=file://{self.home}/cassandra.yaml", f"-Dcassandra.storagedir={self.home}",
                    f"-Dcassandra.logdir={self.home}", f"-Dlogback.configurationFile={self.home}/logback.xml"]
        return [*command, *words]

    def tools(self, calls):
        """Runs [class, argument...] one after the other; [(exit code, what it printed)]."""
        compiler = ["java", "-cp", glob.glob(str(JARS / "ecj-*.jar"))[0], "org.eclipse.jdt.internal.compiler.batch.Main"]
        subprocess.run([*compiler, "-17", "-nowarn", "-d", self.home, HERE / "Tools.java"], check=True)
        outputs = [self.home / f"call-{i}" for i in range(len(calls))]
        lines = ["\t".join([str(output), *map(str, call)]) + "\n" for output, call in zip(outputs, calls)]
        done = subprocess.run(self.command("-cp", f"{self.home}:{JARS}/*", "Tools"), input="".join(lines), capture_output=True, text=True)
        codes = done.stdout.split()
        assert len(codes) == len(calls), done.stderr[-3000:]
        return [(int(code), output.read_text(errors="replace")) for code, output in zip(codes, outputs)]

    def start(self, jmx_port=0):
        """`jmx_port`: on 127.0.0.1; 0: any."""
        flags = ["-Dcassandra-foreground=yes", "-Dcassandra.ring_delay_ms=1000", "-Dcassandra.skip_wait_for_gossip_to_settle=0",
                 f"-Dcassandra.jmx.local.port={jmx_port}", "-Djava.net.preferIPv4Stack=true"]
        began = time.time()
        with open(self.home / "output.log", "ab") as output:
            self.process = subprocess.Popen(
                self.command(*flags, "-cp", f"{self.home}:{JARS}/*", "org.apache.cassandra.service.CassandraDaemon"),
                stdout=output, stderr=output, stdin=subprocess.DEVNULL, cwd=self.home)
        while not answers(self.address, 9042):
            if self.process.poll() is not None or time.time() - began > 120:
                raise RuntimeError("Cassandra did not start:\n" + (self.home / "system.log").read_text()[-5000:])
            time.sleep(0.1)

    def stop(self):
        """SIGTERM: Cassandra flushes what is not durable and drains."""
        self.process.terminate()
        self.process.wait(60)

    def destroy(self):
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait(60)
