package ginrummy;

import java.util.ArrayList;

/** A stand-in for the interface of the challenge's players, for tests of the host. */
public interface GinRummyPlayer {
    void startGame(int player, int starter, Card[] hand);

    boolean willDrawFaceUpCard(Card card);

    void reportDraw(int player, Card drawn);

    Card getDiscard();

    void reportDiscard(int player, Card card);

    ArrayList<ArrayList<Card>> getFinalMelds();

    void reportFinalMelds(int player, ArrayList<ArrayList<Card>> melds);

    void reportScores(int[] scores);

    void reportLayoff(int player, Card card, ArrayList<Card> meld);

    void reportFinalHand(int player, ArrayList<Card> hand);
}
