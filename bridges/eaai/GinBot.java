import ginrummy.Card;
import ginrummy.GinRummyPlayer;
import ginrummy.GinRummyUtil;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Any player of ours in the arena of the 2021 EAAI challenge: <code>new GinRummyGame(new GinBot("level-2"), theirs)</code>. It starts
 * <code>gin bot PLAYER</code> and tells it the whole hand with each question (docs/protocol.md). Where the challenge's classes are in no
 * package, leave out the three imports of ginrummy.
 */
public class GinBot implements GinRummyPlayer {
    private static final Pattern ACTION = Pattern.compile("\"action\":\"([^\"]*)\"");
    private final Writer questions;
    private final BufferedReader answers;
    private int me;
    private boolean starts, opening, knocks, opponentKnocked;
    private String scores = "[0,0]";
    /** Top of the discard pile; null before it is known, since the first upcard is told with the first question. */
    private Card upcard;
    private final ArrayList<Card> hand = new ArrayList<>();
    private final List<String> events = new ArrayList<>();
    /** The player that the system property gin.player names; network by default. */
    public GinBot() {
        this(System.getProperty("gin.player", "network"));
    }

    /** A player by its name, such as level-2. The system property gin.command says how gin is started. */
    public GinBot(String player) {
        List<String> words = new ArrayList<>(Arrays.asList(System.getProperty("gin.command", "gin").split(" +")));
        words.addAll(List.of("bot", player));
        try {
            Process process = new ProcessBuilder(words).redirectError(ProcessBuilder.Redirect.INHERIT).start();
            questions = new OutputStreamWriter(process.getOutputStream(), StandardCharsets.UTF_8);
            answers = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
        } catch (IOException problem) {
            throw new IllegalStateException(problem);
        }
        send("{'type':'hello','protocol':2,'rules':'eaai'}");
    }

    @Override public void startGame(int playerNum, int startingPlayerNum, Card[] cards) {
        me = playerNum;
        starts = startingPlayerNum == me;
        opening = true;
        knocks = opponentKnocked = false;
        upcard = null;
        hand.clear();
        hand.addAll(Arrays.asList(cards));
        events.clear();
    }

    private void add(String what, boolean mine, Card card) {
        String shown = card == null ? "" : ",'card':'" + card + "'";
        events.add("{'event':'" + what + "','who':'" + (mine ? "you" : "opponent") + "'" + shown + "}");
    }

    private void deal(Card first) {
        upcard = first;
        List<String> cards = new ArrayList<>();
        for (Card card : hand) cards.add("'" + card + "'");
        events.add("{'event':'deal','seat':" + me + ",'starts':'" + (starts ? "you" : "opponent") + "','cards':" + cards
                + ",'upcard':'" + first + "','score':" + scores + "}");
    }

    @Override public boolean willDrawFaceUpCard(Card card) {
        if (!opening) return ask("draw").equals("take");
        // Both have refused it. The arena asks the player that starts once more; the rules leave the stock.
        if (upcard != null) return false;
        deal(card);
        if (!starts) add("pass", false, null);
        boolean takes = ask("upcard").equals("take");
        if (!takes) add("pass", true, null);
        return takes;
    }

    @Override public void reportDraw(int playerNum, Card drawn) {
        boolean mine = playerNum == me;
        if (upcard == null) deal(drawn);
        boolean takes = drawn != null && drawn.getId() == upcard.getId();
        // Of the first upcard's refusals, the opponent's second one is not told; one that takes it after both refused has not refused.
        if (opening && takes && events.size() == 3) events.subList(1, 3).clear();
        if (opening && mine && !takes && events.size() == 2) add("pass", false, null);
        opening = false;
        if (mine) hand.add(drawn);
        add(takes ? "take" : "draw", mine, drawn);
    }

    @Override public Card getDiscard() {
        String[] action = ask("discard").split(" ");
        knocks = action[0].equals("knock");
        for (Card card : hand) if (card.toString().equals(action[1])) return card;
        throw new IllegalStateException("not in hand: " + action[1]);
    }

    @Override public void reportDiscard(int playerNum, Card discarded) {
        add("discard", playerNum == me, discarded);
        if (playerNum == me) hand.removeIf(card -> card.getId() == discarded.getId());
        upcard = discarded;
    }

    @Override public ArrayList<ArrayList<Card>> getFinalMelds() {
        if (!knocks && !opponentKnocked) return null;
        ArrayList<ArrayList<ArrayList<Card>>> best = GinRummyUtil.cardsToBestMeldSets(hand);
        return best.isEmpty() ? new ArrayList<>() : best.get(0);
    }

    @Override public void reportFinalMelds(int playerNum, ArrayList<ArrayList<Card>> melds) {
        opponentKnocked = opponentKnocked || playerNum != me;
    }

    @Override public void reportScores(int[] points) {
        // A game is over at 100 points; the next one begins without a report.
        scores = Math.max(points[0], points[1]) >= 100 ? "[0,0]" : "[" + points[me] + "," + points[1 - me] + "]";
    }

    @Override public void reportLayoff(int playerNum, Card card, ArrayList<Card> meld) {}

    @Override public void reportFinalHand(int playerNum, ArrayList<Card> cards) {}

    private String ask(String phase) {
        String answer = send("{'type':'act','id':1,'games':[{'slot':1,'phase':'" + phase + "','events':" + events + "}]}");
        Matcher found = ACTION.matcher(answer);
        if (!found.find()) throw new IllegalStateException(answer);
        return found.group(1);
    }

    /** Sends a line, written with ' for ", and waits for the answer. */
    private String send(String line) {
        try {
            questions.write(line.replace('\'', '"') + "\n");
            questions.flush();
            String answer = answers.readLine();
            if (answer != null) return answer;
            throw new IOException("gin bot ended, and says why on standard error");
        } catch (IOException problem) {
            throw new IllegalStateException(problem);
        }
    }
}
