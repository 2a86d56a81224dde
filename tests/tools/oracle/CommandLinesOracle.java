// The answers of Commons CLI 1.5 to random command lines with the options of some offline tools, for
// tests/tools/command_line_test.cc. To record it anew, with $JARS of tests/cluster/support/cassandra_jars:
//
//     java -cp "$JARS/commons-cli-1.5.0.jar" CommandLinesOracle.java > ../data/command_lines.txt
//
// A line: the tool, its arguments, "=>", then the error, or each option with its values and the other words.
// Tabs are between them.
import java.util.*;
import org.apache.commons.cli.*;

public class CommandLinesOracle {
    static final String[] WORDS = {"ks", "t", "1,2", "-5,6", "x=y", "-", "--", "\"q\"", "5", "all", "=", "", "-=", "--="};

    static Option option(String letter, String name, int values, boolean mayLackValues) {
        Option option = new Option(letter, name, values != 0, "");
        if (values != 0) option.setArgs(values);
        option.setOptionalArg(mayLackValues);
        return option;
    }

    static Options verify() {
        Options options = new Options();
        options.addOption(option(null, "debug", 0, false)).addOption(option("r", "mutate_repair_status", 0, false));
        for (String name : new String[] {"extended", "verbose", "help", "check_version", "quick", "force"})
            options.addOption(option(name.substring(0, 1), name, 0, false));
        return options.addOption(option("t", "token_range", Option.UNLIMITED_VALUES, false));
    }

    static Options util() {
        Options options = new Options();
        for (String name : new String[] {"cleanup", "debug", "help"}) options.addOption(option(name.substring(0, 1), name, 0, false));
        return options.addOption(option("o", "oplog", 0, false)).addOption(option("t", "type", 1, false)).addOption(option("v", "verbose", 0, false));
    }

    static Options metadata() {
        Options options = new Options();
        options.addOption(option("c", "colors", 0, true)).addOption(option("u", "unicode", 0, true));
        options.addOption(option("g", "gc_grace_seconds", 1, true)).addOption(option("t", "timestamp_unit", 1, true));
        return options.addOption(option("h", "help", 0, true)).addOption(option("s", "scan", 0, true));
    }

    static Options dump() {
        Options options = new Options();
        for (String letter : new String[] {"d", "e", "l", "t"}) options.addOption(option(letter, null, 0, false));
        return options.addOption(option("k", null, 3, false)).addOption(option("x", null, 3, false));
    }

    static Options split() {
        Options options = new Options();
        options.addOption(option(null, "debug", 0, false)).addOption(option("h", "help", 0, false));
        return options.addOption(option(null, "no-snapshot", 0, false)).addOption(option("s", "size", 1, false));
    }

    // Hyphens, then letters or a name or its beginning, and at times a value.
    static String word(Random random, Options options) {
        if (random.nextInt(3) == 0) return WORDS[random.nextInt(WORDS.length)];
        List<Option> all = new ArrayList<>(options.getOptions());
        Option option = all.get(random.nextInt(all.size())), other = all.get(random.nextInt(all.size()));
        String name = option.getLongOpt() == null ? option.getOpt() : option.getLongOpt();
        String letter = option.getOpt() == null ? name : option.getOpt();
        String text = switch (random.nextInt(6)) {
            case 0, 1 -> letter;
            case 2 -> letter + (other.getOpt() == null ? "z" : other.getOpt());
            case 3 -> name.substring(0, 1 + random.nextInt(name.length()));
            default -> name;
        };
        return (random.nextInt(8) == 0 ? "---" : random.nextBoolean() ? "-" : "--") + text + switch (random.nextInt(6)) {
            case 0 -> "=7";
            case 1 -> random.nextBoolean() ? "7" : "=";
            default -> "";
        };
    }

    static String parsed(CommandLineParser parser, Options options, String[] words) {
        try {
            CommandLine line = parser.parse(options, words, false);
            StringBuilder text = new StringBuilder();
            Set<String> seen = new TreeSet<>();
            for (Option option : line.getOptions()) {
                String name = option.getOpt() == null ? option.getLongOpt() : option.getOpt();
                String[] values = line.getOptionValues(name);
                seen.add(name + (values == null ? "" : ":" + String.join("|", values)));
            }
            for (String option : seen) text.append('\t').append(option);
            return text.append("\twords\t").append(String.join("|", line.getArgs())).toString();
        } catch (ParseException e) {
            return "\terror\t" + e.getMessage();
        }
    }

    public static void main(String[] unused) {
        Random random = new Random(1);
        for (int i = 0; i < 1500; ++i) {
            String tool = new String[] {"verify", "util", "metadata", "dump", "split"}[i % 5];
            Options options = switch (tool) {
                case "verify" -> verify();
                case "util" -> util();
                case "metadata" -> metadata();
                case "dump" -> dump();
                default -> split();
            };
            CommandLineParser parser = tool.equals("metadata") || tool.equals("dump") ? new PosixParser() : new GnuParser();
            String[] words = new String[random.nextInt(5)];
            for (int j = 0; j < words.length; ++j) words[j] = word(random, options);
            System.out.println(tool + "\t" + (words.length == 0 ? "" : String.join("\t", words) + "\t") + "=>" + parsed(parser, options, words));
        }
    }
}
