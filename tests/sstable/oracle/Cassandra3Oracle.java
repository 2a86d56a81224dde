// Runs CQL statements in the engine of a Cassandra 3, without a server: `Cassandra3Oracle KEYSPACE TABLE FILE`. The file has a
// statement a line. The table's rows are flushed into one SSTable of the version that this Cassandra writes. record_cassandra3
// compiles and calls it.
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Paths;

import org.apache.cassandra.config.DatabaseDescriptor;
import org.apache.cassandra.config.Schema;
import org.apache.cassandra.cql3.QueryProcessor;
import org.apache.cassandra.db.Keyspace;
import org.apache.cassandra.db.commitlog.CommitLog;

public class Cassandra3Oracle {
    public static void main(String[] arguments) throws Exception {
        // 3.11 is asked to read its configuration and to start its commit log; 3.0 does both when they are first used.
        try {
            DatabaseDescriptor.class.getMethod("daemonInitialization").invoke(null);
            Method start = CommitLog.class.getDeclaredMethod("start");
            start.setAccessible(true);
            start.invoke(CommitLog.instance);
        } catch (NoSuchMethodException of30) {
            Class.forName(DatabaseDescriptor.class.getName());
        }
        Keyspace.setInitialized();
        Schema.instance.loadFromDisk(false);
        for (String statement : Files.readAllLines(Paths.get(arguments[2]))) QueryProcessor.executeOnceInternal(statement);
        Keyspace.open(arguments[0]).getColumnFamilyStore(arguments[1]).forceBlockingFlush();
        System.exit(0);  // its threads would go on
    }
}
