package players;

import ginrummy.Card;
import ginrummy.GinRummyPlayer;

import java.util.ArrayList;

/** Draws from the stock, gives up its highest card and never knocks: next to nothing, so that only the host takes time. */
public class Trivial implements GinRummyPlayer {
    protected final ArrayList<Card> hand = new ArrayList<>();
    protected int me;
    protected boolean opponentKnocked;

    public void startGame(int player, int starter, Card[] dealt) {
        me = player;
        opponentKnocked = false;
        hand.clear();
        for (Card card : dealt) hand.add(card);
    }

    public boolean willDrawFaceUpCard(Card card) {
        return false;
    }

    public void reportDraw(int player, Card drawn) {
        if (player == me) hand.add(drawn);
    }

    public Card getDiscard() {
        Card highest = hand.get(0);
        for (Card card : hand) if (card.rank > highest.rank) highest = card;
        return highest;
    }

    public void reportDiscard(int player, Card card) {
        if (player == me) hand.remove(card);
    }

    public ArrayList<ArrayList<Card>> getFinalMelds() {
        return opponentKnocked ? new ArrayList<>() : null;
    }

    public void reportFinalMelds(int player, ArrayList<ArrayList<Card>> melds) {
        if (player != me) opponentKnocked = true;
    }

    public void reportScores(int[] scores) {}

    public void reportLayoff(int player, Card card, ArrayList<Card> meld) {}

    public void reportFinalHand(int player, ArrayList<Card> cards) {}
}
