import host.Challenge;
import host.Json;
import host.Program;
import host.Statics;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/**
 * Plays with any player of the 2021 EAAI undergraduate gin rummy challenge over the line protocol (docs/protocol.md, docs/bots.md).
 *
 * <pre>
 * javac -d build/host -sourcepath bridges/eaai bridges/eaai/Host.java &amp;&amp; jar cf build/host.jar -C build/host .
 * gin evaluate network 'theirs=cmd:java -cp build/host.jar:build/theirs.jar Host their.Player'
 * </pre>
 *
 * Only this class is outside of a package, where the players of some entries are.
 */
public class Host {
    private static final String USAGE =
            "usage: java -cp host.jar:THEIRS.jar Host [OPTION ...] PLAYER\n"
                    + "  PLAYER               name of the player's class\n"
                    + "  --card NAME          name of the class of cards (ginrummy.Card; Card, where the entry has no package)\n"
                    + "  --interface NAME     name of the players' interface (ginrummy.GinRummyPlayer)\n"
                    + "  --one-object         one object plays all games, one game after the other (play with --batch 1)\n"
                    + "  --own-classes        each game has its own copy of the classes, also where no static field that can change is seen\n"
                    + "  --shared-classes     all games share the classes, whatever static fields they have\n"
                    + "  --max-batch N        games in one line at most, so that a slow player keeps to its time";

    public static void main(String[] arguments) {
        // What a player prints is not for the arena, and the arena's questions are not for the player.
        PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
        InputStream in = System.in;
        System.setOut(System.err);
        System.setIn(InputStream.nullInputStream());
        int status = 1;
        try {
            status = play(options(arguments), in, out);
        } catch (Challenge.Misuse | IOException problem) {
            System.err.println(problem.getMessage());
        } catch (Throwable problem) {
            problem.printStackTrace();
            // The arena quotes the last line.
            System.err.println("the host failed: " + problem);
        }
        // A player may have left threads behind.
        Runtime.getRuntime().halt(status);
    }

    private static Program options(String[] arguments) {
        String player = null, cards = "ginrummy.Card", players = "ginrummy.GinRummyPlayer";
        boolean oneObject = false;
        Boolean ownClasses = null;
        int maxBatch = 0;
        for (int i = 0; i < arguments.length; i++) {
            String name = arguments[i];
            if (name.equals("--one-object")) {
                oneObject = true;
            } else if (name.equals("--own-classes") || name.equals("--shared-classes")) {
                ownClasses = name.equals("--own-classes");
            } else if (name.equals("--card") || name.equals("--interface") || name.equals("--max-batch")) {
                String value = i + 1 < arguments.length ? arguments[++i] : "";
                if (value.isEmpty()) throw misuse(name + " needs a value");
                if (name.equals("--card")) cards = value;
                else if (name.equals("--interface")) players = value;
                else if (value.matches("[1-9][0-9]{0,5}")) maxBatch = Integer.parseInt(value);
                else throw misuse("--max-batch needs a number from 1 to 999999, got " + value);
            } else if (name.startsWith("-")) {
                throw misuse("there is no option " + name);
            } else if (player == null) {
                player = name;
            } else {
                throw misuse("one player, please: " + player + " or " + name);
            }
        }
        if (player == null) throw misuse("the name of the player's class is missing");
        Challenge.Names names = new Challenge.Names(cards, players, player);
        if (ownClasses == null) {
            String field = oneObject ? null : Statics.changing(names);
            if (field != null) System.err.println("each game gets its own copy of the classes, because of the static field " + field);
            ownClasses = field != null;
        }
        return new Program(names, oneObject, ownClasses, maxBatch);
    }

    /** The reason stands last, since the arena quotes the last line. */
    private static Challenge.Misuse misuse(String reason) {
        return new Challenge.Misuse(USAGE + "\n" + reason);
    }

    private static int play(Program program, InputStream in, PrintStream out) throws IOException {
        BufferedReader lines = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8), 1 << 16);
        for (String line; (line = lines.readLine()) != null; ) {
            Map<String, Object> message = Json.object(Json.read(line));
            String answer = program.answer(message);
            if (answer == null) break;
            out.print(answer + "\n");
            out.flush();
        }
        return program.unheard() ? 1 : 0;
    }
}
