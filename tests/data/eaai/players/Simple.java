package players;

import ginrummy.Card;

import java.util.ArrayList;

/** Collects sets of equal rank and knocks as soon as it may; says what it discards on standard output, as many entries did. */
public class Simple extends Trivial {
    private Card taken;

    @Override
    public boolean willDrawFaceUpCard(Card card) {
        boolean useful = hand.stream().filter(other -> other.rank == card.rank).count() >= 2;
        taken = useful ? card : null;
        return useful;
    }

    @Override
    public Card getDiscard() {
        Card worst = null;
        for (Card card : hand) {
            boolean alone = hand.stream().filter(other -> other.rank == card.rank).count() < 3;
            if (alone && card != taken && (worst == null || card.rank > worst.rank)) worst = card;
        }
        if (worst == null) worst = hand.get(hand.get(0) == taken ? 1 : 0);
        taken = null;
        System.out.println("discards " + worst);
        return worst;
    }

    @Override
    public ArrayList<ArrayList<Card>> getFinalMelds() {
        ArrayList<ArrayList<Card>> melds = new ArrayList<>();
        int deadwood = 0;
        for (int rank = 0; rank < 13; rank++) {
            ArrayList<Card> same = new ArrayList<>();
            for (Card card : hand) if (card.rank == rank) same.add(card);
            if (same.size() >= 3) melds.add(same);
            else deadwood += same.size() * Math.min(10, rank + 1);
        }
        return deadwood <= 10 || opponentKnocked ? melds : null;
    }
}
