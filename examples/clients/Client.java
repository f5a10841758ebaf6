import java.net.URI;
import java.net.http.*;
import java.util.*;
import java.util.regex.*;

/** Plays whole hands of gin rummy against `gin serve`, with nothing but what comes with Java (11 or newer):
 *
 *     GIN_TOKEN=... java examples/clients/Client.java [URL] [HANDS] [PLAYER]
 *
 * To write your own player, change `choose`. A program that needs more of an answer than this reads it with a library for JSON.
 */
public class Client {
    static final String RANKS = "A23456789TJQK";
    static final HttpClient HTTP = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    static String url;
    static String call(String method, String path, String body) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create(url + path))
            .header("Authorization", "Bearer " + System.getenv("GIN_TOKEN")).header("Content-Type", "application/json")
            .method(method, HttpRequest.BodyPublishers.ofString(body)).build();
        HttpResponse<String> response = HTTP.send(request, HttpResponse.BodyHandlers.ofString());
        if (response.statusCode() >= 300) throw new IllegalStateException(response.statusCode() + " " + response.body());
        return response.body();
    }

    /** The last text, number or list of texts under a key: the question comes after the events. */
    static String last(String json, String key) {
        Matcher matcher = Pattern.compile("\"" + key + "\":(\"[^\"]*\"|\\[[^\\[\\]{}]*\\]|\\w+)").matcher(json);
        String found = "";
        while (matcher.find()) found = matcher.group(1);
        return found.replace("\"", "");
    }

    static List<String> list(String json, String key) {
        String text = last(json, key), inside = text.substring(1, text.length() - 1);
        return new ArrayList<>(inside.isEmpty() ? List.of() : List.of(inside.split(",")));
    }

    static int rank(String card) { return RANKS.indexOf(card.charAt(0)); }

    /** The fewest points outside melds: tries to meld or to leave the first card. */
    static int deadwood(List<String> hand) {
        if (hand.isEmpty()) return 0;
        String first = hand.get(0);
        List<String> rest = hand.subList(1, hand.size());
        int best = Math.min(10, rank(first) + 1) + deadwood(rest);
        List<String> same = new ArrayList<>(), run = new ArrayList<>(List.of(first));
        for (String card : rest) if (rank(card) == rank(first)) same.add(card);
        for (int leave = same.size() == 3 ? -1 : 0; leave < same.size() && same.size() >= 2; leave++) {
            List<String> left = new ArrayList<>(rest);
            for (int i = 0; i < same.size(); i++) if (same.size() == 2 || i != leave) left.remove(same.get(i));
            best = Math.min(best, deadwood(left));
        }
        // Hands are sorted by rank, so the first card is the lowest of its run.
        for (int next = rank(first) + 1; next < 13; next++) {
            if (!rest.contains(RANKS.charAt(next) + first.substring(1))) break;
            run.add(RANKS.charAt(next) + first.substring(1));
            List<String> left = new ArrayList<>(rest);
            left.removeAll(run);
            if (run.size() >= 3) best = Math.min(best, deadwood(left));
        }
        return best;
    }

    static int without(List<String> hand, String card) {
        List<String> left = new ArrayList<>(hand);
        left.remove(card);
        left.sort(Comparator.comparingInt(Client::rank));
        return deadwood(left);
    }

    /** The action for a question: one of those that are legal. */
    static String choose(String game) {
        List<String> legal = list(game, "legal"), hand = list(game, "hand");
        if (!last(game, "phase").equals("discard")) return legal.get(0).equals("take") ? legal.get(1) : legal.get(0);
        String best = legal.get(0);
        int least = 1000;
        for (String action : legal) {
            int left = 2 * without(hand, action.split(" ")[1]) - (action.startsWith("knock") ? 1 : 0);
            if (left < least) { least = left; best = action; }
        }
        return best;
    }

    public static void main(String[] args) throws Exception {
        url = args.length > 0 ? args[0] : "http://127.0.0.1:8378";
        int hands = args.length > 1 ? Integer.parseInt(args[1]) : 3, played = 0;
        String player = args.length > 2 ? args[2] : "level-2";
        while (played < hands) {
            String state = call("POST", "/tables", "{\"player\":\"" + player + "\",\"rules\":\"eaai\"}");
            String table = last(state, "table");
            while (true) {
                Matcher over = Pattern.compile("\"end\":\"(.*?)\",\"winner\":\"(.*?)\",\"points\":(\\d+)").matcher(state);
                while (over.find()) System.out.println("hand " + ++played + ": " + over.group(1) + ", " + over.group(3) + " points to " + over.group(2));
                if (last(state, "over").equals("true") || played >= hands) break;
                state = call("POST", "/tables/" + table, "{\"action\":\"" + choose(state) + "\"}");
            }
            call("DELETE", "/tables/" + table, "");
        }
    }
}
