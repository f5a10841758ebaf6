import host.Challenge;
import host.Json;
import host.Program;

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
 * javac -d build -sourcepath bridges/eaai bridges/eaai/Host.java &amp;&amp; jar cf host.jar -C build .
 * gin evaluate network 'cmd:java -cp host.jar:THEIRS.jar Host their.Player'
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
                    + "  --own-classes        each game has its own copy of the classes, for players that use static fields\n"
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
        boolean oneObject = false, ownClasses = false;
        int maxBatch = 0;
        for (int i = 0; i < arguments.length; i++) {
            String name = arguments[i];
            if (name.equals("--one-object")) {
                oneObject = true;
            } else if (name.equals("--own-classes")) {
                ownClasses = true;
            } else if (name.startsWith("--")) {
                String value = i + 1 < arguments.length ? arguments[++i] : "";
                if (value.isEmpty()) throw new Challenge.Misuse(name + " needs a value, or is no option\n" + USAGE);
                if (name.equals("--card")) cards = value;
                else if (name.equals("--interface")) players = value;
                else if (name.equals("--max-batch") && value.matches("[1-9][0-9]{0,5}")) maxBatch = Integer.parseInt(value);
                else throw new Challenge.Misuse(name + " " + value + " is no option\n" + USAGE);
            } else if (player == null) {
                player = name;
            } else {
                throw new Challenge.Misuse("one player, please: " + player + " or " + name + "\n" + USAGE);
            }
        }
        if (player == null) throw new Challenge.Misuse(USAGE);
        return new Program(new Challenge.Names(cards, players, player), oneObject, ownClasses, maxBatch);
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
