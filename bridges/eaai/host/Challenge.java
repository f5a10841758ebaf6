package host;

import java.lang.reflect.Array;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;

/** The challenge's classes, found by name: this compiles, and plays, with whatever jar brings them. */
public final class Challenge {
    /** What the classes are called. */
    public static final class Names {
        final String card, player, entry;

        public Names(String card, String player, String entry) {
            this.card = card;
            this.player = player;
            this.entry = entry;
        }
    }

    /** The host was started with what cannot be played with; the message is for the user. */
    public static final class Misuse extends RuntimeException {
        private static final long serialVersionUID = 1;

        public Misuse(String message) {
            super(message);
        }
    }

    /** A player broke the rules or threw; the message is what the arena is told. */
    static final class Fault extends Exception {
        private static final long serialVersionUID = 1;

        Fault(String message) {
            super(message);
        }
    }

    private final Class<?> cardClass, entry;
    private final Object[] cards = new Object[52];
    private final Method getId, startGame, willDrawFaceUpCard, reportDraw, getDiscard, reportDiscard, getFinalMelds;
    private final Method reportFinalMelds, reportScores, reportLayoff, reportFinalHand;

    Challenge(Names names, ClassLoader loader) {
        try {
            cardClass = find(names.card, "the class of cards; --card says what it is called", loader);
            Class<?> players = find(names.player, "the players' interface; --interface says what it is called", loader);
            entry = find(names.entry, "the player", loader);
            if (!players.isAssignableFrom(entry)) throw new Misuse(names.entry + " does not implement " + names.player);
            getId = method(cardClass, "getId");
            Method getCard = method(cardClass, "getCard", int.class);
            Class<?> several = Array.newInstance(cardClass, 0).getClass();
            startGame = method(players, "startGame", int.class, int.class, several);
            willDrawFaceUpCard = method(players, "willDrawFaceUpCard", cardClass);
            reportDraw = method(players, "reportDraw", int.class, cardClass);
            getDiscard = method(players, "getDiscard");
            reportDiscard = method(players, "reportDiscard", int.class, cardClass);
            getFinalMelds = method(players, "getFinalMelds");
            reportFinalMelds = method(players, "reportFinalMelds", int.class, ArrayList.class);
            reportScores = method(players, "reportScores", int[].class);
            reportLayoff = method(players, "reportLayoff", int.class, cardClass, ArrayList.class);
            reportFinalHand = method(players, "reportFinalHand", int.class, ArrayList.class);
            for (int id = 0; id < 52; id++) {
                cards[id] = getCard.invoke(null, id);
                if ((int) getId.invoke(cards[id]) != id) throw new Misuse(names.card + ": getCard(" + id + ") has another number");
            }
        } catch (NoSuchMethodException problem) {
            throw new Misuse("not an interface of the challenge: there is no " + problem.getMessage());
        } catch (ReflectiveOperationException problem) {
            throw new Misuse(names.card + " cannot be used: " + words(problem));
        }
    }

    private static Class<?> find(String name, String what, ClassLoader loader) {
        try {
            return Class.forName(name, true, loader);
        } catch (ClassNotFoundException | LinkageError problem) {
            throw new Misuse("no class " + name + " on the class path (" + what + "): " + problem);
        }
    }

    private static Method method(Class<?> owner, String name, Class<?>... arguments) throws NoSuchMethodException {
        Method method;
        try {
            method = owner.getMethod(name, arguments);
        } catch (NoSuchMethodException problem) {
            // In some copies of the challenge's classes it is there and not public.
            method = owner.getDeclaredMethod(name, arguments);
        }
        method.setAccessible(true);
        return method;
    }

    private static String words(Throwable problem) {
        Throwable cause = problem instanceof InvocationTargetException ? problem.getCause() : problem;
        return cause.getClass().getName() + ": " + cause.getMessage();
    }

    Object newPlayer() throws Fault {
        try {
            var constructor = entry.getDeclaredConstructor();
            constructor.setAccessible(true);
            return constructor.newInstance();
        } catch (NoSuchMethodException problem) {
            throw new Misuse(entry.getName() + " has no constructor without arguments");
        } catch (ReflectiveOperationException problem) {
            throw thrown("the constructor", problem);
        }
    }

    private static boolean traced;

    private static Fault thrown(String where, ReflectiveOperationException problem) {
        Throwable cause = problem instanceof InvocationTargetException ? problem.getCause() : problem;
        // Nothing can be trusted after this one; the arena names the crash.
        if (cause instanceof OutOfMemoryError) throw (OutOfMemoryError) cause;
        if (!traced) cause.printStackTrace();
        traced = true;
        return new Fault(where + " threw " + cause);
    }

    private static Object call(Method method, Object player, Object... arguments) throws Fault {
        try {
            return method.invoke(player, arguments);
        } catch (ReflectiveOperationException problem) {
            throw thrown(method.getName(), problem);
        }
    }

    private int id(Object card, String where) throws Fault {
        if (card == null) throw new Fault(where + " returned no card (null)");
        if (!cardClass.isInstance(card)) throw new Fault(where + " returned a " + card.getClass().getName() + ", not a card");
        int id = (int) call(getId, card);
        if (id < 0 || id >= 52) throw new Fault(where + " returned a card with the number " + id);
        return id;
    }

    private Object cardOrNull(int card) {
        return card < 0 ? null : cards[card];
    }

    private ArrayList<Object> list(long set) {
        ArrayList<Object> list = new ArrayList<>();
        for (; set != 0; set &= set - 1) list.add(cards[Long.numberOfTrailingZeros(set)]);
        return list;
    }

    // The interface's methods, with cards as numbers (below 0: none) and sets of cards as bits.

    void startGame(Object player, int number, int starter, List<String> hand) throws Fault {
        Object dealt = Array.newInstance(cardClass, hand.size());
        for (int i = 0; i < hand.size(); i++) Array.set(dealt, i, cards[Cards.card(hand.get(i))]);
        call(startGame, player, number, starter, dealt);
    }

    boolean willDrawFaceUpCard(Object player, int card) throws Fault {
        return (boolean) call(willDrawFaceUpCard, player, cards[card]);
    }

    void reportDraw(Object player, int number, int card) throws Fault {
        call(reportDraw, player, number, cardOrNull(card));
    }

    int getDiscard(Object player) throws Fault {
        return id(call(getDiscard, player), "getDiscard");
    }

    void reportDiscard(Object player, int number, int card) throws Fault {
        call(reportDiscard, player, number, cards[card]);
    }

    /** Melds that do not overlap, of cards of the hand; null for a player that does not lay out its hand. */
    List<Long> getFinalMelds(Object player, long hand) throws Fault {
        Object answer = call(getFinalMelds, player);
        if (answer == null) return null;
        List<Long> melds = new ArrayList<>();
        for (Object item : (ArrayList<?>) answer) {
            if (!(item instanceof List)) throw new Fault("getFinalMelds returned a meld that is no list");
            long meld = 0;
            for (Object card : (List<?>) item) {
                int id = id(card, "getFinalMelds");
                if ((hand >> id & 1) == 0) throw new Fault("getFinalMelds returned " + Cards.name(id) + ", not in hand or in two melds");
                hand &= ~(1L << id);
                meld |= 1L << id;
            }
            if (!Cards.isMeld(meld)) throw new Fault("getFinalMelds returned " + Cards.names(meld) + ", which is no meld");
            melds.add(meld);
        }
        return melds;
    }

    void reportFinalMelds(Object player, int number, List<Long> melds) throws Fault {
        ArrayList<Object> lists = new ArrayList<>();
        for (long meld : melds) lists.add(list(meld));
        call(reportFinalMelds, player, number, lists);
    }

    void reportLayoff(Object player, int number, int card, long meld) throws Fault {
        call(reportLayoff, player, number, cards[card], list(meld));
    }

    void reportFinalHand(Object player, int number, long hand) throws Fault {
        call(reportFinalHand, player, number, list(hand));
    }

    void reportScores(Object player, int[] scores) throws Fault {
        call(reportScores, player, scores);
    }
}
