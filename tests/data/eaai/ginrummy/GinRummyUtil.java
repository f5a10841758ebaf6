package ginrummy;

import java.util.ArrayList;
import java.util.List;

/** A stand-in for what our bot needs of the challenge's helpers: the melds that leave the least deadwood, found by trying all. */
public final class GinRummyUtil {
    private GinRummyUtil() {}

    public static ArrayList<ArrayList<ArrayList<Card>>> cardsToBestMeldSets(ArrayList<Card> hand) {
        ArrayList<ArrayList<ArrayList<Card>>> all = new ArrayList<>();
        ArrayList<ArrayList<Card>> best = best(hand);
        if (!best.isEmpty()) all.add(best);
        return all;
    }

    private static int saved(ArrayList<ArrayList<Card>> melds) {
        int points = 0;
        for (List<Card> meld : melds) for (Card card : meld) points += Math.min(10, card.rank + 1);
        return points;
    }

    private static ArrayList<ArrayList<Card>> best(List<Card> hand) {
        ArrayList<ArrayList<Card>> best = new ArrayList<>();
        for (ArrayList<Card> meld : melds(hand)) {
            List<Card> rest = new ArrayList<>(hand);
            rest.removeAll(meld);
            ArrayList<ArrayList<Card>> melds = best(rest);
            melds.add(meld);
            if (saved(melds) > saved(best)) best = melds;
        }
        return best;
    }

    /** Sets and runs of three and more. */
    private static List<ArrayList<Card>> melds(List<Card> hand) {
        List<ArrayList<Card>> melds = new ArrayList<>();
        for (int first = 0; first < 13; first++) {
            for (int without = 0; without < 5; without++) {
                ArrayList<Card> set = new ArrayList<>();
                for (int suit = 0; suit < 4; suit++) if (suit != without) set.add(Card.getCard(first, suit));
                if (hand.containsAll(set)) melds.add(set);
            }
            for (int suit = 0; suit < 4; suit++)
                for (int last = first + 2; last < 13; last++) {
                    ArrayList<Card> run = new ArrayList<>();
                    for (int rank = first; rank <= last; rank++) run.add(Card.getCard(rank, suit));
                    if (hand.containsAll(run)) melds.add(run);
                }
        }
        return melds;
    }
}
