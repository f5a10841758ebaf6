// A complete bot for the line protocol (docs/protocol.md) in Java 11, with nothing but the standard library.
//
//     javac -d build examples/bots/Bot.java
//     gin evaluate "cmd:java -cp build Bot" simple --games 200
//
// Make it yours in `choose`; everything else can stay as it is.

import java.io.*;
import java.nio.charset.StandardCharsets;
import java.util.*;

public class Bot {
    // ---- JSON, as far as the protocol needs it: its texts hold nothing to escape. (The host in bridges/eaai reads lines in the same
    // way, from a file of its own: this bot is one file, to be taken away and changed.)

    /** Reads a Map, a List or a String; numbers and words (true, false, null) come as Strings, as they were written. */
    static class Json {
        final String text;
        int at;

        Json(String text) { this.text = text; }

        char next() {
            while (at < text.length() && " ,:".indexOf(text.charAt(at)) >= 0) at++;
            return at < text.length() ? text.charAt(at) : '}';
        }

        Object value() {
            char first = next();
            if (first == '"') return string();
            if (first == '[') {
                List<Object> items = new ArrayList<>();
                for (at++; next() != ']' && at < text.length(); ) items.add(value());
                at++;
                return items;
            }
            if (first == '{') {
                Map<String, Object> fields = new LinkedHashMap<>();
                for (at++; next() != '}'; ) fields.put(string(), value());
                at++;
                return fields;
            }
            int start = at;
            while (at < text.length() && ",]}".indexOf(text.charAt(at)) < 0) at++;
            return text.substring(start, at);
        }

        String string() {
            int start = at + 1;
            at = text.indexOf('"', start) + 1;
            return text.substring(start, at - 1);
        }
    }

    @SuppressWarnings("unchecked")
    static <T> T as(Object value) {
        return (T) value;
    }

    // ---- Cards are numbers, 13 * suit + rank; hands are sets of bits.

    static int card(String name) {
        return 13 * "SCDH".indexOf(name.charAt(1)) + "A23456789TJQK".indexOf(name.charAt(0));
    }

    static int value(int card) {
        return Math.min(10, card % 13 + 1);
    }

    static long cards(Object names) {
        long all = 0;
        for (String name : Bot.<List<String>>as(names)) all |= 1L << card(name);
        return all;
    }

    static int points(long hand) {
        int sum = 0;
        for (; hand != 0; hand &= hand - 1) sum += value(Long.numberOfTrailingZeros(hand));
        return sum;
    }

    /** All sets of three or four and all runs of three to five; a longer run is two of these. */
    static final List<Long> MELDS = new ArrayList<>();

    static {
        for (int rank = 0; rank < 13; rank++) {
            long four = 1L << rank | 1L << 13 + rank | 1L << 26 + rank | 1L << 39 + rank;
            MELDS.add(four);
            for (int suit = 0; suit < 4; suit++) MELDS.add(four & ~(1L << 13 * suit + rank));
        }
        for (int length = 3; length <= 5; length++)
            for (int suit = 0; suit < 4; suit++)
                for (int low = 0; low + length <= 13; low++) MELDS.add((1L << length) - 1 << 13 * suit + low);
    }

    static int deadwood(long hand) {
        List<Long> held = new ArrayList<>();
        for (long meld : MELDS) if ((hand & meld) == meld) held.add(meld);
        return points(hand) - melded(hand, held);
    }

    /** Most points of a hand in melds that do not overlap. */
    static int melded(long hand, List<Long> melds) {
        int best = 0;
        for (int i = 0; i < melds.size(); i++) {
            long meld = melds.get(i);
            if ((hand & meld) == meld)
                best = Math.max(best, points(meld) + melded(hand & ~meld, melds.subList(i + 1, melds.size())));
        }
        return best;
    }

    // ---- What is remembered of one hand: the events tell it.

    static class Book {
        long gone; // cards on the pile, which nobody gets back as long as they lie there
        long wanted; // cards that the opponent took from the pile

        void note(Map<String, String> event) {
            String what = event.get("event");
            long one = event.containsKey("card") ? 1L << card(event.get("card")) : 0;
            if (what.equals("deal")) {
                gone = wanted = 0;
            } else if (what.equals("discard")) {
                gone |= one;
                wanted &= ~one;
            } else if (what.equals("take")) {
                gone &= ~one;
                if (event.get("who").equals("opponent")) wanted |= one;
            }
        }
    }

    // ---- The strategy.

    /** In how many melds of three this card goes with a card of a set, as long as none of the three is gone. */
    static int links(int card, long with, long gone) {
        int count = 0;
        for (long meld : MELDS)
            if ((meld >> card & 1) == 1 && Long.bitCount(meld) == 3 && (meld & gone) == 0 && (meld & with) != 0) count++;
        return count;
    }

    /** The action for one game: one of its "legal". */
    static String choose(Map<String, Object> game, Book book) {
        List<String> legal = as(game.get("legal"));
        String phase = as(game.get("phase"));
        long hand = cards(game.get("hand"));
        if (phase.equals("discard")) return discard(legal, hand, book);
        if (phase.equals("layoff")) {
            for (String action : legal)
                if (!action.equals("done") && deadwood(hand & ~(1L << card(action.substring(8)))) < deadwood(hand)) return action;
            return "done";
        }
        // The upcard if it goes into a meld; else the stock, or to pass; or a spread: the first is as good as any.
        if (!legal.contains("take")) return legal.get(0);
        int upcard = card(as(game.get("upcard")));
        boolean useful = deadwood(hand | 1L << upcard) < deadwood(hand) + value(upcard);
        if (!useful && legal.size() > 1) legal.remove("take");
        return useful ? "take" : legal.get(0);
    }

    /** Knocks as soon as possible; else keeps what is or may become a meld, and what the opponent seems to collect. */
    static String discard(List<String> legal, long hand, Book book) {
        String best = null;
        int least = Integer.MAX_VALUE;
        for (String action : legal) {
            int out = card(action.substring(action.length() - 2));
            long rest = hand & ~(1L << out);
            int cost = 4 * deadwood(rest) + 2 * links(out, rest, book.gone) + 6 * links(out, book.wanted, book.gone | rest);
            if (action.startsWith("knock")) cost -= 10000;
            if (cost < least) best = action;
            least = Math.min(least, cost);
        }
        return best;
    }

    public static void main(String[] arguments) throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        Map<String, Book> books = new HashMap<>(); // by slot
        for (String line; (line = in.readLine()) != null; ) {
            Map<String, Object> message = as(new Json(line).value());
            if (message.get("type").equals("bye")) break;
            if (message.get("type").equals("hello")) {
                System.out.println("{\"type\":\"ready\",\"protocol\":2,\"name\":\"Java example\"}");
                continue;
            }
            StringJoiner answers = new StringJoiner(",");
            for (Map<String, Object> game : Bot.<List<Map<String, Object>>>as(message.get("games"))) {
                Book book = books.computeIfAbsent(as(game.get("slot")), slot -> new Book());
                for (Map<String, String> event : Bot.<List<Map<String, String>>>as(game.get("events"))) book.note(event);
                if (game.containsKey("legal"))
                    answers.add("{\"slot\":" + game.get("slot") + ",\"action\":\"" + choose(game, book) + "\"}");
            }
            System.out.println("{\"type\":\"answers\",\"id\":" + message.get("id") + ",\"answers\":[" + answers + "]}");
            System.out.flush();
        }
    }
}
