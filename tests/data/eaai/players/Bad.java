package players;

import ginrummy.Card;
import ginrummy.GinRummyPlayer;

import java.io.FileWriter;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Players that go wrong, each in its own way; and one that writes down what it is told. */
final class Bad {
    private Bad() {}
}

/** Fails in hands with the ace of clubs. */
class Throws extends Simple {
    @Override
    public Card getDiscard() {
        if (hand.contains(Card.getCard(0))) throw new IllegalStateException("no idea what to do with \"AC\"");
        return super.getDiscard();
    }
}

class ThrowsAtOnce extends Simple {
    ThrowsAtOnce() {
        throw new UnsupportedOperationException("not today");
    }
}

class Hangs extends Simple {
    @Override
    public Card getDiscard() {
        while (true) Thread.onSpinWait();
    }
}

class Nonsense extends Simple {
    @Override
    public Card getDiscard() {
        for (int id = 0; ; id++) if (!hand.contains(Card.getCard(id))) return Card.getCard(id);
    }
}

class WrongMelds extends Simple {
    @Override
    public ArrayList<ArrayList<Card>> getFinalMelds() {
        return new ArrayList<>(List.of(new ArrayList<>(hand.subList(0, 3))));
    }
}

class HighKnock extends Simple {
    @Override
    public ArrayList<ArrayList<Card>> getFinalMelds() {
        return new ArrayList<>();
    }
}

class TakesBack extends Trivial {
    private Card upcard;

    @Override
    public boolean willDrawFaceUpCard(Card card) {
        upcard = card;
        return true;
    }

    @Override
    public Card getDiscard() {
        return upcard;
    }
}

/** Keeps its hand where all its objects see it. */
class Shares extends Simple {
    private static ArrayList<Card> held;

    @Override
    public void startGame(int player, int starter, Card[] dealt) {
        super.startGame(player, starter, dealt);
        held = hand;
    }

    @Override
    public void reportDraw(int player, Card drawn) {
        super.reportDraw(player, drawn);
        if (player == me && held != hand) throw new IllegalStateException("another hand was dealt meanwhile");
    }
}

/** Holds what it shares in another class. */
class SharesByAnother extends Simple {
    @Override
    public void startGame(int player, int starter, Card[] dealt) {
        super.startGame(player, starter, dealt);
        Estimator.HELD.clear();
        Estimator.HELD.add(hand);
    }

    @Override
    public void reportDraw(int player, Card drawn) {
        super.reportDraw(player, drawn);
        if (player == me && Estimator.HELD.get(0) != hand) throw new IllegalStateException("another hand was dealt meanwhile");
    }
}

class Estimator {
    static final ArrayList<ArrayList<Card>> HELD = new ArrayList<>();
}

/** Plays as Simple does and writes each call into the file that the property "record" names. */
class Recorder implements GinRummyPlayer {
    private final GinRummyPlayer player;

    Recorder() {
        record("new");
        GinRummyPlayer simple = new Simple();
        player = (GinRummyPlayer) Proxy.newProxyInstance(Recorder.class.getClassLoader(), new Class<?>[] {GinRummyPlayer.class},
                (proxy, method, arguments) -> {
                    try {
                        Object answer = method.invoke(simple, arguments);
                        StringBuilder line = new StringBuilder(method.getName());
                        if (arguments != null) for (Object each : arguments) line.append(' ').append(text(each));
                        record(line + (method.getReturnType() == void.class ? "" : " -> " + text(answer)));
                        return answer;
                    } catch (InvocationTargetException problem) {
                        throw problem.getCause();
                    }
                });
    }

    private static String text(Object value) {
        String text = value instanceof Card[] ? Arrays.toString((Card[]) value)
                : value instanceof int[] ? Arrays.toString((int[]) value) : String.valueOf(value);
        return text.replace(", ", ",");
    }

    private static void record(String line) {
        try (FileWriter out = new FileWriter(System.getProperty("record"), true)) {
            out.write(line + "\n");
        } catch (IOException problem) {
            throw new IllegalStateException(problem);
        }
    }

    public void startGame(int me, int starter, Card[] hand) { player.startGame(me, starter, hand); }

    public boolean willDrawFaceUpCard(Card card) { return player.willDrawFaceUpCard(card); }

    public void reportDraw(int who, Card drawn) { player.reportDraw(who, drawn); }

    public Card getDiscard() { return player.getDiscard(); }

    public void reportDiscard(int who, Card card) { player.reportDiscard(who, card); }

    public ArrayList<ArrayList<Card>> getFinalMelds() { return player.getFinalMelds(); }

    public void reportFinalMelds(int who, ArrayList<ArrayList<Card>> melds) { player.reportFinalMelds(who, melds); }

    public void reportScores(int[] scores) { player.reportScores(scores); }

    public void reportLayoff(int who, Card card, ArrayList<Card> meld) { player.reportLayoff(who, card, meld); }

    public void reportFinalHand(int who, ArrayList<Card> hand) { player.reportFinalHand(who, hand); }
}
