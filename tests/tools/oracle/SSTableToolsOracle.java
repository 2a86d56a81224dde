// The answers of Cassandra's own offline tools, for tests/tools/sstable_tools_test.cc. Takes command lines
// from standard input, their words separated by tabs, and runs them in one JVM whose clock stands still. Prints a JSON array
// of {"command", "exit", "out", "err"}, in which the current directory is @. record_sstable_tools runs it.
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.*;
import java.nio.charset.StandardCharsets;
import java.util.*;
import org.apache.cassandra.tools.SSTableExport;
import org.apache.cassandra.tools.SSTableMetadataViewer;
import org.apache.cassandra.tools.StandaloneScrubber;
import org.apache.cassandra.tools.StandaloneSplitter;
import org.apache.cassandra.tools.StandaloneUpgrader;
import org.apache.cassandra.utils.Clock;

public class SSTableToolsOracle {
    public static class StandingClock implements Clock {
        public long nanoTime() { return 0; }
        public long currentTimeMillis() { return 1900000000000L; }
    }

    // The tools catch exceptions around their calls of System.exit.
    static class Exit extends Error {
        final int status;
        Exit(int status) { this.status = status; }
    }

    static final PrintStream STANDARD_ERR = System.err;
    static volatile boolean done = false;

    static int run(String[] words) {
        String[] arguments = Arrays.copyOfRange(words, 1, words.length);
        try {
            if (words[0].equals("sstabledump")) SSTableExport.main(arguments);
            else if (words[0].equals("sstablemetadata")) SSTableMetadataViewer.main(arguments);
            else if (words[0].equals("sstablescrub")) StandaloneScrubber.main(arguments);
            else if (words[0].equals("sstablesplit")) StandaloneSplitter.main(arguments);
            else if (words[0].equals("sstableupgrade")) StandaloneUpgrader.main(arguments);
            else throw new IllegalArgumentException(words[0]);
            return 0;
        } catch (Exit exit) {
            return exit.status;
        } catch (Throwable t) {
            if (t instanceof LinkageError) t.printStackTrace(STANDARD_ERR);
            // The JVM prints one that nobody catches so, and where it was thrown.
            System.err.println("Exception in thread \"main\" " + t);
            return 1;
        }
    }

    @SuppressWarnings("removal")
    public static void main(String[] unused) throws Exception {
        PrintStream standardOut = System.out;
        System.setSecurityManager(new SecurityManager() {
            @Override public void checkPermission(java.security.Permission permission) {}
            @Override public void checkExit(int status) { if (!done) throw new Exit(status); }
        });
        String here = new File(".").getCanonicalPath();
        List<Map<String, Object>> answers = new ArrayList<>();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null;) {
            String[] words = line.split("\t");
            ByteArrayOutputStream out = new ByteArrayOutputStream(), err = new ByteArrayOutputStream();
            System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
            System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
            int status = run(words);
            Map<String, Object> answer = new LinkedHashMap<>();
            answer.put("command", words);
            answer.put("exit", status);
            answer.put("out", out.toString(StandardCharsets.UTF_8).replace(here, "@"));
            answer.put("err", err.toString(StandardCharsets.UTF_8).replace(here, "@"));
            answers.add(answer);
        }
        System.setErr(STANDARD_ERR);
        standardOut.print(new ObjectMapper().writeValueAsString(answers));
        standardOut.flush();
        done = true;
        Runtime.getRuntime().halt(0);
    }
}
