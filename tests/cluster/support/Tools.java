// Runs tools of Cassandra one after the other in one JVM, which starts much faster than one for each.
//
// Standard input has a call a line, fields separated by tabs: a file for what it prints, the class, its arguments.
// Prints each call's exit code on a line of its own.
import java.io.BufferedReader;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.security.Permission;
import java.util.Arrays;

public class Tools {
    // The tools catch exceptions around their calls of System.exit.
    static class Exit extends Error {
        final int code;
        Exit(int code) { this.code = code; }
    }

    @SuppressWarnings("removal")
    static class TrapExit extends SecurityManager {
        @Override public void checkExit(int code) { throw new Exit(code); }
        @Override public void checkPermission(Permission permission) { }
        @Override public void checkPermission(Permission permission, Object context) { }
    }

    static int call(String type, String[] arguments) throws Exception {
        try {
            Class.forName(type).getMethod("main", String[].class).invoke(null, (Object) arguments);
            return 0;
        } catch (InvocationTargetException e) {
            if (e.getCause() instanceof Exit) return ((Exit) e.getCause()).code;
            e.getCause().printStackTrace(System.err);
            return 1;
        }
    }

    @SuppressWarnings("removal")
    public static void main(String[] unused) throws Exception {
        PrintStream answers = System.out;
        System.setSecurityManager(new TrapExit());
        BufferedReader calls = new BufferedReader(new InputStreamReader(System.in));
        for (String line = calls.readLine(); line != null; line = calls.readLine()) {
            String[] fields = line.split("\t");
            try (PrintStream out = new PrintStream(new FileOutputStream(fields[0]), false, "UTF-8")) {
                System.setOut(out);
                System.setErr(out);
                answers.println(call(fields[1], Arrays.copyOfRange(fields, 2, fields.length)));
                answers.flush();
            }
        }
        Runtime.getRuntime().halt(0);
    }
}
