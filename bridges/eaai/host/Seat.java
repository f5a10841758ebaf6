package host;

import host.Challenge.Fault;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;

/**
 * One seat of one game: turns the protocol's events into the reports of the challenge, in the challenge's order, and its questions
 * into calls of the player.
 */
final class Seat {
    /** Most points to knock with in the challenge. */
    private static final int MOST_DEADWOOD = 10;

    final Challenge challenge;
    private final Object player;
    private final Seat[] only;
    private int me;
    private long hand, opponentsHand;
    private int taken = -1, reported = -1;
    /** The player's melds; the knocker's, with what was laid off on them; cards laid off and not reported yet. */
    private List<Long> ownMelds = List.of(), spread = List.of();
    private long laidOff;
    private boolean knocked;
    /** What the arena is told at the next question; the player is left alone from then on to the next deal. */
    private String fault;
    private boolean dead = true;

    /**
     * @param challenge the classes
     * @param player the player's object; null where its constructor threw
     * @param fault what is wrong with it; null for a player that can play
     * @param only where one object plays all games: holds the seat that is in a hand
     */
    Seat(Challenge challenge, Object player, String fault, Seat[] only) {
        this.challenge = challenge;
        this.player = player;
        this.fault = fault;
        this.only = only;
    }

    /** What went wrong and was not told to the arena yet; null if nothing. */
    String fault() {
        return fault;
    }

    void hear(Map<String, Object> event) {
        String what = (String) event.get("event");
        try {
            if (what.equals("deal") && fault == null) {
                dead = false;
                deal(event);
            } else if (!dead && fault == null) {
                hear(what, "you".equals(event.get("who")), event);
            }
        } catch (Fault problem) {
            fault = problem.getMessage();
        }
        if (what.equals("hand over") && only != null && only[0] == this) only[0] = null;
    }

    private void deal(Map<String, Object> event) throws Fault {
        List<String> cards = Json.texts(event.get("cards"));
        me = Integer.parseInt((String) event.get("seat"));
        hand = Cards.set(cards);
        opponentsHand = 0;
        taken = reported = -1;
        ownMelds = spread = List.of();
        laidOff = 0;
        knocked = false;
        if (only != null && only[0] != null && only[0] != this)
            throw new Fault("one object plays all games (--one-object), and another game is not over; play with --batch 1");
        if (only != null) only[0] = this;
        // The challenge deals ten cards; where the starter gets eleven, the last counts as drawn.
        challenge.startGame(player, me, event.get("starts").equals("you") ? me : 1 - me, cards.subList(0, Math.min(10, cards.size())));
        if (cards.size() > 10) challenge.reportDraw(player, me, Cards.card(cards.get(10)));
    }

    private void hear(String what, boolean mine, Map<String, Object> event) throws Fault {
        int who = mine ? me : 1 - me;
        int card = event.containsKey("card") ? Cards.card((String) event.get("card")) : -1;
        switch (what) {
            case "draw":
            case "take":
                taken = what.equals("take") ? card : -1;
                if (mine) hand |= 1L << card;
                challenge.reportDraw(player, who, card);
                break;
            case "discard":
            case "knock":
                if (!mine || card != reported) challenge.reportDiscard(player, who, card);
                if (mine) hand &= ~(1L << card);
                reported = -1;
                break;
            case "spread":
                hearSpread(mine, melds(event.get("melds")));
                break;
            case "lay off":
                for (String name : Json.texts(event.get("cards"))) laidOff |= 1L << Cards.card(name);
                if (mine) hearLayOffs(who);
                break;
            case "shown":
                if (!mine) hearShown(Cards.set(Json.texts(event.get("cards"))));
                break;
            case "hand over":
                hearEnd(Json.texts(event.get("score")));
                break;
            default: // A pass is not reported in the challenge; of "done" there is nothing to say.
        }
    }

    private static List<Long> melds(Object lists) {
        List<Long> melds = new ArrayList<>();
        for (Object names : (List<?>) lists) melds.add(Cards.set(Json.texts(names)));
        return melds;
    }

    /** The knocker lays its hand out. The defender is asked for its own melds at once, as in the challenge. */
    private void hearSpread(boolean mine, List<Long> melds) throws Fault {
        knocked = mine;
        spread = new ArrayList<>(melds);
        challenge.reportFinalMelds(player, mine ? me : 1 - me, melds);
        if (mine) return;
        List<Long> own = challenge.getFinalMelds(player, hand);
        ownMelds = own == null ? List.of() : own;
        challenge.reportFinalMelds(player, me, ownMelds);
    }

    /** Reports what was laid off card by card, each with the meld that it goes to, as that was before. */
    private void hearLayOffs(int who) throws Fault {
        for (boolean found = true; found; ) {
            found = false;
            for (long left = laidOff; left != 0 && !found; left &= left - 1) {
                long card = Long.lowestOneBit(left);
                for (int k = 0; k < spread.size() && !found; k++) {
                    if (!Cards.isMeld(spread.get(k) | card)) continue;
                    found = true;
                    laidOff &= ~card;
                    challenge.reportLayoff(player, who, Long.numberOfTrailingZeros(card), spread.get(k));
                    spread.set(k, spread.get(k) | card);
                }
            }
        }
    }

    /** The opponent's hand after a knock. A defender's melds are not told: these are the best of what it did not lay off. */
    private void hearShown(long shown) throws Fault {
        opponentsHand = knocked ? shown | laidOff : shown;
        if (!knocked) return;
        challenge.reportFinalMelds(player, 1 - me, Cards.bestMelds(shown));
        hearLayOffs(1 - me);
    }

    /** Hands of ten, what was laid off included; the opponent's where it was shown. */
    private void hearEnd(List<String> score) throws Fault {
        for (int who = 0; who < 2; who++) {
            if (who == me) challenge.reportFinalHand(player, who, hand);
            else if (opponentsHand != 0) challenge.reportFinalHand(player, who, opponentsHand);
        }
        int[] scores = new int[2];
        scores[me] = Integer.parseInt(score.get(0));
        scores[1 - me] = Integer.parseInt(score.get(1));
        challenge.reportScores(player, scores);
    }

    /** The answer to a question; one that is no action says what went wrong, and costs this game alone. */
    String answer(Map<String, Object> game) {
        try {
            if (fault == null && dead) throw new Fault("asked in a hand that was not dealt");
            if (fault == null) return choose((String) game.get("phase"), Json.texts(game.get("legal")), game);
        } catch (Fault problem) {
            fault = problem.getMessage();
        }
        String told = fault;
        // Without an object there is nothing to play the next hand with.
        if (player != null) fault = null;
        dead = true;
        return told.length() > 300 ? told.substring(0, 300) + " ..." : told;
    }

    private String choose(String phase, List<String> legal, Map<String, Object> game) throws Fault {
        if (legal.size() == 1 && !phase.equals("discard")) return legal.get(0);
        switch (phase) {
            case "upcard":
            case "draw":
                boolean take = challenge.willDrawFaceUpCard(player, Cards.card((String) game.get("upcard")));
                return take ? "take" : legal.get(legal.get(0).equals("take") ? 1 : 0);
            case "discard":
                return discard(legal);
            case "spread":
                return spread(game);
            case "layoff":
                // As in the challenge: whatever fits and is not in an own meld.
                for (String action : legal) {
                    long card = action.equals("done") ? 0 : 1L << Cards.card(action.substring(8));
                    if (card != 0 && ownMelds.stream().noneMatch(meld -> (meld & card) != 0)) return action;
                }
                return "done";
            default: // At the wall the upcard may be taken to knock; the challenge has no such question.
                return "pass";
        }
    }

    private String discard(List<String> legal) throws Fault {
        int card = challenge.getDiscard(player);
        String name = Cards.name(card);
        boolean mayDiscard = legal.contains("discard " + name), mayKnock = legal.contains("knock " + name);
        if (!mayDiscard && !mayKnock) {
            if (card == taken) throw new Fault("getDiscard returned the upcard that it just took, " + name);
            if ((hand >> card & 1) == 0) throw new Fault("getDiscard returned " + name + ", which is not in hand");
            throw new Fault("getDiscard returned " + name + ", which may not be discarded now");
        }
        long rest = hand & ~(1L << card);
        reported = card;
        challenge.reportDiscard(player, me, card);
        List<Long> melds = challenge.getFinalMelds(player, rest);
        if (melds == null) return (mayDiscard ? "discard " : "knock ") + name;
        ownMelds = melds;
        int deadwood = Cards.points(rest & ~melds.stream().reduce(0L, (all, meld) -> all | meld));
        if (deadwood > MOST_DEADWOOD)
            throw new Fault("getFinalMelds knocks with " + deadwood + " points of deadwood; " + MOST_DEADWOOD + " are the most");
        // Rules with a lower limit refuse what the challenge allows, and the player cannot know of them.
        return (mayKnock ? "knock " : "discard ") + name;
    }

    /** Where the knocker may choose: what it said, or the first where that is not offered. */
    private String spread(Map<String, Object> game) {
        List<?> offered = (List<?>) game.get("arrangements");
        for (int k = 0; k < offered.size(); k++)
            if (new HashSet<>(melds(offered.get(k))).equals(new HashSet<>(ownMelds))) return "spread " + k;
        return "spread 0";
    }
}
